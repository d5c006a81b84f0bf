import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SqlScript } from '../../../src/apply/emit/layouts.js';
import type { Policy } from '../../../src/apply/plan.js';
import { campaign } from '../../support/campaign.js';
import { type Case, makeCase, remapRowsOf, rowsBeside, rowsOf, SHAPES } from '../support/cases.js';
import { runFile } from '../support/client-programs.js';
import { ENGINES, fileOf } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

const TABLES = campaign({ small: SHAPES.length, full: 26, soak: 60 });
const MAPS = campaign({ small: 6, full: 10, soak: 60 });
/** Where it is small, each shape of a table in one of the two ways, in the other one on another database. */
const SHARE = campaign({ small: 2, full: 1 });
const MANY = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1, SHAPES[at % SHAPES.length], MAPS));
/** Tables of a script that is interrupted, and after one in how many of its statements. */
const FEW = [makeCase(301, 'plain', 1), makeCase(302, 'unique', 1), makeCase(303, 'text', 1)];
const STRIDE = campaign({ small: 12, full: 2, soak: 1 });

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, [...MANY, ...FEW].flatMap(remapRowsOf));

const POLICIES = [
  { what: 'in place', policy: IN_PLACE, rows: (one: Case) => rowsOf(one, true) },
  { what: 'into new columns', policy: NEW, rows: rowsBeside },
];
const upOf = (script: SqlScript) => fileOf(script, [...script.load, ...script.up]);
const downOf = (script: SqlScript) => fileOf(script, script.down);

describe.each(ENGINES)('SQL printed for $product', (engine) => {
  async function open(name: string, cases: readonly Case[], policy: Policy) {
    const database = await engine.createDatabase(name);
    await database.createCases(cases);
    const context = openContext(remap, policy);
    const store = database.openStore(context, database.targetsOf(cases));
    const emit = async (): Promise<SqlScript> => {
      const run = { run: 'sql-1', planSha256: 'p', isExact: true };
      const script = await store.emit?.(await store.survey(), run);
      if (script === undefined) throw new Error('no SQL');
      return script;
    };
    const close = async () => {
      await store.close();
      await database.close();
      context.remap.close();
    };
    return { database, store, emit, close, before: await database.dump() };
  }
  const sorted = (cases: readonly Case[], rows: typeof rowsBeside) =>
    cases.map((one) => rows(one).map(engine.showRow).sort());

  it.each(POLICIES)(
    'rewrites $what what the oracle says, once, and is undone to the byte',
    async ({ what, policy, rows }) => {
      const turn = ENGINES.indexOf(engine) + (policy.mode === 'new' ? 1 : 0);
      const tables = MANY.filter((_, at) => at % SHARE === turn % SHARE);
      const { database, store, emit, close, before } = await open(`sql_${policy.mode}`, tables, policy);
      const script = await emit();
      expect(await emit()).toEqual(script);
      const verify = async () => (await database.query(script.verify))[0]?.[0];
      await runFile(database, upOf(script));
      expect(await database.readCases(tables)).toEqual(sorted(tables, rows));
      const once = await database.dump();
      // SQLite cannot add a column only if it is missing: the second run stops there.
      const again = runFile(database, upOf(script));
      if (engine.kind !== 'sqlite' || policy.mode !== 'new') await again;
      else await expect(again).rejects.toThrow('duplicate column');
      expect(await database.dump()).toBe(once);
      expect(await verify()).toBe('0');
      const verified = await store.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan(tables.length * MAPS);
      expect((await store.survey()).map(({ earlier }) => earlier.changedSince)).toEqual(tables.map(() => 0));
      await store.undo('sql-1');
      expect(await database.dump()).toBe(before);
      expect(await verify().catch(String)).not.toBe('0');
      await runFile(database, upOf(script));
      await runFile(database, downOf(script));
      expect(await database.dump()).toBe(before);
      await expect(runFile(database, downOf(script))).rejects.toThrow('not in the ledger as done');
      expect(await database.dump()).toBe(before);
      await close();
      process.stderr.write(
        `${engine.product}: ${tables.length * MAPS} mappings rewritten ${what} by printed SQL\n`,
      );
    },
  );

  it.each(POLICIES)(
    'rewrites $what and comes back wherever it was interrupted before',
    async ({ what, policy, rows }) => {
      const { database, store, emit, close, before } = await open(`cut_${policy.mode}`, FEW, policy);
      const script = await emit();
      const after = sorted(FEW, rows);
      const old = sorted(FEW, (one) => rowsOf(one, false));
      const inPlace = policy.mode === 'new' ? old : after;
      const ups = [...script.load, ...script.up];
      const begin = script.begin === null ? [] : [script.begin];
      const stride = engine.kind === 'sqlite' ? 1 : STRIDE;
      let interruptions = 0;
      /** The session ends after so many statements. */
      const interrupt = async (statements: readonly string[], count: number) => {
        const session = await database.connect();
        for (const statement of [...begin, ...statements].slice(0, count)) await session.query(statement);
        await session.end();
        interruptions += 1;
      };
      const ids = async () =>
        (await database.readCases(FEW)).map((table, at) =>
          table
            .map((row) => engine.showRow(JSON.parse(row).slice(0, rowsOf(FEW[at] as Case, false)[0]?.length)))
            .sort(),
        );
      for (let at = 1; at < Math.max(ups.length, script.down.length) + begin.length; at += stride) {
        if (at < ups.length + begin.length) await interrupt(ups, at);
        // Where the script itself commits, a new column may be there, or all may be done.
        if (engine.kind === 'mysql') expect([old, inPlace]).toContainEqual(await ids());
        else expect(await database.dump()).toBe(before);
        await database.run(upOf(script));
        expect(await database.readCases(FEW)).toEqual(after);
        if (at < script.down.length + begin.length) await interrupt(script.down, at);
        await database.run(downOf(script)).catch(async (error: unknown) => {
          if (engine.kind !== 'mysql') throw error;
          // All was undone when it was interrupted, or a part of the columns was dropped: then the tool undoes the rest.
          if (!String(error).includes('not in the ledger as done')) await store.undo('sql-1');
        });
        expect(await database.dump()).toBe(before);
      }
      process.stderr.write(
        `${engine.product} ${what}: printed SQL of ${ups.length} and ${script.down.length} statements interrupted ${interruptions} times\n`,
      );
      await close();
    },
  );
});
