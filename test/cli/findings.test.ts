import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { DECISIONS_HEADER, parseCompanies, parseDecisions } from '../../src/config/user-files.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { writeMeta } from '../../src/store/meta.js';
import { openDatabase } from '../../src/store/open.js';
import { EVERYTHING } from '../../src/store/remap-rows.js';
import { readDecisionCounts } from '../../src/store/remap-tables.js';
import { newIo, type TestDatabase, withDatabase } from '../report/support.js';
import { configOf, type Exported, INVOICES } from '../support/exported.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';
import { allowEdits } from '../support/remap-edits.js';

const SAME_ID = { companies: { match: 'same_id', include: [], exclude: [] } } as const;
/** Breaks out of a comment, out of a cell, and into a formula where it is not escaped. */
const HOSTILE = 'a,=1+1;=2\n"x"\r\naccounting/invoices,,default,1,1,11,\u001b[31m\u202e';

const SCENE: Exported = {
  v3: [
    { id: 1, key: HOSTILE, latest: '2026-10-01T00:00:00Z', kids: [{ id: 101, key: 'x' }] },
    { id: 2, key: 'b', uid: 'u' },
    { id: 3, key: 'c', kids: [{ id: 103, key: 'k' }] },
    { id: 4, key: 'd' },
    { id: 5, key: 'e', deleted: true },
    { id: 6, key: 'n', company: 2 },
  ],
  v4: [
    { id: 11, key: HOSTILE, latest: '2026-10-01T00:00:00Z' },
    { id: 12, key: HOSTILE, deleted: false, uid: 'one' },
    { id: 20, key: 'B', uid: 'u' },
    {
      id: 30,
      key: 'c',
      kids: [
        { id: 131, key: 'k' },
        { id: 132, key: 'k' },
      ],
    },
    { id: 40, key: 'only V4' },
  ],
};

function run(config: Config, more: OptionValues = {}, width = 80, verbose = false) {
  const io = newIo({ width, verbose });
  return runNamed('findings', givenOf(config, more), io).then((code) => ({
    code,
    out: io.stdout.text,
    err: io.stderr.text,
  }));
}

const withScene = <T>(work: (database: TestDatabase) => Promise<T>) => withDatabase(SCENE, SAME_ID, work);
const namesIn = (out: string) => out.match(/^ {2}accounting\S+( line_items)? V[34] \d+.*$/gm) ?? [];

const FILTERS: readonly (readonly [name: string, more: OptionValues, ids: readonly string[]])[] = [
  ['a status', { status: ['ambiguous'] }, ['1', '103', '11', '12', '131', '132']],
  ['a reason', { reason: ['duplicate_platform_id_v4'] }, ['1', '103', '11', '12', '131', '132']],
  ['only the parent_ form', { reason: ['parent_duplicate_platform_id_v4'] }, ['101']],
  ['two reasons', { reason: ['key_changed', 'company_not_in_v4'] }, ['2', '6', '20']],
  ['a status and a reason', { status: ['v4_only'], reason: ['key_changed'] }, ['20']],
  ['a company', { company: ['2'] }, ['6']],
];

describe('findings', () => {
  it('lists what is not matched, with place, candidates and meaning', () =>
    withScene(async ({ config }) => {
      const { code, out, err } = await run(config);
      expect([code, err]).toEqual([0, '']);
      expect(out).toMatch(
        /^Likely twin has another platform_id \(unmatched\/key_changed\)\n {2}A record[\s\S]*?\n {2}accounting\/invoices V3 2: company 1 in default, platform_id b; V4 candidates\n {2}20$/m,
      );
      expect(out.match(/unmatched\/key_changed/g)).toHaveLength(1);
      expect(out).toMatch(/\nNext: svc-migrate findings --write-decisions decisions-draft\.csv\n$/);
      expect(out).not.toContain('\u001b');
      expect(out).toMatch(
        /^12 findings\.\nWith 1 line item of these records, which --verbose lists, 13 ids of V3 or V4 are\nfindings\.$/m,
      );
    }));

  it.each(FILTERS)('narrows to %s', (_, more, ids) =>
    withScene(async ({ config }) => {
      const { out } = await run(config, more);
      const found = namesIn(out).map((line) => /V[34] (\d+)/.exec(line)?.[1]);
      expect(found.sort()).toEqual([...ids].sort());
    }),
  );

  it('shows as many as asked, and then counts all of their reasons', () =>
    withScene(async ({ config }) => {
      const { out } = await run(config, { limit: '2' });
      expect(namesIn(out)).toHaveLength(2);
      expect(out).toMatch(/^2 of 12 findings shown\.\nWith 1 line item of these records, which/m);
      expect(out).toMatch(
        /^ {2}Several V4 records share its platform_id \(ambiguous\/duplicate_platform_id_v4\)\n {4}1 V3 record with 1 line item, 1 other V3 line item; 2 V4 records, 2 other V4\n {4}line items$/m,
      );
      expect(out).toMatch(/^ {2}and \d+ other reasons: svc-migrate report counts all$/m);
      expect(namesIn((await run(config, { limit: '0' })).out)).toHaveLength(12);
    }));

  it('writes every finding as NDJSON, ids as text', () =>
    withScene(async ({ config, folder }) => {
      const { out } = await run(config, { json: '-' });
      const rows = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(rows).toHaveLength(13);
      expect(rows[0]).toMatchObject({ v3_svc_id: '1', platform_id: HOSTILE, status: 'ambiguous' });
      expect((await run(config, { json: '-', limit: '2' })).out.split('\n')).toHaveLength(3);
      await run(config, { json: join(folder, 'f.ndjson') });
      expect(readFileSync(join(folder, 'f.ndjson'), 'utf8')).toBe(out);
    }));

  it.each([
    ['reason', { reason: ['key_change'] }, 'Did you mean "key_changed"?'],
    ['status', { status: ['unmatchd'] }, 'Did you mean "unmatched"?'],
    ['status among findings', { status: ['matched'] }, 'Did you mean "unmatched"?'],
    ['company', { company: ['3'] }, 'Did you mean "1"?'],
  ])('refuses an unknown %s', (_, more, hint) =>
    withScene(async ({ config }) => {
      await expect(run(config, more)).rejects.toMatchObject({ code: 'usage', hint });
    }),
  );

  it('answers from a stale remap with a warning, and not at all without one', () =>
    withScene(async ({ config, write }) => {
      write((db) => writeMeta(db, 'export_seq', '9'));
      const { out, err } = await run(config);
      expect([out.includes('12 findings'), err]).toEqual([
        true,
        expect.stringContaining('svc-migrate remap'),
      ]);
      write((db) =>
        db.exec(
          'DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day',
        ),
      );
      await expect(run(config)).rejects.toMatchObject({ code: 'incomplete' });
    }));

  it('never answers from a remap that was altered', () =>
    withScene(async ({ config }) => {
      const db = openDatabase(config.database, 'write');
      allowEdits(db);
      db.exec("UPDATE remap_entry SET status = 'matched' WHERE v3_svc_id = 4");
      db.close();
      await expect(run(config)).rejects.toMatchObject({ code: 'corrupt_database' });
    }));
});

describe('a draft of decisions', () => {
  const places = { models: configOf().models, regions: ['default'] };
  const draftOf = async (config: Config, file: string) => {
    await run(config, { writeDecisions: file });
    return readFileSync(file, 'utf8');
  };

  it('decides nothing as it is, and stays one comment whatever a platform_id holds', () =>
    withScene(async ({ config, folder }) => {
      const draft = await draftOf(config, join(folder, 'd.csv'));
      expect(parseDecisions(draft, places)).toEqual({ rows: [], problems: [] });
      const [header, ...lines] = draft.trimEnd().split('\n');
      expect([header, lines.filter((line) => !line.startsWith('#'))]).toEqual([DECISIONS_HEADER, []]);
      const notes = lines.filter((line) => !line.startsWith(`#${INVOICES}`));
      expect(notes.filter((line) => /[,\u001b\u202e\r]/.test(line) || line.slice(3).includes(';='))).toEqual(
        [],
      );
      expect(statSync(join(folder, 'd.csv')).mode & 0o777).toBe(0o600);
    }));

  it('has a line for each ambiguous and key_changed V3 id, whose candidates can all be taken', () =>
    withScene(async ({ config, folder, write }) => {
      const draft = await draftOf(config, join(folder, 'd.csv'));
      expect(draft.match(/^#accounting.*$/gm)).toEqual([
        '#accounting/invoices,,default,1,1,?,',
        '#accounting/invoices,,default,1,2,?,',
        '#accounting/invoices,line_items,default,1,103,?,',
      ]);
      const answered = draft.replace(
        /^#( {3}V4 (\d+).*\n(?:#.*\n)*?)#(accounting.*)\?,$/gm,
        '#$1$3$2,"yes, ""so"""',
      );
      const { rows: decisions, problems } = parseDecisions(answered, places);
      expect([problems, decisions.map(({ v4SvcId, note }) => [v4SvcId, note])]).toEqual([
        [],
        [11n, 20n, 131n].map((id) => [id, 'yes, "so"']),
      ]);
      write((db) => {
        buildRemap({ db, config, named: [], decisions, clock: { now: () => 0 }, onProgress: () => {} });
        expect(readDecisionCounts(db, EVERYTHING, 0)).toEqual([{ model: INVOICES, outcome: 'taken', n: 3n }]);
      });
      expect((await draftOf(config, join(folder, 'again.csv'))).match(/^#accounting.*$/gm)).toBeNull();
    }));

  it('says of which candidates another V3 id is the twin', () => {
    const v3 = ['u', 'w'].map((uid, at) => ({ id: at + 1, key: 'a', uid, facts: 'x=1' }));
    return withDatabase({ v3, v4: [{ id: 9, key: 'a', uid: 'u', facts: 'x=1' }] }, {}, async (scene) => {
      const draft = await draftOf(scene.config, join(scene.folder, 'd.csv'));
      expect(draft).toMatch(
        /^# {3}V4 9 \|.*\| V3 1 became it: cannot be decided\n#accounting\/invoices,,default,1,2,\?,$/m,
      );
    });
  });

  it('prints the beginning of a long platform_id', () =>
    withDatabase(
      { v3: [{ id: 1, key: 'k'.repeat(10_000) }], v4: [{ id: 2, key: 'b' }] },
      SAME_ID,
      async (scene) => {
        expect((await run(scene.config, { reason: ['unexplained'] })).out).toMatch(
          / V3 1: .* platform_id\s+k[k\s]{1,250}…\n/,
        );
      },
    ));

  it('leads on from an id that is deleted in V3, about which no decision is taken', () => {
    const v4 = [8, 9].map((id) => ({ id, key: 'a', facts: 'x=1' }));
    const v3 = [{ id: 1, key: 'a', deleted: true, facts: 'x=1' }];
    return withDatabase({ v3, v4 }, SAME_ID, async ({ config, folder }) => {
      const file = join(folder, 'd.csv');
      const { err } = await run(config, { writeDecisions: file });
      expect(err.replace(/\s+/g, ' ')).toContain(
        '0 V3 ids to decide. Deleted in V3, so not to be decided: 1 amb',
      );
      expect(readFileSync(file, 'utf8')).toContain('cannot be decided; a limit accepts it');
      const io = newIo();
      await runNamed('explain', givenOf(config, {}, [INVOICES, '1']), io);
      expect(io.stdout.text.replace(/\s+/g, ' ')).toContain('a count for "ambiguous" in "limits" accepts it');
    });
  });

  it('is refused by the file reader where a ? is left in', () =>
    withScene(async ({ config, folder }) => {
      const draft = await draftOf(config, join(folder, 'd.csv'));
      expect(parseDecisions(draft.replaceAll('#accounting', 'accounting'), places).problems).toHaveLength(3);
    }));

  it('replaces no file without --force, and never the decisions in use', () =>
    withScene(async ({ config, folder }) => {
      const file = join(folder, 'd.csv');
      writeFileSync(file, 'mine');
      await expect(run(config, { writeDecisions: file })).rejects.toMatchObject({ code: 'usage' });
      expect(readFileSync(file, 'utf8')).toBe('mine');
      const inUse = { ...config, decisions: file };
      await expect(run(inUse, { writeDecisions: file, force: true })).rejects.toMatchObject({
        code: 'usage',
      });
      await expect(run(config, { writeDecisions: '-' })).rejects.toMatchObject({ code: 'usage' });
      await run(config, { writeDecisions: file, force: true });
      expect(readFileSync(file, 'utf8')).toContain(DECISIONS_HEADER);
    }));
});

describe('a draft of companies', () => {
  it('names each ambiguous company with its candidates, commented out', () => {
    const facts = (key: number) => ({ id: key, key: `k${key}`, facts: `n=${key}` });
    const keys = Array.from({ length: 4 }, (_, at) => at + 1);
    const exported: Exported = {
      v3: keys.map(facts),
      v4: [10, 20].flatMap((company) => keys.map((key) => ({ ...facts(key), company }))),
    };
    return withDatabase(exported, {}, async ({ config, folder }) => {
      const db = openDatabase(config.database, 'read');
      const ambiguous = db
        .prepare("SELECT count(*) FROM company WHERE matched_by = 'ambiguous' AND v3_company_id = 1")
        .pluck()
        .get();
      db.close();
      expect(ambiguous).toBe(1n);
      const file = join(folder, 'companies.csv');
      const { err } = await run(config, { writeCompanies: file });
      const draft = readFileSync(file, 'utf8');
      expect(err).toContain(`Wrote ${file}: 1 V3 company to pair.\n`);
      expect(parseCompanies(draft, ['default'])).toEqual({ rows: [], problems: [] });
      expect(draft).toMatch(/^# {3}V4 company 10 \| shared keys 4 \| comparable keys 4 \| agreeing keys 4$/m);
      const answered = draft.replace('#default,1,?', 'default,1,20');
      expect(parseCompanies(answered, ['default']).rows).toEqual([
        { line: expect.any(Number), region: 'default', v3CompanyId: 1n, v4CompanyId: 20n },
      ]);
    });
  });
});
