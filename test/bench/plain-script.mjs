/**
 * What one writes in an afternoon: `fetch` page by page, `JSON.parse`, stringify each record, a transaction a page; then
 * read both exports into memory, join records and line items by `platform_id`, write the pairs.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const napi = Number(process.versions.napi);
const require = createRequire(
  new URL(napi < 10 ? '../../bin/sqlite-node20/' : '../../bin/', import.meta.url),
);
const Sqlite = require('better-sqlite3');

const [folder, companies, pageSize, v3, v4] = process.argv.slice(2);
const db = new Sqlite(join(folder, 'plain.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
let records = await exportAll('v3', [`${v3}/accounting/notes`]);
records += await exportAll(
  'v4',
  Array.from({ length: Number(companies) }, (_, at) => `${v4}/v4/core/companies/${at + 1}/notes`),
);
joinExports();
db.close();
process.stdout.write(`${records}\n`);

async function exportAll(table, addresses) {
  db.exec(`
    create table ${table}(model text, svc_id integer, platform_id text, body text, primary key (model, svc_id));
    create table ${table}_position(address text primary key, next text)`);
  const insert = db.prepare(`insert or replace into ${table} values ('notes', ?, ?, ?)`);
  const move = db.prepare(`insert or replace into ${table}_position values (?, ?)`);
  const save = db.transaction((address, page) => {
    for (const record of page.data) insert.run(record.svc_id, record.platform_id, JSON.stringify(record));
    move.run(address, page.next);
  });
  let count = 0;
  for (const address of addresses) {
    let next = null;
    do {
      const cursor = next === null ? '' : `&next=${next}`;
      const answer = await (await fetch(`${address}?limit=${pageSize}${cursor}`)).json();
      const page = table === 'v4' ? answer.data : answer;
      save(address, page);
      count += page.data.length;
      next = page.next;
    } while (next !== null);
  }
  return count;
}

function joinExports() {
  db.exec(
    'create table remap(model text, path text, v3_svc_id integer, v4_svc_id integer, primary key (model, path, v3_svc_id))',
  );
  const insert = db.prepare("insert into remap values ('notes', ?, ?, ?)");
  const read = (table) => db.prepare(`select body from ${table}`).pluck().all();
  const twins = new Map(
    read('v4').map((body) => {
      const record = JSON.parse(body);
      return [record.platform_id, record];
    }),
  );
  db.transaction(() => {
    for (const body of read('v3')) {
      const record = JSON.parse(body);
      const twin = twins.get(record.platform_id);
      insert.run('', record.svc_id, twin?.svc_id ?? null);
      const items = new Map((twin?.line_items ?? []).map((item) => [item.platform_id, item.svc_id]));
      for (const item of record.line_items ?? [])
        insert.run('line_items', item.svc_id, items.get(item.platform_id) ?? null);
    }
  })();
}
