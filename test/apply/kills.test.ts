import { copyFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/apply/db/database.js';
import { isRight } from '../../src/apply/plan-and-check.js';
import { must } from '../../src/text/at.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { committingDdl, Killed, Killer, mortal } from './support/dying.js';
import { type Cells, commandsOn, id, makeFile, type Shop, sqliteShop } from './support/scene.js';
import { serverShop, type TestServer, testServer } from './support/servers.js';

const SQL = `create table o(id integer primary key, item integer, other integer, unique (item, id), unique (other, id));
  insert into o values (1, 20, 40), (2, 30, 30), (3, 40, 20), (4, 60, null), (5, null, 50)`;
const IDS = [id(), id({ column: 'other' })];

type Step = 'write' | 'switch' | 'undo';
const STEPS: readonly Step[] = ['write', 'switch', 'undo'];

const ROWS: Readonly<Record<Step, Cells[]>> = {
  write: [
    ['20', '30', '40', '20'],
    ['30', '40', '30', '40'],
    ['40', '20', '20', '30'],
    ['60', null, null, null],
    [null, null, '50', '51'],
  ],
  switch: [
    ['30', '30', '20', '20'],
    ['40', '40', '40', '40'],
    ['20', '20', '30', '30'],
    [null, null, null, null],
    [null, null, '51', '51'],
  ],
  undo: [
    ['20', '40'],
    ['30', '30'],
    ['40', '20'],
    ['60', null],
    [null, '50'],
  ],
};

function commandsIn(shop: Shop, wrap: (db: Database) => Database) {
  const commands = commandsOn(shop.open, { ids: IDS, wrap });
  const run: Readonly<Record<Step, () => Promise<unknown>>> = {
    write: () => commands.write(),
    switch: () => commands.switch(true),
    undo: () => commands.undo(),
  };
  return { ...commands, run };
}

function readValues(shop: Shop, step: Step): Promise<Cells[]> {
  const columns = step === 'undo' ? 'item, other' : 'item, item_v4, other, other_v4';
  return shop.run(`select ${columns} from o order by id`);
}

type Wrap = (db: Database) => Database;

async function runBefore(step: Step, shop: Shop, wrap: Wrap): Promise<void> {
  const { run } = commandsIn(shop, wrap);
  for (const earlier of STEPS.slice(0, STEPS.indexOf(step))) await run[earlier]();
}

/** Makes shops in which the earlier steps were done. */
type Prepare = (step: Step) => Promise<() => Promise<Shop>>;

const onSqlite =
  (wrap: Wrap): Prepare =>
  async (step) => {
    const file = makeFile(SQL);
    await runBefore(step, sqliteShop(file), wrap);
    let copies = 0;
    return async () => {
      copies += 1;
      copyFileSync(file, `${file}-${copies}`);
      return sqliteShop(`${file}-${copies}`);
    };
  };

const onServer =
  (server: TestServer | null): Prepare =>
  async (step) =>
  async () => {
    const found = must(server, 'server');
    const shop = serverShop(found, await found.createDatabase());
    await shop.run(SQL);
    await runBefore(step, shop, (db) => db);
    return shop;
  };

/** A server takes a third of the statements, each another one. */
const servers = (['PostgreSQL', 'MariaDB', 'MySQL'] as const).map((product, first) => {
  const server = campaignSize({ small: null, full: testServer(product) });
  const every = campaignSize({ small: 1, full: 3, soak: 1 });
  return {
    name: product,
    wrap: (db: Database) => db,
    prepare: onServer(server),
    isThere: server !== null,
    every,
    first: first % every,
  };
});

const PLACES = [
  {
    name: 'SQLite',
    wrap: (db: Database) => db,
    prepare: onSqlite((db) => db),
    isThere: true,
    every: 1,
    first: 0,
  },
  {
    name: 'DDL that commits',
    wrap: committingDdl,
    prepare: onSqlite(committingDdl),
    isThere: true,
    every: 1,
    first: 0,
  },
  ...servers,
];

describe.each(PLACES)('$name', ({ wrap, prepare, isThere, every, first }) => {
  it.skipIf(!isThere).each(STEPS)(
    'killed before any statement, %s can be run again, and everything be undone',
    async (step) => {
      const open = await prepare(step);
      const before = await (await (await prepare('write'))()).dump();
      const counter = new Killer();
      const dieIn = (shop: Shop, killer: Killer) =>
        commandsIn(shop, (db) => mortal(wrap(db), killer)).run[step]();
      await dieIn(await open(), counter);
      expect(counter.count).toBeGreaterThan(10);
      const points = Array.from({ length: counter.count }, (_, at) => at).filter(
        (at) => at % every === first,
      );
      for (const at of campaignCases(points, 5).map((point) => point + 1)) {
        const shop = await open();
        await expect(dieIn(shop, new Killer(at)), `${step} ${at}`).rejects.toThrow(Killed);
        const { run, check } = commandsIn(shop, wrap);
        await run[step]();
        expect(await readValues(shop, step), `${step} ${at}`).toEqual(ROWS[step]);
        if (step !== 'undo')
          expect((await check()).every(({ wrongCount, missing }) => wrongCount + missing === 0)).toBe(true);
        if (step === 'switch') expect((await check()).every(isRight)).toBe(true);
        await run.undo();
        expect(await shop.dump(), `${step} ${at} undone`).toBe(before);
        const other = await open();
        await dieIn(other, new Killer(at)).catch(() => {});
        await commandsIn(other, wrap).run.undo();
        expect(await other.dump(), `undo after ${step} ${at}`).toBe(before);
      }
    },
  );
});
