import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { digestInputFiles } from '../../src/config/config.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { verifyRemap } from '../../src/store/integrity.js';
import { assertUsableRemap, findIncomplete, findNotReady, readStaleness } from '../../src/store/readiness.js';
import type { Db } from '../../src/store/sqlite.js';
import { configOf, INVOICES, modelOf, openExported, remapOf, things } from './exported.js';

const CONFIG = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
const SCOPE = { models: [INVOICES], companies: [] };
const EXPORTED = { v3: things('1 a [11 x]; 2 b'), v4: things('9 a [19 x]; 8 z') };

function build(db: Db, config: Config) {
  return buildRemap({ ...plain(db, config), inputs: digestInputFiles(config) });
}

function plain(db: Db, config: Config) {
  return { db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} };
}

/** The staleness of a remap that was built with `CONFIG` for another configuration, and its code. */
function staleFor(config: Config, built = CONFIG): readonly [string[], string] {
  const { db, close } = openExported(built, EXPORTED);
  build(db, built);
  const result = [readStaleness(db, config), codeOf(() => assertUsableRemap(db, config))] as const;
  close();
  return result;
}

function codeOf(work: () => void): string {
  try {
    work();
    return 'usable';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

describe('a remap is stale', () => {
  const { backfill, companies } = CONFIG;
  const changes: readonly (readonly [string, Partial<Config>])[] = [
    ['companies.match', { companies: { ...companies, match: 'auto' } }],
    ['companies.include', { companies: { ...companies, include: [5n] } }],
    ['companies.exclude', { companies: { ...companies, exclude: [5n] } }],
    ['backfill.since', { backfill: { ...backfill, sinceMs: 0 } }],
    ['backfill.dateFields', { backfill: { ...backfill, dateFields: ['posted_date'] } }],
    [`models.${INVOICES}`, { models: [{ ...modelOf(INVOICES), children: [] }] }],
    [`models.${INVOICES}`, { models: [modelOf(INVOICES, 'others')] }],
    ['models.crm/stages', { models: [modelOf(INVOICES), modelOf('crm/stages')] }],
  ];
  it.each(changes)('once %s changed', (name, change) => {
    expect(staleFor({ ...CONFIG, ...change })).toEqual([[name], 'incomplete']);
  });

  it('by the days of a relative start, not by the time', () => {
    const relative = (sinceMs: number, days: number): Config => ({
      ...CONFIG,
      backfill: { ...backfill, sinceMs, days },
    });
    expect(staleFor(relative(5_000, 90), relative(0, 90))).toEqual([[], 'usable']);
    expect(staleFor(relative(0, 91), relative(0, 90))).toEqual([['backfill.days'], 'incomplete']);
  });

  it('once the content of a file that it names changed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
    const [pairs, decisions] = [join(folder, 'companies.csv'), join(folder, 'decisions.csv')];
    const config: Config = { ...CONFIG, companies: { ...companies, match: { file: pairs } }, decisions };
    writeFileSync(pairs, '');
    writeFileSync(decisions, '');
    const { db, close } = openExported(config, EXPORTED);
    build(db, config);
    expect(readStaleness(db, config)).toEqual([]);
    writeFileSync(decisions, '# changed');
    expect(readStaleness(db, config)).toHaveLength(1);
    writeFileSync(pairs, '# changed');
    expect(readStaleness(db, config)).toHaveLength(2);
    close();
  });

  it('once a decision that it took has expired', () => {
    const { db, close } = openExported(CONFIG, EXPORTED);
    const decision = { line: 2, model: INVOICES, path: '', region: 'default', v3CompanyId: 1n, v3SvcId: 2n };
    const until = (day: string) => [{ ...decision, v4SvcId: null, note: '', until: day }];
    remapOf(db, CONFIG, [], until('9999-01-01'));
    expect(readStaleness(db, CONFIG)).toEqual([]);
    buildRemap({ ...plain(db, CONFIG), decisions: until('1970-01-02') });
    expect(readStaleness(db, CONFIG)).toEqual(['decisions that have expired']);
    expect(codeOf(() => assertUsableRemap(db, CONFIG))).toBe('incomplete');
    // it says then that the decision has expired
    remapOf(db, CONFIG, [], until('1970-01-02'));
    expect(readStaleness(db, CONFIG)).toEqual([]);
    close();
  });

  it('once an export finished after it; then only readers that say so may use it', () => {
    const { db, close } = openExported(CONFIG, EXPORTED);
    expect(codeOf(() => assertUsableRemap(db, CONFIG))).toBe('incomplete');
    build(db, CONFIG);
    db.exec("insert or replace into meta(name, value) values ('export_seq', '7')");
    expect(findIncomplete(db, CONFIG).map(({ code }) => code)).toEqual(['remap_stale']);
    expect(codeOf(() => assertUsableRemap(db, CONFIG, { allowIncomplete: true }))).toBe('incomplete');
    expect(codeOf(() => assertUsableRemap(db, CONFIG, { allowStale: true }))).toBe('usable');
    close();
  });
});

describe('a remap of lists that were not read in full', () => {
  it('is refused unless the caller allows it', () => {
    const { db, close } = openExported(CONFIG, { ...EXPORTED, states: { [`v4 ${INVOICES} 1`]: 'failed' } });
    expect(build(db, CONFIG).isComplete).toBe(false);
    expect(codeOf(() => assertUsableRemap(db, CONFIG))).toBe('incomplete');
    expect(codeOf(() => assertUsableRemap(db, CONFIG, { allowIncomplete: true }))).toBe('usable');
    expect(findIncomplete(db, CONFIG).map(({ code }) => code)).toEqual(['stream_unfinished']);
    close();
  });
});

describe('there is nothing to compare', () => {
  it.each([
    ['no live V3 record', { v3: things('1 a deleted'), v4: things('9 a') }, 'no_v3_records'],
    ['no live V4 record', { v3: things('1 a'), v4: things('9 a deleted') }, 'no_v4_records'],
    ['no key of a model on both sides', { v3: things('1 a'), v4: things('9 b') }, 'no_common_key'],
    ['one key on both sides', EXPORTED, undefined],
    ['a key of companies that are not paired', { v3: things('1 a'), v4: things('9 a company=2') }, undefined],
  ])('with %s: %s', (_, exported, code) => {
    const { db, close } = openExported(CONFIG, exported);
    build(db, CONFIG);
    expect(findNotReady(db, CONFIG, SCOPE).map((blocker) => blocker.code)).toEqual(
      code === undefined ? [] : [code],
    );
    close();
  });
});

describe('the digest of a remap', () => {
  it('is the same for the same data, whenever and in whatever order they were found', () => {
    const digests = [EXPORTED, { v3: EXPORTED.v3.toReversed(), v4: EXPORTED.v4.toReversed() }].map(
      (exported) => {
        const { db, close } = openExported(CONFIG, exported);
        const digestAgain = () => {
          build(db, CONFIG);
          return db.prepare<[], string>('select sha256 from remap_run').pluck().get();
        };
        const both = [digestAgain(), digestAgain()];
        close();
        return both;
      },
    );
    expect(new Set(digests.flat()).size).toBe(1);
  });

  it.each([
    'update remap_row set v4_svc_id = 7 where v4_svc_id = 9',
    "update remap_group set status = 'deleted' where status = 'matched'",
    'delete from remap_row where v3_svc_id = 2',
    "update company set note = '[]x'",
    'update remap_day set count = count + 1',
    'update backfill_window set records = records + 1',
    'update exported_count set rejected = rejected + 1',
    'update remap_run set complete = 1 - complete',
    "insert into decision values (2, 'm', '', 'default', 1, 5, null, '', null, 'taken', null)",
  ])('shows %s', (sql) => {
    const { db, close } = openExported(CONFIG, EXPORTED);
    build(db, CONFIG);
    expect(() => verifyRemap(db)).not.toThrow();
    db.exec(sql);
    expect(codeOf(() => verifyRemap(db))).toBe('corrupt_database');
    close();
  });
});

describe('children and dates', () => {
  const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
  const page = (generation: string, objects: object[]) =>
    gzipSync(
      JSON.stringify(
        generation === 'v3' ? { data: objects, next: null } : { data: { data: objects, next: null } },
      ),
    );

  it('are read again from the stored pages once their settings changed', () => {
    const { db, close } = openExported(config, { v3: things('1 a'), v4: things('9 a') });
    const body = (id: number, kid: number) => ({
      svc_id: id,
      svc_company_id: 1,
      platform_id: 'a',
      due: '2020-05-05',
      lines: [
        { svc_id: kid, platform_id: 'x' },
        { svc_id: 'none', platform_id: 'y' },
      ],
    });
    for (const [generation, id, kid] of [
      ['v3', 1, 11],
      ['v4', 9, 19],
    ] as const) {
      db.prepare(
        'update page set body = ? where stream_id in (select r.stream_id from record as r cross join stream as s on s.id = r.stream_id where s.generation = ?)',
      ).run(page(generation, [body(id, kid)]), generation);
    }
    expect(remapOf(db, config)).toHaveLength(1);
    const changed: Config = {
      ...config,
      models: [{ ...modelOf(INVOICES), children: ['lines'] }],
      backfill: { sinceMs: null, dateFields: ['due'] },
    };
    const rows = remapOf(db, changed);
    expect(
      rows.map(({ path, v3_svc_id, v4_svc_id, status }) => [path, v3_svc_id, v4_svc_id, status]),
    ).toEqual([
      ['', 1n, 9n, 'matched'],
      ['lines', 11n, 19n, 'matched'],
    ]);
    expect(
      db.prepare('select distinct latest_ms from record where page_id is not null').pluck().all(),
    ).toEqual([BigInt(Date.parse('2020-05-05'))]);
    expect(db.prepare('select generation, path, reason, page from rejected order by 1').raw().all()).toEqual([
      ['v3', 'lines', 'bad_svc_id', 1n],
      ['v4', 'lines', 'bad_svc_id', 1n],
    ]);
    db.exec('update record set page_id = null');
    expect(codeOf(() => build(db, config))).toBe('other_configuration');
    expect(remapOf(db, changed)).toEqual(rows);
    close();
  });
});
