import { describe, expect, it } from 'vitest';
import { FinalIds } from '../../../src/apply/column-work.js';
import { only } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

const KEEP = { ...IN_PLACE, missing: 'keep', unknown: 'keep' } as const;
describe.each(only('sqlite'))('texts in $product', (engine) => {
  const { tableOf, sql, apply, undo } = openScene(engine);
  const inText = (pattern: string | readonly string[]) => ({
    targets: [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern }] })],
  });
  /** Each cell as SQL says it, with its type. */
  const cells = async () => (await sql('SELECT quote(i) FROM t ORDER BY k')).flat();

  it('changes the ids of texts only, in every storage class and whatever else is in them', async () => {
    const before = [
      "'doc:5'",
      "'doc:5.'",
      '5',
      '5.0',
      "X'646F633A35'",
      'NULL',
      "''",
      "CAST(X'646F633A35FF' AS TEXT)",
      "'doc:5' || char(0)",
      "'7'",
    ];
    await sql(
      `CREATE TABLE t(k INTEGER PRIMARY KEY, i); INSERT INTO t(i) VALUES ${before.map((one) => `(${one})`).join(',')}`,
    );
    const then = await cells();
    expect(await apply(IN_PLACE, inText(['doc:{id}', '{id}']))).toEqual(['unknown']);
    expect(await apply(KEEP, inText(['doc:{id}', '{id}']))).toEqual([]);
    const now = [...then];
    now.splice(0, 1, "'doc:6'");
    now.splice(2, 1, '6');
    now.splice(9, 1, "'8'");
    // 7 became 8 and 5 became 6, a text and an integer as before.
    expect(await cells()).toEqual(now);
    await undo('run-1');
    expect(await cells()).toEqual(then);
  });

  it('swaps texts under a unique constraint and refuses texts that would be equal', async () => {
    await sql(
      "CREATE TABLE t(k INTEGER PRIMARY KEY, i TEXT UNIQUE CHECK (i LIKE 'doc:%')); INSERT INTO t(i) VALUES ('doc:5'), ('doc:6')",
    );
    await expect(apply(IN_PLACE, inText('doc:{id}'))).rejects.toMatchObject({ code: 'bad_input' });
    expect(await cells()).toEqual(["'doc:5'", "'doc:6'"]);
    await sql(
      "DROP TABLE t; CREATE TABLE t(k INTEGER PRIMARY KEY, i TEXT UNIQUE); INSERT INTO t(i) VALUES ('doc:5'), ('doc:6'), ('a:1')",
    );
    expect(await apply(KEEP, inText('doc:{id}'))).toEqual([]);
    expect(await cells()).toEqual(["'doc:6'", "'doc:7'", "'a:1'"]);
    await undo('run-1');
    await sql("INSERT INTO t(i) VALUES ('x-6')");
    expect(await apply(KEEP, inText(['doc:{id}', 'x-{id}']))).toEqual([]);
    await undo('run-1');
    await sql("UPDATE t SET i = 'doc:8' WHERE i = 'x-6'");
    await sql("INSERT INTO t(i) VALUES ('doc:99')");
    // 8 becomes 5, and 99 stays; neither is there twice.
    expect(await apply(KEEP, inText('doc:{id}'))).toEqual([]);
    expect(await cells()).toEqual(["'doc:6'", "'doc:7'", "'a:1'", "'doc:5'", "'doc:99'"]);
  });

  it('finds texts that would occur twice or not fit', () => {
    const text = { name: 'i', type: 'varchar(6)', range: null, maxChars: 6 };
    const finals = new FinalIds(text, true);
    for (const one of ['doc:6', 'a:1', 'doc:60', 'doc:600', 'éé💶💶éé', 'doc:6']) finals.add(one);
    expect(finals.notes().map(({ text }) => text)).toEqual([
      'i: 1 value would occur twice, but must be unique (doc:6). A new column (without --in-place) may hold both.',
      'i: 1 value would not fit into varchar(6) (doc:600).',
    ]);
  });

  it('fills a new column, and takes cells that a later pattern fits with --again', async () => {
    await sql(
      "CREATE TABLE t(k INTEGER PRIMARY KEY, i TEXT); INSERT INTO t(i) VALUES ('doc:5'), ('inv/6'), ('doc:5:6')",
    );
    const policy = { ...NEW, unknown: 'keep' } as const;
    expect(await apply(policy, inText('doc:{id}'))).toEqual([]);
    expect((await sql('SELECT i_v4 FROM t ORDER BY k')).flat()).toEqual(['doc:6', null, null]);
    await undo('run-1');
    expect(await apply(KEEP, inText('doc:{id}'))).toEqual([]);
    expect(
      await apply({ ...KEEP, again: true }, { ...inText(['doc:{id}', 'inv/{id}']), run: 'run-2' }),
    ).toEqual([]);
    expect(await cells()).toEqual(["'doc:6'", "'inv/7'", "'doc:5:6'"]);
  });
});
