/**
 * What one writes in an afternoon: `fetch` page by page, `JSON.parse`, stringify each record, a transaction a page. With
 * the address of V4 also: read both exports into memory, join records and line items by `platform_id`, write the pairs.
 */
import { join } from 'node:path';
import { Sqlite } from '../../dist/store/sqlite.js';

const [folder, lists, pageSize, v3, v4] = process.argv.slice(2);
const db = new Sqlite(join(folder, 'plain.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
let records = await exportAll('v3', (model) => `${v3}/accounting/${model}`);
if (v4 !== undefined) {
  records += await exportAll('v4', (model) => `${v4}/v4/core/companies/7/${model}`);
  joinExports();
}
db.close();
process.stdout.write(`${records}\n`);

async function exportAll(table, addressOf) {
  db.exec(`
    CREATE TABLE ${table}(model TEXT, svc_id INTEGER, platform_id TEXT, body TEXT, PRIMARY KEY (model, svc_id));
    CREATE TABLE ${table}_position(model TEXT PRIMARY KEY, next TEXT)`);
  const insert = db.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?, ?)`);
  const move = db.prepare(`INSERT OR REPLACE INTO ${table}_position VALUES (?, ?)`);
  const save = db.transaction((model, page) => {
    for (const record of page.data)
      insert.run(model, record.svc_id, record.platform_id, JSON.stringify(record));
    move.run(model, page.next);
  });
  let count = 0;
  for (let list = 0; list < Number(lists); list++) {
    let next = null;
    do {
      const cursor = next === null ? '' : `&next=${next}`;
      const answer = await (await fetch(`${addressOf(`m${list}`)}?limit=${pageSize}${cursor}`)).json();
      const page = table === 'v4' ? answer.data : answer;
      save(`m${list}`, page);
      count += page.data.length;
      next = page.next;
    } while (next !== null);
  }
  return count;
}

function joinExports() {
  db.exec(
    'CREATE TABLE remap(model TEXT, path TEXT, v3_svc_id INTEGER, v4_svc_id INTEGER, PRIMARY KEY (model, path, v3_svc_id))',
  );
  const insert = db.prepare('INSERT INTO remap VALUES (?, ?, ?, ?)');
  const read = (table, model) =>
    db
      .prepare(`SELECT body FROM ${table} WHERE model = ?`)
      .pluck()
      .all(model)
      .map((body) => JSON.parse(body));
  for (let list = 0; list < Number(lists); list++) {
    const model = `m${list}`;
    const twins = new Map(read('v4', model).map((record) => [record.platform_id, record]));
    db.transaction(() => {
      for (const record of read('v3', model)) {
        const twin = twins.get(record.platform_id);
        insert.run(model, '', record.svc_id, twin?.svc_id ?? null);
        const items = new Map((twin?.line_items ?? []).map((item) => [item.platform_id, item.svc_id]));
        for (const item of record.line_items ?? [])
          insert.run(model, 'line_items', item.svc_id, items.get(item.platform_id) ?? null);
      }
    })();
  }
}
