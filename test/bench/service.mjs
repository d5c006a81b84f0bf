/**
 * A V3 service that costs next to nothing, in a process of its own: pages are made once, and only the ids in them
 * are written anew. `node service.mjs '{"lists":4,"records":100000,"pageSize":1000,"bytes":1200,"latencyMs":0}'`
 * prints its port; a line on stdin makes it print how many requests it had and when, ms.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const ID_WIDTH = 10;
const FIRST_ID = 1_000_000_000;

const { lists, records, pageSize, bytes, latencyMs } = JSON.parse(process.argv[2]);
const perList = Math.ceil(records / lists);
const template = buildTemplate(pageSize, bytes);
const arrivals = [];

const server = createServer((request, response) => {
  arrivals.push(performance.now());
  const url = new URL(request.url, 'http://localhost');
  const list = Number(/\/m(\d+)$/.exec(url.pathname)?.[1] ?? 0);
  // a sweep: nothing changed
  const from = url.searchParams.has('svc_updated_at[gte]')
    ? perList
    : Number(url.searchParams.get('next') ?? 0);
  const body = renderPage(list, from);
  const send = () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
  if (latencyMs > 0) setTimeout(send, latencyMs);
  else send();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
createInterface({ input: process.stdin }).on('line', () => {
  process.stdout.write(`${JSON.stringify(arrivals.splice(0))}\n`);
});

/** One page's records as one buffer, with the places of every id in it. */
function buildTemplate(size, recordBytes) {
  const id = '0'.repeat(ID_WIDTH);
  const items = recordBytes >= 800 ? 3 : 0;
  const one = (filler) => {
    const record = {
      svc_id: 'ID',
      svc_deleted_at: null,
      svc_created_at: '2025-03-01T08:00:00.000Z',
      svc_updated_at: '2025-03-02T09:30:00.000Z',
      svc_company_id: 7,
      platform_id: 'INV-KEY',
      platform_unique_id: null,
      document_number: 'DOC-KEY',
      total_amount: 1234.5,
      posted_date: '2025-02-28T00:00:00.000Z',
      currency_id: 'EUR',
      memo: filler,
    };
    if (items > 0) {
      record.line_items = Array.from({ length: items }, (_, at) => ({
        svc_id: 'KID',
        platform_id: `line-${at}`,
        description: 'Consulting, by the hour',
        quantity: 2,
        unit_amount: 19.75,
        total_amount: 39.5,
        item_id: 'item-4711',
        account_id: 'account-200',
      }));
    }
    return JSON.stringify(record).replaceAll('"ID"', id).replaceAll('"KID"', id).replaceAll('KEY', id);
  };
  const text = one('x'.repeat(Math.max(0, recordBytes - one('').length)));
  const record = Buffer.from(text);
  const places = [];
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + ID_WIDTH)) places.push(at);
  const page = Buffer.alloc((record.length + 1) * size, ',');
  for (let at = 0; at < size; at++) record.copy(page, at * (record.length + 1));
  return { page, places, width: record.length + 1 };
}

function renderPage(list, from) {
  const count = Math.max(0, Math.min(pageSize, perList - from));
  const { page, places, width } = template;
  for (let at = 0; at < count; at++) {
    const id = FIRST_ID + list * 100_000_000 + from + at;
    // own id, key and document number; then the line items, each with an id of its own
    for (let place = 0; place < places.length; place++) {
      writeDigits(page, at * width + places[place], place < 3 ? id : id * 4 + place);
    }
  }
  const next = from + count < perList ? `"${from + count}"` : 'null';
  const head = Buffer.from('{"data":[');
  const tail = Buffer.from(`],"prev":null,"next":${next},"total_count":${perList}}`);
  return Buffer.concat([head, page.subarray(0, Math.max(0, count * width - 1)), tail]);
}

function writeDigits(buffer, at, value) {
  let rest = value % 10 ** ID_WIDTH;
  if (rest < 10 ** (ID_WIDTH - 1)) rest += 10 ** (ID_WIDTH - 1);
  for (let i = at + ID_WIDTH - 1; i >= at; i--) {
    const digit = rest % 10;
    buffer[i] = 0x30 + digit;
    rest = (rest - digit) / 10;
  }
}
