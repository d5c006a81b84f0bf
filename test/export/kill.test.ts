import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Generation } from '../../src/domain.js';
import { listV4Companies } from '../../src/store/records.js';
import { campaignSize } from '../support/campaign.js';
import { compileChild } from '../support/compile-child.js';
import { killConfig, killService, olderService } from './kill-scene.js';
import { type Bench, bench, storedRecords } from './support.js';

const script = await compileChild('test/export/kill-child.ts');

type Place = 'saving' | 'saved';

/** True if the export was killed, false if it came to its end. */
function exportAndKill(b: Bench, generation: Generation, place: Place, page: number): boolean {
  const args = [script, b.file, generation, place, String(page)];
  const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (signal === 'SIGKILL') return true;
  expect([status, stderr]).toEqual([0, '']);
  return false;
}

function contentsOf(b: Bench): unknown {
  return b.look((db) => ({
    integrity: db.pragma('integrity_check', { simple: true }),
    records: storedRecords(db),
    companies: listV4Companies(db, killConfig()),
    streams: db
      .prepare(
        'select generation, model, state, end_reason, unique_records, rejected from stream order by 1, 2',
      )
      .all(),
    wrongSums: db
      .prepare('select 1 from stream where records <> unique_records + duplicates + rejected')
      .all(),
    cursors: db.prepare('select count(*) from cursor_seen').pluck().get(),
    lostChildren: db.prepare('select 1 from child where record_id not in (select id from record)').all(),
  }));
}

/** A database as the killed export finds it: new, or with an older reading of other records. */
async function prepared(generation: Generation, isAnew: boolean): Promise<Bench> {
  const b = bench(killConfig());
  if (isAnew) await b.run(olderService(), generation);
  return b;
}

/** The pages that were requested, and those that were saved. */
async function undisturbed(b: Bench, generation: Generation) {
  const service = killService();
  const before = b.events.length;
  await b.run(service, generation);
  const saved = b.events.slice(before).filter(({ kind }) => kind === 'page').length;
  return { pages: { saving: service.calls.length, saved }, contents: contentsOf(b) };
}

/** A new V4 database differs from a new V3 one by its list of companies, which the older one has too. */
const KILLED: readonly (readonly [Generation, boolean])[] = [
  ['v3', false],
  ['v4', true],
  ...campaignSize<[Generation, boolean][]>({ small: [], full: [['v4', false]] }),
];

describe.each(KILLED)('an export of %s that is killed (into older data: %s)', (generation, isAnew) => {
  it.each(['saving', 'saved'] as const)(
    'at any page (%s) ends, run again, with the same data as an undisturbed one',
    async (place) => {
      const { pages, contents } = await undisturbed(await prepared(generation, isAnew), generation);
      const all = [...Array(pages[place]).keys()];
      // The second half of the pages are those of sweeps.
      const tried = campaignSize({ small: [0, Math.floor(all.length / 4)], full: all });
      let kills = 0;
      for (const page of tried) {
        const b = await prepared(generation, isAnew);
        if (exportAndKill(b, generation, place, page)) kills += 1;
        await b.run(killService(), generation);
        expect(contentsOf(b)).toEqual(contents);
      }
      // Pages of a sweep hold no record that could kill while it is saved.
      expect(kills).toBeGreaterThanOrEqual(place === 'saved' ? tried.length : Math.ceil(tried.length / 4));
      process.stdout.write(`${generation}: killed at ${kills} of ${pages[place]} pages (${place})\n`);
    },
  );

  it('over and over, also while it recovers, ends with the same data as an undisturbed one', async () => {
    const { contents } = await undisturbed(await prepared(generation, isAnew), generation);
    const b = await prepared(generation, isAnew);
    const maxKills = campaignSize({ small: 2, full: 40 });
    let kills = 0;
    while (kills < maxKills && exportAndKill(b, generation, kills % 2 === 0 ? 'saved' : 'saving', 1))
      kills += 1;
    await b.run(killService(), generation);
    expect(kills).toBeGreaterThanOrEqual(2);
    expect(contentsOf(b)).toEqual(contents);
  });
});
