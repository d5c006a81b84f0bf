import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checksumOf } from '../../dist/store/checksum.js';
import { openDatabase } from '../../dist/store/open.js';
import { sealV4Companies } from '../../dist/store/v4-companies.js';

const MODELS = ['accounting/invoices', 'crm/companies'];
const COMPANIES = 4;

/**
 * A database as an export of `records` V3 records and about as many V4 ones leaves it, without payloads: nine in ten
 * keys are in both, each record has a child, V4 lies in another order than V3. Returns the arguments that name it.
 */
export function makeDatabase(folder, records) {
  const config = join(folder, 'bench.config.json');
  const models = MODELS.map((v3) => ({ v3, v4: v3.split('/')[1], children: ['line_items'] }));
  const endpoint = { baseUrl: 'http://127.0.0.1:1' };
  writeFileSync(
    config,
    JSON.stringify({
      database: 'bench.db',
      v3: { regions: { eu: endpoint } },
      v4: endpoint,
      models,
      payload: 'ids',
      maxAge: '10000d',
    }),
  );
  const db = openDatabase(join(folder, 'bench.db'), 'create');
  db.pragma('synchronous = OFF');
  db.transaction(() => {
    db.exec(`INSERT INTO v4_company SELECT value + 100, '{}' FROM (${rows(COMPANIES)})`);
    for (const [at, model] of MODELS.entries()) fillModel(db, model, at, Math.floor(records / MODELS.length));
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

function fillModel(db, model, at, count) {
  const now = new Date().toISOString();
  const stream = db.prepare(`
    INSERT INTO stream(generation, region, model, company_id, state, started_at, finished_at, read_at, route, records, unique_records)
    VALUES (?, ?, ?, ?, 'complete', ?, ?, ?, ?, 0, 0)`);
  const add = (...key) => stream.run(...key, now, now, now, model).lastInsertRowid;
  const v3 = add('v3', 'eu', model, null);
  const fill = (gen, streamId, company, where, order) =>
    db.exec(`
      INSERT INTO record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, latest_ms, latest_from, created_ms, facts, children, walk)
      SELECT ${streamId}, value * ${gen}, ${company}, printf('KEY-%09d', value), NULL, value % 50 = 7, 1700000000000 + value, 'platform', NULL,
        printf('AA%05dBB%05d', value % 99991, value % 7919),
        json_array(json_array('line_items', CAST(value * ${gen} + 5000000000 AS TEXT), 'line-1', NULL, 0)), 1
      FROM (${rows(count)}) WHERE ${where} ORDER BY ${order}`);
  fill(3, v3, `value % ${COMPANIES} + 1`, `(value + ${at}) % 20 <> 0`, 'value');
  for (let company = 1; company <= COMPANIES; company++) {
    const v4 = add('v4', '', model, BigInt(company + 100));
    // another order than V3's
    fill(
      4,
      v4,
      company + 100,
      `value % ${COMPANIES} + 1 = ${company} AND (value + ${at}) % 20 <> 1`,
      'value * 48271 % 2147483647',
    );
  }
}
