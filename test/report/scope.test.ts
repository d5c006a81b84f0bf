import { describe, expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import { renderText } from '../../src/report/render-text.js';
import type { WrittenReport } from '../../src/report/report-schema.js';
import { configOf, type Exported, modelOf } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { NOW, newIo, withDatabase } from './support.js';

/** Two regions, two models, three companies, one of them only in V4; ids repeat everywhere. */
const WIDE: Exported = {
  v3: [
    { id: 1, key: 'eu-1', region: 'eu', company: 5, facts: 'x=1' },
    { id: 2, key: 'eu-2', region: 'eu', company: 5 },
    { id: 1, key: 'us-1', region: 'us', company: 5, facts: 'x=2' },
    { id: 1, key: 'o-1', region: 'us', company: 6, model: 'payments/orders', facts: 'x=3' },
  ],
  v4: [
    { id: 10, key: 'eu-1', company: 50, facts: 'x=1' },
    { id: 11, key: 'eu-new', company: 50 },
    { id: 20, key: 'us-1', company: 60, facts: 'x=2' },
    { id: 30, key: 'o-1', company: 70, model: 'payments/orders', facts: 'x=3' },
    { id: 40, key: 'lost', company: 80 },
  ],
};
const ZERO = { kind: 'count', count: 0 } as const;
const SETUP = {
  regions: ['eu', 'us'],
  models: [modelOf('accounting/invoices'), modelOf('payments/orders')],
};

/** Who has how many: `5 eu → 50: 1 matched 1 unmatched 1 v4_only`. */
function describeCompanies({ companies }: WrittenReport): string[] {
  return companies.map((company) => {
    const counts = Object.entries(company.byStatus).filter(([, n]) => n > 0);
    return `${company.v3CompanyId} ${company.region} → ${company.v4CompanyId}: ${counts.map(([status, n]) => `${n} ${status}`).join(' ')}`;
  });
}

describe('the scope of a report', () => {
  it('is everything by default, each company with its pair', async () => {
    await withDatabase(WIDE, SETUP, async ({ report }) => {
      const all = await report();
      expect(describeCompanies(all)).toEqual([
        '5 eu → 50: 1 matched 1 unmatched 1 v4_only',
        '5 us → 60: 1 matched',
        '6 us → 70: 1 matched',
        'null null → 80: 1 v4_only',
      ]);
      expect(all.models.map(({ model, v3Records, v4Records }) => [model, v3Records, v4Records])).toEqual([
        ['accounting/invoices', 3, 4],
        ['payments/orders', 1, 1],
      ]);
    });
  });

  it('narrows to models everywhere', async () => {
    await withDatabase(WIDE, SETUP, async ({ report }) => {
      const one = await report({ models: ['payments/orders'], companies: null });
      expect(one.models.map(({ model }) => model)).toEqual(['payments/orders']);
      expect(one.totals.byStatus).toEqual({ matched: 1, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 });
      expect(one.outcome).toBe('pass');
      expect(one.findings).toMatchObject({ total: 0, samples: [] });
      expect(new Set(one.completeness.map(({ model }) => model))).toEqual(new Set(['payments/orders']));
      expect(one.cannotSee.map(({ code }) => code)).toContain('narrowed_scope');
      expect(one.scope).toEqual({ models: ['payments/orders'], companies: null });
    });
  });

  it('says that its lists are read, and that a company without a pair needs the others too', async () => {
    const unpaired = { id: 9, key: 'alone', region: 'us', company: 9, facts: 'x=9' };
    const states = { 'v4 payments/orders 70': 'failed' } as const;
    await withDatabase({ ...WIDE, v3: [...WIDE.v3, unpaired], states }, SETUP, async ({ report }) => {
      const invoices = await report({ models: ['accounting/invoices'], companies: null });
      const text = renderText(invoices, { width: 300, color: false });
      expect(text).toMatch(
        /\n(\d+) of \1 lists of this selection read completely\. That a company has no pair is known once all others/,
      );
    });
  });

  it('narrows to V3 companies, with the V4-only rows of their pairs', async () => {
    await withDatabase(WIDE, SETUP, async ({ report }) => {
      const one = await report({ models: null, companies: [5n] });
      expect(describeCompanies(one)).toEqual([
        '5 eu → 50: 1 matched 1 unmatched 1 v4_only',
        '5 us → 60: 1 matched',
      ]);
      expect(one.totals).toMatchObject({ v3Records: 3, v4Records: 3 });
      expect(one.findings.samples.map((row) => row.v4_svc_id)).toEqual([null, '11']);
      const streams = one.completeness.filter(({ generation }) => generation === 'v4');
      expect(new Set(streams.map(({ companyId }) => companyId))).toEqual(new Set(['50', '60']));
    });
  });

  it('keeps the limits of other models out', async () => {
    const limits = { global: {}, models: { 'accounting/invoices': { deleted: ZERO } } };
    await withDatabase(WIDE, { ...SETUP, limits }, async ({ report }) => {
      const named = async (models: readonly string[]) =>
        (await report({ models, companies: null })).gate.limits.map(({ model }) => model);
      expect(await named(['payments/orders'])).not.toContain('accounting/invoices');
      expect(await named(['accounting/invoices'])).toContain('accounting/invoices');
    });
  });

  it('is of configured models only', async () => {
    await withDatabase(WIDE, SETUP, async ({ config, report }) => {
      Object.assign(config, { models: [modelOf('payments/orders')] });
      const { models, totals } = await report();
      expect([models.map(({ model }) => model), totals.v3Records]).toEqual([['payments/orders'], 1]);
    });
  });

  it('takes V4 for filled where another company has records, and for unknown where they were not read', async () => {
    const exported: Exported = { v3: [...WIDE.v3, { id: 9, region: 'eu', company: 9 }], v4: WIDE.v4 };
    await withDatabase(exported, SETUP, async ({ report, write }) => {
      const codes = async () =>
        (await report({ models: null, companies: [9n] })).blockers.map(({ code }) => code);
      expect(await codes()).toEqual(['no_common_key']);
      write((db) => db.exec("UPDATE stream SET state = 'failed' WHERE generation = 'v4'"));
      expect(await codes()).toEqual(['stream_unfinished']);
    });
  });

  it('keeps the streams of other companies out of the verdict of one', async () => {
    await withDatabase(WIDE, SETUP, async ({ report, write }) => {
      write((db) =>
        db.exec("UPDATE stream SET state = 'failed' WHERE generation = 'v4' AND company_id = 80"),
      );
      expect((await report({ models: null, companies: [6n] })).outcome).toBe('pass');
      expect((await report()).outcome).toBe('incomplete');
    });
  });
});

it('short lists are added up', async () => {
  await withDatabase(WIDE, SETUP, async ({ report, write }) => {
    write((db) => db.exec("UPDATE stream SET state = 'short' WHERE generation = 'v3'"));
    const short = (await report()).gate.limits.find(({ name }) => name === 'short');
    expect(short).toMatchObject({ actual: 4, pass: false });
  });
});

describe('rejected objects', () => {
  it('count for their model and company, and fail the gate', async () => {
    await withDatabase(WIDE, SETUP, async ({ report, write, remap }) => {
      write((db) =>
        db.exec(`
          INSERT INTO rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id) VALUES
            ('v3', 'us', 'payments/orders', NULL, 1, 0, '', 'no_svc_id', '{}', 1),
            ('v4', '', 'payments/orders', 70, 1, 0, '', 'no_svc_id', '{}', 2);
          UPDATE stream SET rejected = 1 WHERE id IN (1, 2)`),
      );
      remap();
      const all = await report();
      expect(all.totals.rejected).toBe(2);
      expect(all.models.map(({ rejected }) => rejected)).toEqual([0, 2]);
      expect(all.companies.map(({ rejected }) => rejected)).toEqual([0, 0, 1, 0]);
      expect(all.gate.limits.find(({ name }) => name === 'rejected')).toMatchObject({
        actual: 2,
        pass: false,
      });
      expect((await report({ models: ['payments/orders'], companies: [5n] })).totals.rejected).toBe(1);
    });
  });
});

describe('what the check cannot see', () => {
  const codes = (report: WrittenReport) => report.cannotSee.map(({ code }) => code);
  const always = ['nested_objects', 'ghosts', 'shared_platform_id', 'after_the_export', 'drift_not_measured'];
  const backfill = { sinceMs: 0, dateFields: [] };
  const { v3: V3, v4: V4 } = configOf();
  const plain: Exported = { v3: [{ id: 1, facts: 'x=1' }], v4: [{ id: 2, key: 'k1', facts: 'x=1' }] };

  const cases: [string, string, object, string[]][] = [
    ['only what no run sees, in the best case', '', { backfill }, []],
    ['an inferred window', '', {}, ['inferred_window']],
    [
      'V3 was read in full, and what changed meanwhile',
      `UPDATE stream SET position = '{"phase":"sweep"}' WHERE generation = 'v3'`,
      { backfill },
      [],
    ],
    [
      'V3 was topped up',
      `UPDATE stream SET position = '{"phase":"sweep","toppedUp":true}' WHERE generation = 'v3'`,
      { backfill },
      ['v3_vanished'],
    ],
    ['a short list', "UPDATE stream SET state = 'short' WHERE id = 2", { backfill }, ['short_lists']],
    ['an absent V3 model', "UPDATE stream SET state = 'absent' WHERE id = 1", { backfill }, ['absent_in_v3']],
    [
      'no deleted record of V4',
      "UPDATE exported_count SET deleted = 1 WHERE generation = 'v3'",
      { backfill },
      ['v4_deleted_not_shown'],
    ],
    [
      'a guessed name that V4 does not know',
      "UPDATE stream SET state = 'absent' WHERE id = 2",
      { backfill, models: [{ ...modelOf('accounting/invoices'), v4Guessed: true }] },
      ['guessed_model_names'],
    ],
    [
      'companies paired by equal ids',
      '',
      { backfill, companies: { match: 'same_id', include: [], exclude: [] } },
      ['same_id_trusted'],
    ],
    [
      'companies paired by a file',
      '',
      { backfill, companies: { match: { file: 'companies.csv' }, include: [], exclude: [] } },
      ['file_trusted'],
    ],
    [
      'left out companies',
      '',
      { backfill, companies: { match: 'auto', include: [], exclude: [9n] } },
      ['narrowed_scope'],
    ],
    [
      'chosen companies',
      '',
      { backfill, companies: { match: 'auto', include: [1n], exclude: [] } },
      ['narrowed_scope'],
    ],
    ['named companies of V3', '', { backfill, v3: { ...V3, companies: [1n] } }, ['narrowed_scope']],
    ['named companies of V4', '', { backfill, v4: { ...V4, companies: [1n] } }, ['narrowed_scope']],
    [
      'that V4 was not asked for deleted records',
      '',
      { backfill, v4: { ...V4, includeDeleted: false } },
      ['v4_deleted_not_asked'],
    ],
    ['rejected objects', 'UPDATE exported_count SET rejected = 1', { backfill }, ['rejected_objects']],
  ];
  it.each(cases)('names %s', async (_, sql, setup, expected) => {
    await withDatabase(plain, setup, async ({ report, write }) => {
      write((db) => db.exec(sql));
      expect(codes(await report()).filter((code) => !always.includes(code))).toEqual(expected);
      expect(codes(await report())).toEqual(expect.arrayContaining(always));
    });
  });
});

describe('samples', () => {
  it('are at most five of each kind and model, in the order of the remap', async () => {
    const many: Exported = {
      v3: [
        ...Array.from({ length: 20 }, (_, at) => ({ id: at + 1, key: `a${at}` })),
        ...Array.from({ length: 3 }, (_, at) => ({ id: at + 50, key: null })),
        { id: 99, key: 'k', facts: 'x=1' },
      ],
      v4: [{ id: 1, key: 'k', facts: 'x=1' }],
    };
    await withDatabase(many, {}, async ({ report }) => {
      const { samples, total } = (await report()).findings;
      const ids = (reason: string) =>
        samples.filter((row) => row.reason === reason).map((row) => row.v3_svc_id);
      expect(total).toBe(23);
      expect(ids('unexplained')).toEqual(['1', '2', '3', '4', '5']);
      expect(ids('no_platform_id')).toEqual(['50', '51', '52']);
    });
  });
});

describe('a company that no record belongs to', () => {
  it('is a usage error for report, check and dump, with the nearest one named', async () => {
    await withDatabase(WIDE, SETUP, async ({ config }) => {
      const io = () => newIo({ clock: { now: () => NOW } });
      const unknown = { config, companies: [7n] };
      const refused = { code: 'usage', message: 'The remap holds no company 7.' };
      await expect(runNamed('report', givenOf(config, { company: ['7'] }), io())).rejects.toMatchObject(
        refused,
      );
      await expect(judgeRemap({ ...unknown, outputs: {} }, io())).rejects.toMatchObject(refused);
      await expect(
        runNamed('dump', givenOf(config, { company: ['7'], allowIncomplete: true }), io()),
      ).rejects.toMatchObject(refused);
      // A V4 company without a pair can be asked for by its own id.
      expect(await runNamed('report', givenOf(config, { company: ['5', '80'] }), io())).toBe(0);
    });
  });
});
