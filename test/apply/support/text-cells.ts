import { expect } from 'vitest';
import { IN_PLACE, INVOICES, NEW } from './remap.js';
import type { Scene } from './scene.js';

/** Rewrites ids in texts of a type, long ones among them, into a new column and in place, and takes both back. */
export async function rewritesTexts({ sql, apply, undo, tableOf }: Scene, type: string): Promise<void> {
  // Too long for an index, and not to be compressed.
  const words = Array.from({ length: /text/.test(type) ? 2000 : 1 }, (_, at) =>
    ((at * 7919 + 1) ** 3 % 1e9).toString(36),
  );
  const long = `é${words.join('/')}/doc/7`;
  const pattern = ['doc:{id}', '*/doc/{id}'];
  const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern }] })];
  await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type})`);
  await sql(`INSERT INTO t VALUES (1, 'doc:5'), (2, 'doc:6'), (3, '${long}')`);
  const expected = [['doc:6'], ['doc:5'], [long.replace('doc/7', 'doc/9')]];
  for (const [policy, column] of [
    [NEW, 'i_v4'],
    [IN_PLACE, 'i'],
  ] as const) {
    expect(await apply(policy, { targets })).toEqual([]);
    // PostgreSQL pads a char.
    expect(await sql(`SELECT rtrim(${column}) FROM t ORDER BY k`)).toEqual(expected);
    await undo('run-1', { targets });
    expect(await sql('SELECT rtrim(i) FROM t ORDER BY k')).toEqual([['doc:5'], ['doc:6'], [long]]);
  }
}
