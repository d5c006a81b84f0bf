/** What one writes in an afternoon: `fetch` page by page, `JSON.parse`, stringify each record, a transaction a page. */
import { Sqlite } from '../../dist/store/sqlite.js';

const [base, lists, pageSize, file] = process.argv.slice(2);
const db = new Sqlite(file);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(
  'CREATE TABLE record(model TEXT, svc_id INTEGER, platform_id TEXT, body TEXT, PRIMARY KEY (model, svc_id))',
);
db.exec('CREATE TABLE position(model TEXT PRIMARY KEY, next TEXT)');
const insert = db.prepare('INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)');
const move = db.prepare('INSERT OR REPLACE INTO position VALUES (?, ?)');
const save = db.transaction((model, page) => {
  for (const record of page.data)
    insert.run(model, record.svc_id, record.platform_id, JSON.stringify(record));
  move.run(model, page.next);
});

let records = 0;
for (let list = 0; list < Number(lists); list++) {
  let next = null;
  do {
    const url = `${base}/accounting/m${list}?limit=${pageSize}${next === null ? '' : `&next=${next}`}`;
    const page = await (await fetch(url)).json();
    save(`m${list}`, page);
    records += page.data.length;
    next = page.next;
  } while (next !== null);
}
db.close();
process.stdout.write(`${records}\n`);
