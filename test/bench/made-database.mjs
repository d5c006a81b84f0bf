import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageParser } from '../../dist/api/envelope.js';
import { recordsOf } from '../../dist/json/record-columns.js';
import { checksumOf, checksumOfValues } from '../../dist/store/checksum.js';
import { prepareMemberDigests } from '../../dist/store/member-lists.js';
import { openDatabase } from '../../dist/store/open.js';
import { preparePayloadWriter } from '../../dist/store/payloads.js';
import { sealV4Companies } from '../../dist/store/streams.js';

const MODELS = ['accounting/invoices', 'crm/companies'];
const NOTES = ['accounting/bill_credit_notes'];
const COMPANIES = 4;
/** The members with digests, unless there are payloads. */
const DIGESTED = '["code","name"]';
const FIRST_LINE_ITEM = 5_000_000_000;

/**
 * A database as an export of `records` V3 records and about as many V4 ones leaves it: nine in ten keys are in both, V4
 * lies in another order than V3. Returns the arguments that name it.
 *
 * `plain`: two models with a child each, without payloads. `notes`: bill credit notes of 1.2 KB with three line items
 * each, and with their payloads; one in a hundred pairs has a field that differs. `shape`: the number of companies and of
 * children of a record, and whether all V4 records are written in another way: a field more, one less, and amounts as text.
 */
export function makeDatabase(folder, records, kind = 'plain', shape = {}) {
  const { companies = COMPANIES, lineItems = kind === 'notes' ? 3 : 1, rewritten = false } = shape;
  const config = join(folder, 'bench.config.json');
  const names = kind === 'notes' ? NOTES : MODELS;
  const models = names.map((v3) => ({ v3, v4: v3.split('/')[1], children: ['line_items'] }));
  const endpoint = { baseUrl: 'http://127.0.0.1:1' };
  writeFileSync(
    config,
    JSON.stringify({
      database: 'bench.db',
      v3: { regions: { eu: endpoint } },
      v4: endpoint,
      models,
      payload: kind === 'notes' ? 'full' : 'ids',
      maxAge: '10000d',
    }),
  );
  const db = openDatabase(join(folder, 'bench.db'), 'create');
  db.pragma('synchronous = OFF');
  db.transaction(() => {
    db.exec(`INSERT INTO v4_company SELECT value + 100, '{}' FROM (${rows(companies)})`);
    db.exec(`CREATE TEMP TABLE line AS ${rows(lineItems)}`);
    db.prepare('INSERT INTO member_list VALUES (1, ?, ?)').run(DIGESTED, checksumOfValues([1, DIGESTED]));
    for (const [at, model] of names.entries())
      fillModel(db, model, { at, count: Math.floor(records / names.length), companies, lineItems });
    if (kind === 'notes') savePayloads(db, rewritten);
    db.exec(`
      UPDATE record SET checksum = ${checksumOf('record')};
      UPDATE stream SET stored = (SELECT count(*) FROM record WHERE stream_id = stream.id);
      UPDATE stream SET checksum = ${checksumOf('stream')}`);
    sealV4Companies(db);
  })();
  db.close();
  return ['--config', config];
}

const rows = (count) =>
  `WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${count}) SELECT value FROM n`;

function fillModel(db, model, { at, count, companies, lineItems }) {
  const now = new Date().toISOString();
  const stream = db.prepare(`
    INSERT INTO stream(generation, region, model, company_id, state, started_at, finished_at, read_at, route, records, unique_records)
    VALUES (?, ?, ?, ?, 'complete', ?, ?, ?, ?, 0, 0)`);
  const add = (...key) => stream.run(...key, now, now, now, model).lastInsertRowid;
  const company = `value % ${companies}`;
  const fill = (gen, streamId, companyId, where, order) =>
    db.exec(`
      INSERT INTO record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, latest_ms, latest_from, created_ms, members, children, walk)
      SELECT ${streamId}, value * ${gen}, ${companyId}, printf('KEY-%09d', value), NULL, value % 50 = 7, 1700000000000 + value, 'platform', NULL,
        unhex(printf('0000000001000000%08x%08x', 4 * (value % 99991 + 1), 4 * (value % 7919 + 1))),
        (SELECT json_group_array(json_array('line_items', CAST(
            (n.value * ${gen} * ${lineItems}) + ${FIRST_LINE_ITEM - 1} + line.value AS TEXT), 'line-' || line.value, NULL, 0)) FROM line),
        1
      FROM (${rows(count)}) AS n WHERE ${where} ORDER BY ${order}`);
  fill(3, add('v3', 'eu', model, null), `${company} + 1`, `(value + ${at}) % 20 <> 0`, 'value');
  // the streams of the companies have consecutive numbers
  const [first] = Array.from({ length: companies }, (_, i) => add('v4', '', model, BigInt(i + 101)));
  // another order than V3's
  const order = `${company}, value * 48271 % 2147483647`;
  fill(4, `${first} + ${company}`, `${company} + 101`, `(value + ${at}) % 20 <> 1`, order);
}

/** The bytes that an export would have received for the records of `fillModel`, and their digests. */
function savePayloads(db, rewritten) {
  const read = db
    .prepare(`
      SELECT record.id, generation = 'v4', svc_id, record.company_id, platform_id, children
      FROM record JOIN stream ON stream.id = stream_id WHERE record.id > ? ORDER BY record.id LIMIT 1000`)
    .raw();
  const parse = pageParser({
    generation: 'v3',
    fieldPrefix: 'svc_',
    children: ['line_items'],
    dateFields: [],
    payload: 'full',
  });
  const beginMembers = prepareMemberDigests(db);
  const writer = preparePayloadWriter(db, 'full');
  const save = db.prepare('UPDATE record SET payload_block = ?, members = ? WHERE id = ?');
  for (let last = 0n; ; ) {
    const found = read.all(last);
    const bodies = found.map(([, isV4, ...record]) => {
      const note = noteOf(isV4 === 1n, ...record);
      return JSON.stringify(rewritten && isV4 === 1n ? rewrite(note) : note);
    });
    const page = Buffer.from(`{"data":[${bodies.join(',')}],"prev":null,"next":null,"total_count":null}`);
    const records = found.length === 0 ? [] : recordsOf(parse(page, null, 1000).columns);
    const membersOf = beginMembers();
    const notes = bodies.map((body) => Buffer.from(body));
    for (const [at, block] of writer.begin(notes).entries()) {
      const [id] = found[at];
      writer.add(block, Number(id), notes[at]);
      save.run(block, membersOf(records[at].members), id);
      last = id;
    }
    writer.end();
    if (found.length < 1000) return;
  }
}

/** The same content with a field more, one less, and amounts as text. */
function rewrite({ memo: _, total_amount, tax_amount, ...note }) {
  const [total, tax] = [total_amount, tax_amount].map((amount) => amount.toFixed(2));
  return { ...note, total_amount: total, tax_amount: tax, source: 'v4' };
}

function noteOf(isV4, svcId, companyId, key, children) {
  const number = Number(key.slice(4));
  const instant = (seconds) =>
    new Date(1_740_000_000_000 + (number % 1e7) * 1000 + seconds * 1000).toISOString();
  const amount = (factor) => ((number * factor) % 10_000_000) / 100;
  return {
    svc_id: Number(svcId),
    svc_deleted_at: null,
    svc_created_at: instant(isV4 ? 1000 : 1),
    svc_updated_at: instant(isV4 ? 1001 : 2),
    svc_company_id: Number(companyId),
    platform_id: key,
    platform_unique_id: null,
    contact_id: String(10_000 + (number % 5000)),
    document_number: `DOC-${number}`,
    total_amount: isV4 && number % 100 === 50 ? 1 : amount(7),
    remaining_credit: 0,
    posted_date: instant(-100),
    currency_id: 'EUR',
    status: ['open', 'closed', 'void'][number % 3],
    memo: null,
    bill_ids: [],
    updated_at: instant(-50),
    tax_amount: amount(11),
    line_items: JSON.parse(children).map(([, id, line], at) => ({
      svc_id: Number(id),
      platform_id: line,
      line_item_type: 'item',
      item_id: String(100_000 + ((number + at) % 90_000)),
      account_id: String(200 + ((number + at) % 90)),
      description: 'Consulting, monthly',
      quantity: 1 + ((number + at) % 20),
      unit_amount: amount(13 + at),
      tax_amount: amount(17 + at),
      sub_total: amount(19 + at),
      total_amount: amount(23 + at),
    })),
  };
}
