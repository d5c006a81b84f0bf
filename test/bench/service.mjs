/**
 * A V3 and V4 service that costs next to nothing, in a process of its own: pages are made once, and only the ids in them
 * are written anew. Records are bill credit notes as the API specifies them, 1,200 bytes with three line items, of several
 * companies; their values vary. `node service.mjs '{"companies":8,"records":100000,"pageSize":1000}'` prints its port.
 */
import { createServer } from 'node:http';

/** An id's first digit tells what it is of, the others the record. */
const ID_WIDTH = 10;
const [MAX_COMPANIES, MAX_RECORDS, LINE_ITEMS] = [9, 900_000_000, 3];
/** Of a record's id, and of its number, which is the same in both generations; line items have the digits after that. */
const FIRST_DIGIT = { v3: 0x31, v4: 0x35, number: 0x31 };
/** Those that tell the record. */
const DIGITS = new Uint8Array(ID_WIDTH - 1);
/** What stands in a record for its own id, in a line item for that, and in a text for the number in it. */
const [OWN, KID, NUMBER] = ['1111111111', '2222222222', '3333333333'];
const COMPANY = '"svc_company_id":1';

const { companies: wanted, records, pageSize } = JSON.parse(process.argv[2]);
// whole pages, in which a record has the same values in both generations
const perCompany = Math.ceil(records / wanted / pageSize) * pageSize;
const companies = Math.ceil(records / perCompany);
if (companies > MAX_COMPANIES || records > MAX_RECORDS) throw new Error('too many ids');
const templates = { v3: buildTemplate(pageSize, 'v3'), v4: buildTemplate(pageSize, 'v4') };
/** Pages that no answer needs any more. */
const spares = { v3: [], v4: [] };

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/v4/core/companies') return sendCompanies(response);
  const generation = url.pathname.startsWith('/v4/') ? 'v4' : 'v3';
  const [template, spare] = [templates[generation], spares[generation]];
  // V3 has one list, V4 one for each company
  const company = Number(/\/companies\/(\d+)\//.exec(url.pathname)?.[1] ?? 0);
  const perList = company === 0 ? records : Math.min(perCompany, records - (company - 1) * perCompany);
  // a sweep: nothing changed
  const from = url.searchParams.has('svc_updated_at[gte]')
    ? perList
    : Number(url.searchParams.get('next') ?? 0);
  const count = Math.max(0, Math.min(pageSize, perList - from));
  const next = from + count < perList ? `"${from + count}"` : 'null';
  const end = `],"prev":null,"next":${next},"total_count":${perList}}`;
  const [head, tail] =
    generation === 'v4' ? ['{"data":{"data":[', `${end},"request_id":"bench"}`] : ['{"data":[', end];
  const page = spare.pop() ?? Buffer.from(template.page);
  // V4 has the pages in the opposite order
  const first = generation === 'v4' ? Math.max(0, perList - from - count) : from;
  const items = renderRecords(page, template, Math.max(0, company - 1) * perCompany + first, count);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': head.length + items.length + tail.length,
  });
  response.on('close', () => spare.push(page));
  response.write(head);
  response.write(items);
  response.end(tail);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));

function sendCompanies(response) {
  const data = {
    data: Array.from({ length: companies }, (_, at) => ({ svc_id: at + 1 })),
    prev: null,
    next: null,
    total_count: companies,
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ data, request_id: 'bench' }));
}

/** One page's records as one buffer, where each of them ends, and the places of all ids in it, as many for each. */
function buildTemplate(size, generation) {
  const random = randomFrom(1);
  const records = Array.from({ length: size }, () => makeRecord(random));
  // one pair in a hundred differs
  if (generation === 'v4') for (let at = 50; at < size; at += 100) records[at].total_amount += 1;
  const texts = records.map((record) => JSON.stringify(record));
  const page = Buffer.from(texts.join(','));
  const ends = [];
  let end = -1;
  for (const text of texts) {
    end += text.length + 1;
    ends.push(end);
  }
  const [own, kid, number] = [placesOf(page, OWN), placesOf(page, KID), placesOf(page, NUMBER)];
  for (const place of number) page[place] = FIRST_DIGIT.number;
  for (const place of own) page[place] = FIRST_DIGIT[generation];
  for (const [at, place] of kid.entries()) page[place] = FIRST_DIGIT[generation] + 1 + (at % LINE_ITEMS);
  const places = Uint32Array.from([...own, ...kid, ...number]).sort();
  return { page, ends, places, company: placesOf(page, COMPANY).map((place) => place + COMPANY.length - 1) };
}

function makeRecord(random) {
  const instant = () => new Date(1_740_000_000_000 + random(20_000_000) * 1000).toISOString();
  const amount = () => random(10_000_000) / 100;
  const pick = (...texts) => texts[random(texts.length)];
  const code = (least, count) => String(least + random(count));
  const small = {
    svc_id: Number(OWN),
    svc_deleted_at: null,
    svc_created_at: instant(),
    svc_updated_at: instant(),
    svc_company_id: 1,
    platform_id: `CN-${NUMBER}`,
    platform_unique_id: null,
    contact_id: code(10_000, 5000),
    document_number: `DOC-${NUMBER}`,
    total_amount: amount(),
    remaining_credit: 0,
    posted_date: instant(),
    currency_id: pick('EUR', 'USD'),
    status: pick('open', 'closed', 'void'),
  };
  const item = (_, at) => ({
    svc_id: Number(KID),
    platform_id: String(at + 1),
    line_item_type: 'item',
    item_id: code(100_000, 90_000),
    account_id: code(200, 90),
    description: `${pick('Consulting', 'Hosting', 'Support', 'Travel')}, ${pick('monthly', 'hourly', 'once')}`,
    quantity: 1 + random(20),
    unit_amount: amount(),
    tax_amount: amount(),
    sub_total: amount(),
    total_amount: amount(),
  });
  return {
    ...small,
    memo: null,
    bill_ids: [],
    updated_at: instant(),
    tax_amount: amount(),
    line_items: Array.from({ length: LINE_ITEMS }, item),
  };
}

/** Numbers below `count`, the same in every run. */
function randomFrom(seed) {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

function placesOf(page, digits) {
  const places = [];
  for (let at = page.indexOf(digits); at >= 0; at = page.indexOf(digits, at + digits.length)) places.push(at);
  return places;
}

/** The first `count` records of the page, with their ids. */
function renderRecords(page, { places, ends, company }, from, count) {
  if (count === 0) return Buffer.alloc(0);
  const each = places.length / pageSize;
  for (let at = 0; at < count; at++) {
    setDigits(from + at);
    page[company[at]] = 0x31 + Math.floor((from + at) / perCompany);
    for (let i = at * each; i < (at + 1) * each; i++) {
      const place = places[i] + 1;
      for (let digit = 0; digit < DIGITS.length; digit++) page[place + digit] = DIGITS[digit];
    }
  }
  return page.subarray(0, ends[count - 1]);
}

/** Writes the digits of a record, which fits into 31 bits: such numbers are divided faster. */
function setDigits(record) {
  let rest = record | 0;
  for (let i = DIGITS.length - 1; i >= 0; i--) {
    const next = (rest / 10) | 0;
    DIGITS[i] = 0x30 + rest - next * 10;
    rest = next;
  }
}
