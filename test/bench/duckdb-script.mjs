/**
 * The other thing one writes in an afternoon: pages saved as they come, read by DuckDB, joined in one statement for the
 * records and one for the line items. DuckDB comes from the folder `.engines` beside the repository.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, lists, pageSize, v3, v4] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(new URL('../../../.engines/', import.meta.url))('@duckdb/node-api');

await savePages('v3', (model) => `${v3}/accounting/${model}`);
await savePages('v4', (model) => `${v4}/v4/core/companies/7/${model}`);
const instance = await DuckDBInstance.create(join(folder, 'remap.duckdb'));
const connection = await instance.connect();
const pages = (generation) => `read_json('${join(folder, generation)}/*.json', filename = true)`;
const model = "regexp_extract(filename, '(m\\d+)-\\d+\\.json$', 1) AS model";
await connection.run(`
  CREATE TABLE v3 AS SELECT ${model}, unnest(data) AS record FROM ${pages('v3')};
  CREATE TABLE v4 AS SELECT ${model}, unnest(data.data) AS record FROM ${pages('v4')};
  CREATE TABLE pair AS
    SELECT v3.model, v3.record AS v3, v4.record AS v4 FROM v3 LEFT JOIN v4
      ON v4.model = v3.model AND v4.record.platform_id = v3.record.platform_id;
  CREATE TABLE remap AS
    SELECT model, '' AS path, v3.svc_id AS v3_svc_id, v4.svc_id AS v4_svc_id FROM pair;
  INSERT INTO remap
    SELECT model, 'line_items', item.svc_id, list_filter(others, lambda other: other.platform_id = item.platform_id)[1].svc_id
    FROM (SELECT model, unnest(v3.line_items) AS item, v4.line_items AS others FROM pair);
  CHECKPOINT`);
const [[rows]] = (await connection.runAndReadAll('SELECT count(*) FROM remap')).getRows();
connection.closeSync();
instance.closeSync();
process.stdout.write(`${rows}\n`);

async function savePages(generation, addressOf) {
  mkdirSync(join(folder, generation));
  for (let list = 0; list < Number(lists); list++) {
    let [next, page] = [null, 0];
    do {
      const cursor = next === null ? '' : `&next=${next}`;
      const text = await (await fetch(`${addressOf(`m${list}`)}?limit=${pageSize}${cursor}`)).text();
      writeFileSync(join(folder, generation, `m${list}-${page++}.json`), text);
      // the cursor follows the records
      next = /"next":"([^"]*)"/.exec(text.slice(-300))?.[1] ?? null;
    } while (next !== null);
  }
}
