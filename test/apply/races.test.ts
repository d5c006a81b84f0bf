import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/apply/db/database.js';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { campaignSize } from '../support/campaign.js';
import { listPlaces, openPlace } from './support/places.js';
import { commandsOn } from './support/scene.js';
import { testServer } from './support/servers.js';

type Step = 'write' | 'switch' | 'undo';
type Race = readonly [one: Step, other: Step, after: readonly Step[]];

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
const ROUNDS = campaignSize({ small: 1, full: 2, soak: 200 });
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

describe.each(PLACES)('$name: two processes at once', ({ server, isThere }) => {
  it.skipIf(!isThere).each(RACES)('%s and %s after %j', async (one, other, after) => {
    const { shop } = await openPlace(server);
    await shop.run('create table o(id int primary key, item int); insert into o values (1, 20), (2, 30)');
    const before = await shop.dump();
    const run = commandsOn(shop.open);
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
