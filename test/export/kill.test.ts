import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Generation } from '../../src/domain.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { compileChild } from '../support/compile-child.js';
import { killConfig, killService, olderService } from './kill-scene.js';
import { type Bench, bench, storedRecords } from './support.js';

const script = await compileChild('test/export/kill-child.ts');

/** A job that is killed over and over is let go after so many kills. */
const MAX_KILLS = campaign({ small: 2, full: Number.POSITIVE_INFINITY });

type Place = 'saving' | 'saved';

/** True where the export was killed, false where it came to its end. */
function exportAndKill(
  b: Bench,
  generation: Generation,
  place: Place,
  page: number,
  pages: 'alone' | '' = '',
): boolean {
  const args = [script, b.file, generation, place, String(page), pages];
  const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (signal === 'SIGKILL') return true;
  expect([status, stderr]).toEqual([0, '']);
  return false;
}

function contentsOf(b: Bench): unknown {
  return b.look((db) => ({
    integrity: db.pragma('integrity_check', { simple: true }),
    records: storedRecords(db),
    streams: db
      .prepare(
        'SELECT generation, model, state, end_reason, read_by, unique_records, rejected FROM stream ORDER BY 1, 2',
      )
      .all(),
    sums: db
      .prepare('SELECT count(*) FROM stream WHERE records <> unique_records + duplicates + rejected')
      .get(),
    cursors: db.prepare('SELECT count(*) FROM cursor_seen').get(),
    parts: db.prepare('SELECT count(*) FROM part').get(),
  }));
}

/** A database as the killed export finds it: new, or holding an older reading with other records. */
async function prepared(
  generation: Generation,
  isAnew: boolean,
  v3Companies: 'auto' | [] = 'auto',
): Promise<Bench> {
  const b = bench(killConfig(v3Companies));
  if (isAnew) await b.run(olderService(), generation);
  return b;
}

/** `pages`: how many were requested, and how many of them were saved. */
async function undisturbed(
  b: Bench,
  generation: Generation,
): Promise<{ pages: Record<Place, number>; contents: unknown }> {
  const service = killService();
  const before = b.events.length;
  await b.run(service, generation);
  const saved = b.events.slice(before).filter(({ kind }) => kind === 'page').length;
  return { pages: { saving: service.calls.length, saved }, contents: contentsOf(b) };
}

describe.each([
  ['v3', false],
  ['v4', false],
  ['v4', true],
] as const)('an export of %s that is killed (into older data: %s)', (generation, isAnew) => {
  it.each(['saving', 'saved'] as const)(
    'at any page (%s) ends, run again, with the same data as an undisturbed one',
    async (place) => {
      const { pages, contents } = await undisturbed(await prepared(generation, isAnew), generation);
      let kills = 0;
      const all = [...Array(pages[place]).keys()];
      const half = all.filter((page) => page % 2 === 0);
      const tried = campaign({ small: campaignCases(half, 1), full: half, soak: all });
      for (const page of tried) {
        const b = await prepared(generation, isAnew);
        if (exportAndKill(b, generation, place, page)) kills += 1;
        await b.run(killService(), generation);
        expect(contentsOf(b)).toEqual(contents);
      }
      // Pages of a sweep hold no record that could kill while it is saved.
      expect(kills).toBeGreaterThanOrEqual(
        place === 'saving' ? campaign({ small: 0, full: 3 }) : tried.length,
      );
      process.stdout.write(`${generation}: killed at ${kills} of ${pages[place]} pages (${place})\n`);
    },
  );

  it('over and over, a page at a time, ends with the same data as an undisturbed one', async () => {
    const { contents } = await undisturbed(await prepared(generation, isAnew, []), generation);
    const b = await prepared(generation, isAnew, []);
    let kills = 0;
    // Every second run saves a page before it dies; the others die within a transaction.
    const isKilled = () => exportAndKill(b, generation, kills % 2 === 0 ? 'saved' : 'saving', 0, 'alone');
    while (kills < MAX_KILLS && isKilled()) kills += 1;
    await b.run(killService(), generation);
    expect(kills).toBeGreaterThanOrEqual(Math.min(5, MAX_KILLS));
    expect(contentsOf(b)).toEqual(contents);
  });
});
