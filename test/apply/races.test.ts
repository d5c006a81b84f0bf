import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { findColumn } from '../../src/apply/crosswalk.js';
import type { Database } from '../../src/apply/db/database.js';
import { isRight } from '../../src/apply/plan-and-check.js';
import type { RemapIds } from '../../src/apply/remap-ids.js';
import { writeTargets } from '../../src/apply/run-apply.js';
import { openTable } from '../../src/apply/tables.js';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { campaignSize } from '../support/campaign.js';
import { listPlaces, openPlace } from './support/places.js';
import { CONNECTION, CYCLE, commandsOn, fakeRemap, id } from './support/scene.js';
import { type TestServer, testServer } from './support/servers.js';

type Step = 'write' | 'switch' | 'undo' | 'check';
type Race = readonly [one: Step, other: Step, after: readonly Step[]];

const TABLE = 'create table o(id int primary key, item int); insert into o values (1, 20), (2, 30)';
const PLACES = listPlaces((name) => campaignSize({ small: null, full: testServer(name) }));
const RACES: readonly Race[] = [
  ['write', 'write', []],
  ['write', 'switch', ['write']],
  ['write', 'undo', ['write']],
  ['write', 'undo', ['write', 'switch']],
  ['switch', 'switch', ['write']],
  ['switch', 'undo', ['write']],
  ['undo', 'undo', ['write']],
  ['undo', 'undo', ['write', 'switch']],
];
const ROUNDS = campaignSize({ small: 1, soak: 200 });
/** Of the calls of a command on a server, before which others run. */
const EVERY = campaignSize({ small: 1, full: 9, soak: 1 });
/** About as long as a command that waits now and then. */
const MOST_LATE_MS = 300;

/** Waits before some calls, so that two commands meet at ever other places. */
function hesitating(db: Database, draw: Draw): Database {
  const wait = () => sleep(draw.chance(0.3) ? draw.below(10) : 0);
  return {
    ...db,
    introspect: (table) => wait().then(() => db.introspect(table)),
    listTables: () => wait().then(() => db.listTables()),
    query: (sql) => wait().then(() => db.query(sql)),
    execute: (sql) => wait().then(() => db.execute(sql)),
    insert: (...rows) => wait().then(() => db.insert(...rows)),
    transaction: async (mode, work) => {
      await wait();
      return db.transaction(mode, () => work().finally(wait));
    },
  };
}

async function openTableAt(server: TestServer | null) {
  const { shop } = await openPlace(server);
  await shop.run(TABLE);
  return { shop, before: await shop.dump(), run: commandsOn(shop.open) };
}

describe.each(PLACES)('$name: two processes at once', ({ server, isThere }) => {
  it.skipIf(!isThere).each(RACES)('%s and %s after %j', async (one, other, after) => {
    const { shop, before, run } = await openTableAt(server);
    for (let round = 0; round < ROUNDS; round += 1) {
      const draw = new Draw(round);
      const hesitant = commandsOn(shop.open, { wrap: (db) => hesitating(db, draw) });
      for (const step of after) await run[step]();
      const late = sleep(draw.below(MOST_LATE_MS));
      const results = await Promise.allSettled([hesitant[one](), late.then(() => hesitant[other]())]);
      const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      // A switch beside an undo may also say that there is an unfinished undo.
      expect(failures.filter(({ code }) => code !== 'locked' && code !== 'incomplete')).toEqual([]);
      // No undo takes the work of the other one for changes of the application.
      expect(JSON.stringify(results)).not.toMatch(/"changedSinceCount":[1-9]/);
      await run.undo();
      expect(await shop.dump()).toBe(before);
    }
  });
});

type Overtaken = readonly [slow: Step, after: readonly Step[], meanwhile: readonly Step[]];

const OVERTAKEN: readonly Overtaken[] = [
  ['write', ['write'], ['undo']],
  ['write', ['write', 'switch'], ['undo', 'write']],
  ['switch', ['write'], ['undo']],
  ['switch', ['write'], ['undo', 'write', 'switch']],
  ['undo', ['write'], ['undo', 'write']],
  ['undo', ['write', 'switch'], ['undo', 'write', 'switch']],
  ['check', ['write'], ['switch']],
  ['check', ['write', 'switch'], ['undo']],
  ['check', ['write', 'switch'], ['undo', 'write']],
];

/** Runs work before one call outside of transactions; `left`: the calls until then. */
function overtaken(db: Database, state: { left: number }, work: () => Promise<void>): Database {
  let isInTransaction = false;
  const step = async () => {
    if (isInTransaction) return;
    state.left -= 1;
    if (state.left === -1) await work();
  };
  return {
    ...db,
    introspect: (table) => step().then(() => db.introspect(table)),
    listTables: () => step().then(() => db.listTables()),
    query: (sql) => step().then(() => db.query(sql)),
    transaction: async (mode, work) => {
      await step();
      isInTransaction = true;
      return db.transaction(mode, work).finally(() => {
        isInTransaction = false;
      });
    },
  };
}

describe.each(PLACES)('$name: others overtake a process at each of its steps', ({ server, isThere }) => {
  it.skipIf(!isThere).each(OVERTAKEN)('%s after %j, meanwhile %j', async (slow, after, meanwhile) => {
    const { shop, before, run } = await openTableAt(server);
    const stride = server === null ? 1 : EVERY;
    for (let at = 0, isOver = false; !isOver; at += stride) {
      for (const step of after) await run[step]();
      const state = { left: at };
      const others = async () => {
        for (const step of meanwhile) await run[step]();
      };
      const late = commandsOn(shop.open, { wrap: (db) => overtaken(db, state, others) });
      const check = async () => expect((await late.check()).filter((column) => !isRight(column))).toEqual([]);
      const code = await (slow === 'check' ? check() : late[slow]()).then(
        () => null,
        (error) => error.code ?? error,
      );
      expect([null, 'locked', 'incomplete']).toContain(code);
      await run.undo();
      expect(await shop.dump()).toBe(before);
      isOver = state.left >= 0;
    }
  });
});

describe.each(PLACES)('$name: a table that is opened beside an undo', ({ server, isThere }) => {
  it.skipIf(!isThere)('has no column of another process that no state records', async () => {
    const { shop, run } = await openTableAt(server);
    const stride = server === null ? 1 : EVERY;
    for (let at = 0, isOver = false; !isOver; at += stride) {
      await run.write();
      const state = { left: at };
      const db = await shop.open();
      const late = overtaken(db, state, async () => void (await run.undo()));
      const { facts, columns } = await openTable(late, { name: 'o', table: 'o', ids: [id()] });
      await db.close();
      const isRecorded = columns.some((column) => column.state !== null);
      expect(isRecorded || findColumn(db, facts, 'item_v4') === undefined).toBe(true);
      isOver = state.left >= 0;
    }
  });
});

describe('a write that is refused', () => {
  it('takes back nothing that another process wrote after it judged the ids', async () => {
    const { shop, target } = await openPlace(null);
    await shop.run(TABLE);
    const write = (remap: RemapIds, runUninterruptible = CONNECTION.runUninterruptible) => {
      const connection = { ...CONNECTION, runUninterruptible, lockTimeoutMs: 1 };
      const context = { connection, env: {}, onProgress: () => {} };
      return writeTargets([target('o', [id()])], remap, { isPartial: false }, context);
    };
    let isJudged = false;
    let isWritten = false;
    const incomplete: RemapIds = {
      ...fakeRemap({}),
      judge: (...given) => {
        isJudged = true;
        return fakeRemap({}).judge(...given);
      },
    };
    const refused = await write(incomplete, async (work) => {
      const result = work();
      // Locked until the crosswalk is committed.
      if (isJudged && !isWritten)
        isWritten = await write(fakeRemap(CYCLE)).then(
          () => true,
          () => false,
        );
      return result;
    });
    expect([refused.refused.length, isWritten]).toEqual([1, true]);
    expect(await shop.run('select state from svc_migrate_state')).toEqual([['written']]);
  });
});
