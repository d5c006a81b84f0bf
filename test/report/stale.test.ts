import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { openRemap } from '../../src/index.js';
import { buildVerdict } from '../../src/report/build-verdict.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { prepareBumpExportSeq, writeRemapInputs } from '../../src/store/meta.js';
import type { Db } from '../../src/store/open.js';
import { type Exported, INVOICES } from '../support/exported.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';
import { newIo, type TestDatabase, type TestIo, withDatabase } from './support.js';

/** Nothing that a limit counts: only incomplete or stale evidence keeps the gate from passing. */
const CLEAN: Exported = {
  v3: [{ id: 1, key: 'a', facts: 'x=1' }],
  v4: [
    { id: 2, key: 'a', facts: 'x=1' },
    { id: 9, key: 'deleted', deleted: true },
  ],
};

const REMAPS = {
  none: ({ write }: TestDatabase) =>
    write((db) =>
      db.exec('DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day'),
    ),
  complete: () => {},
  incomplete: ({ write, remap }: TestDatabase) => {
    write((db) => setStates(db, 'failed'));
    remap();
  },
} as const;

const EXPORTS = {
  none: () => {},
  running: ({ write }: TestDatabase) => write((db) => setStates(db, 'running')),
  interrupted: ({ write }: TestDatabase) => write((db) => setStates(db, 'failed')),
  finished: ({ write }: TestDatabase) => write((db) => setStates(db, 'complete')),
} as const;

function setStates(db: Db, state: string): void {
  db.prepare("UPDATE stream SET state = ? WHERE generation = 'v4'").run(state);
  prepareBumpExportSeq(db)();
}

/** `current` and `stale` are answers; 4 is the exit code of a refusal. */
type Answered = 'current' | 'stale' | 4;

/** What each reader does, and the exit code of the gate. */
const CASES: readonly (readonly [
  remap: keyof typeof REMAPS,
  since: keyof typeof EXPORTS,
  lookup: Answered,
  dump: Answered,
  findings: Answered,
  report: Answered | null,
  gate: number,
])[] = [
  ['none', 'none', 4, 4, 4, null, 4],
  ['none', 'running', 4, 4, 4, null, 4],
  ['none', 'interrupted', 4, 4, 4, null, 4],
  ['none', 'finished', 4, 4, 4, null, 4],
  ['complete', 'none', 'current', 'current', 'current', 'current', 0],
  ['complete', 'running', 'stale', 'stale', 'stale', 'stale', 4],
  ['complete', 'interrupted', 'stale', 'stale', 'stale', 'stale', 4],
  ['complete', 'finished', 'stale', 4, 'stale', 'stale', 4],
  ['incomplete', 'none', 4, 4, 'current', 'current', 4],
  ['incomplete', 'running', 4, 4, 'stale', 'stale', 4],
  ['incomplete', 'interrupted', 4, 4, 'stale', 'stale', 4],
  ['incomplete', 'finished', 4, 4, 'stale', 'stale', 4],
];

/** With the command to run, as it was given. */
const OLDER = /Warning: The remap is older than the exported data\. .*svc-migrate [a-z]+ --db own\.db/;

async function refusalOr(work: () => Promise<Answered> | Answered): Promise<Answered> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SvcError && error.code === 'incomplete') return 4;
    throw error;
  }
}

/** Whether stderr says that the answer is stale. */
const warned = (io: TestIo): Answered => (OLDER.test(io.stderr.text) ? 'stale' : 'current');
const marked = (stale: unknown): Answered => (stale === true ? 'stale' : stale === false ? 'current' : 4);

function lookup({ config }: TestDatabase, more: OptionValues = {}): Promise<Answered> {
  return refusalOr(async () => {
    const [text, json] = [newIo({ flags: ' --db own.db' }), newIo({ flags: ' --db own.db' })];
    await runNamed('lookup', givenOf(config, more, [INVOICES, '1']), text);
    await runNamed('lookup', givenOf(config, { ...more, json: '-' }, [INVOICES, '1']), json);
    expect(text.stdout.text).toBe('1\t2\tmatched\n');
    const { stale, v4_svc_id } = JSON.parse(json.stdout.text);
    expect([v4_svc_id, warned(text), warned(json)]).toEqual(['2', marked(stale), marked(stale)]);
    return marked(stale);
  });
}

function dump({ config }: TestDatabase, more: OptionValues = {}): Promise<Answered> {
  return refusalOr(async () => {
    const io = newIo({ flags: ' --db own.db' });
    await runNamed('dump', givenOf(config, { ...more, format: 'ndjson' }), io);
    expect(JSON.parse(io.stdout.text.split('\n')[0] ?? '')).toMatchObject({ v3_svc_id: '1', v4_svc_id: '2' });
    return warned(io);
  });
}

function findings({ config }: TestDatabase): Promise<Answered> {
  return refusalOr(async () => {
    const io = newIo({ flags: ' --db own.db' });
    await runNamed('findings', givenOf(config, { json: '-' }), io);
    const { stale } = JSON.parse(io.stdout.text.split('\n')[0] ?? '');
    expect(warned(io)).toBe(marked(stale));
    return marked(stale);
  });
}

function explain({ config }: TestDatabase): Promise<Answered> {
  return refusalOr(async () => {
    const io = newIo({ flags: ' --db own.db' });
    await runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, '1']), io);
    return marked(JSON.parse(io.stdout.text).stale);
  });
}

function library({ config }: TestDatabase, options: { allowIncomplete?: boolean } = {}): Promise<Answered> {
  return refusalOr(() => {
    const remap = openRemap(config.database, options);
    try {
      const { v4Id, stale } = remap.find(INVOICES, 1);
      expect([v4Id, remap.v4Id(INVOICES, 1)]).toEqual([2n, 2n]);
      return marked(stale);
    } finally {
      remap.close();
    }
  });
}

const SAME_ID = { companies: { match: 'same_id', include: [], exclude: [] } } as const;
const withClean = (work: (database: TestDatabase) => Promise<void>) => withDatabase(CLEAN, SAME_ID, work);

describe('readers of a remap', () => {
  it.each(CASES)('remap %s, export since: %s', (remap, since, ...expected) =>
    withClean(async (database) => {
      REMAPS[remap](database);
      EXPORTS[since](database);
      const { evidence, exitCode } = await database.report();
      const report = evidence.remap === null ? null : marked(evidence.remap.stale);
      const found = [
        await lookup(database),
        await dump(database),
        await findings(database),
        report,
        exitCode,
      ];
      expect(found).toEqual(expected);
      expect(evidence.conservation.holds).toBe(report === 'current' ? true : null);
      // the library answers as `lookup` does, `explain` as `findings` does
      expect([await library(database), await explain(database)]).toEqual([expected[0], expected[2]]);
      if (remap === 'none') return;
      const told = since === 'none' ? 'current' : 'stale';
      const allowIncomplete = true;
      expect([
        await lookup(database, { allowIncomplete }),
        await dump(database, { allowIncomplete }),
        await library(database, { allowIncomplete }),
      ]).toEqual([told, told, told]);
    }),
  );

  it('do not take an incomplete remap for the complete one before it', () =>
    withClean(async (database) => {
      database.remap();
      REMAPS.incomplete(database);
      EXPORTS.finished(database);
      expect([await lookup(database), await library(database), await dump(database)]).toEqual([4, 4, 4]);
    }));

  it('refuse a stale remap of which it is not known that it was complete', () =>
    withClean(async (database) => {
      database.write((db) => db.exec("DELETE FROM meta WHERE key = 'complete_remap'"));
      expect([await lookup(database), await library(database)]).toEqual(['current', 'current']);
      EXPORTS.running(database);
      expect([await lookup(database), await library(database), await dump(database)]).toEqual([4, 4, 4]);
    }));

  it('refuse a stale remap of another V4', () =>
    withClean(async (database) => {
      database.write((db) => saveFingerprint(db, 'v4', { v4: 'another host' }));
      EXPORTS.running(database);
      expect(await library(database)).toBe(4);
    }));

  it('refuse a stale remap that was built with other decisions', () =>
    withClean(async (database) => {
      database.write((db) => writeRemapInputs(db, { decisions: 'another file' }));
      EXPORTS.running(database);
      expect([await lookup(database), await dump(database)]).toEqual([4, 4]);
    }));
});

describe('the verdict on data that were read in full', () => {
  it.each([
    ['no remap', REMAPS.none, 'THERE IS NO REMAP', 'remap'],
    ['an export since', EXPORTS.finished, 'THE REMAP IS OUT OF DATE', 'remap'],
    [
      'other decisions since',
      ({ write }: TestDatabase) => write((db) => writeRemapInputs(db, { decisions: 'another file' })),
      'THE REMAP IS OUT OF DATE',
      'remap',
    ],
    ['a list that failed since', EXPORTS.interrupted, 'THE DATA ARE INCOMPLETE', 'run'],
  ])('says what is missing, and leads there: %s', (_, change, says, next) =>
    withClean(async (database) => {
      change(database);
      const report = await database.report();
      expect(report.evidence.remap?.stale ?? null).toBe(says === 'THERE IS NO REMAP' ? null : true);
      const verdict = buildVerdict(report);
      expect([verdict.title, verdict.next]).toEqual([`NOT KNOWN YET: ${says}`, `svc-migrate ${next}`]);
    }),
  );
});

describe('a remap that stays open', () => {
  it('tells of each answer whether it is stale, and refuses an incomplete remap', () =>
    withClean(async (database) => {
      const remap = openRemap(database.config.database);
      const stale = () => remap.find(INVOICES, 1).stale;
      try {
        expect(stale()).toBe(false);
        EXPORTS.running(database);
        expect(stale()).toBe(true);
        EXPORTS.finished(database);
        expect(stale()).toBe(true);
        database.remap();
        expect(stale()).toBe(false);
        REMAPS.incomplete(database);
        for (const _ of [1, 2]) expect(stale).toThrow(expect.objectContaining({ code: 'incomplete' }));
        EXPORTS.finished(database);
        database.remap();
        expect(stale()).toBe(false);
      } finally {
        remap.close();
      }
    }));
});
