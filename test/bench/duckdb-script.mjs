/**
 * The same job with DuckDB: pages saved as they come, one statement joins the records and one the line items. DuckDB comes
 * from `$SVC_ENGINES/node_modules`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [folder, companies, pageSize, v3, v4] = process.argv.slice(2);
const engines = resolve(process.env.SVC_ENGINES ?? '../.engines', 'package.json');
const { DuckDBInstance } = createRequire(engines)('@duckdb/node-api');

await savePages('v3', [`${v3}/accounting/notes`]);
await savePages(
  'v4',
  Array.from({ length: Number(companies) }, (_, at) => `${v4}/v4/core/companies/${at + 1}/notes`),
);
const instance = await DuckDBInstance.create(join(folder, 'duckdb.db'));
const connection = await instance.connect();
await connection.run(`
  create table v3 as select unnest(data) as record from read_json('${folder}/v3/*.json');
  create table v4 as select unnest(data.data) as record from read_json('${folder}/v4/*.json');
  create table pair as
    select v3.record as v3, v4.record as v4
    from v3 left join v4 on v4.record.platform_id = v3.record.platform_id;
  create table remap as select '' as path, v3.svc_id as v3_svc_id, v4.svc_id as v4_svc_id from pair;
  insert into remap
    select 'line_items', item.svc_id,
      list_filter(others, lambda other: other.platform_id = item.platform_id)[1].svc_id
    from (select unnest(v3.line_items) as item, v4.line_items as others from pair);
  checkpoint`);
const [[rows]] = (await connection.runAndReadAll('select count(*) from remap')).getRows();
connection.closeSync();
instance.closeSync();
process.stdout.write(`${rows}\n`);

async function savePages(generation, addresses) {
  mkdirSync(join(folder, generation));
  let page = 0;
  for (const address of addresses) {
    let next = null;
    do {
      const cursor = next === null ? '' : `&next=${next}`;
      const text = await (await fetch(`${address}?limit=${pageSize}${cursor}`)).text();
      writeFileSync(join(folder, generation, `${page}.json`), text);
      page += 1;
      // The cursor follows the records.
      next = /"next":"([^"]*)"/.exec(text.slice(-300))?.[1] ?? null;
    } while (next !== null);
  }
}
