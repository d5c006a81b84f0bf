import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { ITEMS, openJob } from './support/job.js';
import { dumpOf, rowsOf } from './support/scene.js';

const TABLE = 'create table o(id integer primary key, js text)';

async function openDocuments(documents: readonly string[], ...paths: readonly string[]) {
  const ids = paths.map((path) => ({ column: 'js', path, model: 'payments/items' }));
  const targets = [{ name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'o', ids }];
  const job = await openJob(ITEMS, { apply: { targets } });
  const db = new Sqlite(job.file('shop.db'));
  db.exec(TABLE);
  for (const document of documents) db.prepare('insert into o(js) values (?)').run(document);
  db.close();
  return { ...job, shop: job.file('shop.db'), json: (...words: readonly string[]) => jsonOf(job, words) };
}

async function jsonOf(job: Awaited<ReturnType<typeof openJob>>, words: readonly string[]) {
  const { code, stdout } = await job.run(...words, '--json', '-');
  return { code, json: JSON.parse(stdout) };
}

const countsOf = (counts: readonly { readonly name: string; readonly rows: number }[]) =>
  counts.map(({ name, rows }) => [name, rows]);

describe('a path that selects nothing', () => {
  it.each([
    ['in an array', ['[{"id":1}]', '[{"id":2}]'], ['$.id']],
    ['by a wrong name', ['{"ID":1}', '{"x":[2]}'], ['$.id']],
    ['beside a path that is right', ['{"id":1}', '{"id":2}'], ['$.id', '$.other']],
  ])('is refused in a column: %s', async (_, documents, paths) => {
    const { json, shop } = await openDocuments(documents, ...paths);
    const before = dumpOf(shop);
    const plan = await json('apply', 'plan');
    expect([plan.code, plan.json.blocks.map(({ note }: { note: { code: string } }) => note.code)]).toEqual([
      2,
      ['no_id_at_path'],
    ]);
    for (const flags of [[], ['--partial']])
      expect(await json('apply', 'write', '--yes', ...flags)).toMatchObject({
        code: 2,
        json: { code: 'config' },
      });
    expect(dumpOf(shop)).toBe(before);
  });

  it('names what a document has instead, cleaned and cut', async () => {
    const { run } = await openDocuments(
      [JSON.stringify({ '\u001b[31mred': 1, ['x'.repeat(190)]: 2, ID: 1 })],
      '$.id',
    );
    const { stderr } = await run('apply', 'write', '--yes');
    expect(stderr).not.toContain('\u001b');
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `No document of o has an id at js $.id: one is {"\\u001b[31mred":1,"${'x'.repeat(100)}…`,
    );
  });

  it('is counted where other documents have an id, and its cells stay', async () => {
    const { json, run, shop } = await openDocuments(['{"id":1}', '{"x":1}', '{"id":null}'], '$.id');
    const before = dumpOf(shop);
    const plan = await json('apply', 'plan');
    expect([plan.code, plan.json.ids]).toEqual([
      0,
      { stored: 1, mapped: 1, missing: 0, unknown: 0, accepted: 0 },
    ]);
    expect(countsOf(plan.json.targets[0].columns[0].counts)).toEqual([
      ['mapped', 1],
      ['empty', 1],
      ['no_id_at_path', 1],
    ]);
    expect((await run('apply', 'plan')).stdout).toContain('The only stored value has a V4 id.');
    expect((await run('apply', 'write', '--yes')).code).toBe(0);
    expect(await json('apply', 'check')).toMatchObject({
      code: 0,
      json: { checked: [{ checked: 1, noIdAtPath: 1 }] },
    });
    expect((await run('apply', 'switch', '--yes')).code).toBe(0);
    expect(rowsOf(shop, 'select js from o order by id').flat()).toEqual([
      '{"id":38}',
      '{"x":1}',
      '{"id":null}',
    ]);
    expect(await json('apply', 'check')).toMatchObject({
      code: 0,
      json: { checked: [{ checked: 1, noIdAtPath: 1 }] },
    });
    expect((await run('apply', 'undo', '--yes')).code).toBe(0);
    expect(dumpOf(shop)).toBe(before);
  });

  it('is refused or counted in an NDJSON file', async () => {
    const job = await openJob(ITEMS);
    const words = ['e.ndjson', '--ids', '{"column":"$.id","model":"payments/items"}'];
    writeFileSync(job.file('e.ndjson'), '[{"id":1}]\n{"ID":1}\n');
    expect((await jsonOf(job, ['apply', 'plan', ...words])).code).toBe(2);
    expect((await job.run('apply', 'write', ...words, '--yes')).code).toBe(2);
    expect(existsSync(job.file('e.v4.ndjson'))).toBe(false);
    writeFileSync(job.file('e.ndjson'), '{"id":1}\n{"ID":1}\n{"id":null}\n');
    const plan = await jsonOf(job, ['apply', 'plan', ...words]);
    expect([plan.code, countsOf(plan.json.targets[0].columns[0].counts)]).toEqual([
      0,
      [
        ['mapped', 1],
        ['empty', 1],
        ['no_id_at_path', 1],
      ],
    ]);
    expect((await job.run('apply', 'write', ...words, '--yes')).code).toBe(0);
    expect(readFileSync(job.file('e.v4.ndjson'), 'utf8')).toBe('{"id":38}\n{"ID":1}\n{"id":null}\n');
    expect(await jsonOf(job, ['apply', 'check', ...words])).toMatchObject({
      code: 0,
      json: { files: [{ checked: 1, noIdAtPath: 1 }] },
    });
  });
});
