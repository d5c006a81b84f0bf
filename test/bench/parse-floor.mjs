/** The floor users think of: pages are fetched with undici and parsed, and nothing is stored. */
import { Agent, request } from 'undici';

const [base, lists, pageSize] = process.argv.slice(2);
const dispatcher = new Agent({ connections: 8 });

async function readList(list) {
  let records = 0;
  let next = null;
  do {
    const url = `${base}/accounting/m${list}?limit=${pageSize}${next === null ? '' : `&next=${next}`}`;
    const { body } = await request(url, { dispatcher });
    const page = JSON.parse(await body.text());
    records += page.data.length;
    next = page.next;
  } while (next !== null);
  return records;
}

const counts = await Promise.all(Array.from({ length: Number(lists) }, (_, list) => readList(list)));
process.stdout.write(`${counts.reduce((sum, count) => sum + count, 0)}\n`);
await dispatcher.close();
