import { describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { type Case, makeCase, type Row, rowsBeside, rowsOf, SHAPES } from '../support/cases.js';
import { runFile } from '../support/client-programs.js';
import { ENGINES } from '../support/databases.js';
import { openCases } from '../support/job.js';
import { IN_PLACE, NEW } from '../support/remap.js';

const TABLES = campaign({ small: SHAPES.length, full: 26, soak: 60 });
const MAPS = campaign({ small: 6, full: 10, soak: 60 });
/** Where it is small, each shape of a table in one of the two ways, in the other one on another database. */
const SHARE = campaign({ small: 2, full: 1 });
const MANY = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1, SHAPES[at % SHAPES.length], MAPS));
/** Tables of a script that is interrupted, and after one in how many of its statements. */
const FEW = [makeCase(301, 'plain', 1), makeCase(302, 'unique', 1), makeCase(303, 'text', 1)];
const STRIDE = campaign({ small: 12, full: 2, soak: 1 });

const POLICIES = [
  { what: 'in place', policy: IN_PLACE, rows: (one: Case) => rowsOf(one, true) },
  { what: 'into new columns', policy: NEW, rows: rowsBeside },
];

describe.each(ENGINES)('SQL printed for $product', (engine) => {
  it.each(POLICIES)(
    'rewrites $what what the oracle says, once, and is undone to the byte',
    async ({ what, policy, rows }) => {
      const turn = ENGINES.indexOf(engine) + (policy.mode === 'new' ? 1 : 0);
      const tables = MANY.filter((_, at) => at % SHARE === turn % SHARE);
      const job = await openCases(engine, `sql_${policy.mode}`, tables, policy);
      const { database, store, before } = job;
      const script = await job.emit('sql-1');
      expect(await job.emit('sql-1')).toEqual(script);
      const verify = async () => (await database.query(script.verify))[0]?.[0];
      await runFile(database, script.upFile);
      await job.expectRows(rows);
      const once = await database.dump();
      // SQLite cannot add a column only if it is missing: the second run stops there.
      const again = runFile(database, script.upFile);
      if (engine.kind !== 'sqlite' || policy.mode !== 'new') await again;
      else await expect(again).rejects.toThrow('duplicate column');
      expect([await database.dump(), await verify()]).toEqual([once, '0']);
      const verified = await job.verdict();
      expect(verified.filter(([, ...bad]) => bad.some((count) => count !== 0))).toEqual([]);
      expect(verified.reduce((sum, [checked = 0]) => sum + checked, 0)).toBeGreaterThan(tables.length * MAPS);
      expect((await store.survey()).map(({ earlier }) => earlier.changedSince)).toEqual(tables.map(() => 0));
      await store.undo('sql-1');
      expect(await database.dump()).toBe(before);
      expect(await verify().catch(String)).not.toBe('0');
      await runFile(database, script.upFile);
      await runFile(database, script.downFile);
      expect(await database.dump()).toBe(before);
      await expect(runFile(database, script.downFile)).rejects.toThrow('not in the ledger as done');
      expect(await database.dump()).toBe(before);
      process.stderr.write(
        `${engine.product}: ${tables.length * MAPS} mappings rewritten ${what} by printed SQL\n`,
      );
    },
  );

  it.each(POLICIES)(
    'rewrites $what and comes back wherever it was interrupted before',
    async ({ what, policy, rows }) => {
      const job = await openCases(engine, `cut_${policy.mode}`, FEW, policy);
      const { database, store, before } = job;
      const script = await job.emit('sql-1');
      const begin = script.begin === null ? [] : [script.begin];
      const [ups, downs] = [
        [...begin, ...script.up],
        [...begin, ...script.down],
      ];
      let interruptions = 0;
      /** The session ends after so many statements. */
      const interrupt = async (statements: readonly string[], count: number) => {
        if (count >= statements.length) return;
        const session = await database.connect();
        for (const statement of statements.slice(0, count)) await session.query(statement);
        await session.end();
        interruptions += 1;
      };
      /** The tables without their new columns. */
      const old = FEW.map((one) => rowsOf(one, false).map(engine.showRow).sort());
      const inPlace = policy.mode === 'new' ? old : FEW.map((one) => rows(one).map(engine.showRow).sort());
      const ids = async () =>
        (await database.readCases(FEW)).map((table, at) => {
          const width = rowsOf(FEW[at] as Case, false)[0]?.length;
          return table.map((row) => engine.showRow((JSON.parse(row) as Row).slice(0, width))).sort();
        });
      const stride = engine.kind === 'sqlite' ? 1 : STRIDE;
      for (let at = 1; at < Math.max(ups.length, downs.length); at += stride) {
        await interrupt(ups, at);
        // Where the script itself commits, a new column may be there, or all may be done.
        if (engine.kind === 'mysql') expect([old, inPlace]).toContainEqual(await ids());
        else expect(await database.dump()).toBe(before);
        await database.run(script.upFile);
        await job.expectRows(rows);
        await interrupt(downs, at);
        await database.run(script.downFile).catch(async (error: unknown) => {
          if (engine.kind !== 'mysql') throw error;
          // All was undone when it was interrupted, or a part of the columns was dropped: then the tool undoes the rest.
          if (!String(error).includes('not in the ledger as done')) await store.undo('sql-1');
        });
        expect(await database.dump()).toBe(before);
      }
      process.stderr.write(
        `${engine.product} ${what}: printed SQL of ${ups.length} and ${downs.length} statements interrupted ${interruptions} times\n`,
      );
    },
  );
});
