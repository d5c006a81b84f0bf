import { describe, expect, it } from 'vitest';
import { SvcError } from '../../../src/errors.js';
import { judgeFindings, note, type ProblemCode, problem } from '../../../src/inspect/doctor/check.js';
import { checkClocks, checkV3 } from '../../../src/inspect/doctor/check-hosts.js';
import { checkConfig, checkDisk, checkProgram } from '../../../src/inspect/doctor/check-machine.js';
import { checkModels, checkV4, correctNames, nearNames } from '../../../src/inspect/doctor/check-models.js';
import {
  judgeDeleted,
  judgeDeletedParameter,
  judgeEq,
  judgeGte,
  judgeSelect,
  judgeSort,
} from '../../../src/inspect/doctor/check-parameters.js';
import { CHECKS, runChecks } from '../../../src/inspect/doctor/checks.js';
import type {
  ListAnswer,
  ListContent,
  SampledHost,
  SampledRecord,
  SampledV4,
} from '../../../src/inspect/doctor/sample-lists.js';
import { configOf, modelOf } from '../../support/exported.js';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-01T00:00:00Z');

function record(svcId: number, more: Partial<SampledRecord> = {}): SampledRecord {
  const usual = { companyId: 1n, platformId: `k${svcId}`, deleted: false, createdMs: svcId };
  return { svcId: BigInt(svcId), fieldDigests: '', hasHash: false, ...usual, ...more };
}

function answers(records: readonly SampledRecord[], more: Partial<ListContent> = {}): ListContent {
  return {
    kind: 'answers',
    records,
    rejected: 0,
    totalCount: records.length,
    hasMore: false,
    bytes: 0,
    missing: [],
    ...more,
  };
}

const NONE = answers([]);
const ABSENT: ListAnswer = { kind: 'absent' };
const REFUSED: ListAnswer = { kind: 'refused', error: new SvcError('http_status', '400') };
const FAILED: ListAnswer = { kind: 'failed', error: new SvcError('network', 'down') };
const [A, B] = [record(1), record(2)];
const GONE = record(3, { deleted: true });
const HASHED = record(4, { hasHash: true });

describe('a parameter is judged by the answers with and without it', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['deleted ones appear', judgeDeleted(answers([A]), answers([A, GONE])), 'honoured'],
    ['deleted ones were there before', judgeDeleted(answers([A, GONE]), answers([A, GONE])), 'always'],
    ['no deleted one either way', judgeDeleted(answers([A]), answers([A])), 'unknown'],
    ['include_deleted_records is refused', judgeDeleted(answers([A]), REFUSED), 'refused'],
    ['the question is lost', judgeDeleted(answers([A]), FAILED), 'unknown'],
    ['eq shows the one key', judgeEq('k1', true, answers([A])), 'honoured'],
    ['eq shows the only key there is', judgeEq('k1', false, answers([A])), 'unknown'],
    ['eq shows other keys', judgeEq('k1', true, answers([A, B])), 'ignored'],
    ['eq shows nothing', judgeEq('k1', true, NONE), 'unknown'],
    ['gte in the far future shows records', judgeGte(answers([A]), null), 'ignored'],
    ['gte shows none late and some early', judgeGte(NONE, answers([A])), 'honoured'],
    ['gte shows nothing at all', judgeGte(NONE, NONE), 'unknown'],
    ['gte is refused', judgeGte(REFUSED, null), 'refused'],
    ['sort turns the list around', judgeSort(answers([A, B]), answers([B, A])), 'honoured'],
    ['sort changes nothing', judgeSort(answers([A, B]), answers([A, B])), 'ignored'],
    ['sort cannot show in one record', judgeSort(answers([A]), answers([A])), 'unknown'],
    [
      'sort cannot show where all dates are equal',
      judgeSort(answers([A, record(2, { createdMs: 1 })]), answers([A, record(2, { createdMs: 1 })])),
      'unknown',
    ],
    ['sort gives another wrong order', judgeSort(answers([B, A]), answers([A, B])), 'unknown'],
    ['sort is refused one way', judgeSort(REFUSED, answers([A])), 'refused'],
    ['the hash comes when asked for', judgeSelect(answers([A]), answers([HASHED])), 'honoured'],
    ['the hash does not come', judgeSelect(answers([A]), answers([A])), 'ignored'],
    ['the hash comes unasked', judgeSelect(answers([HASHED]), answers([HASHED])), 'always'],
    ['nothing comes', judgeSelect(answers([A]), NONE), 'unknown'],
  ];
  it.each(cases)('%s', (_, verdict, expected) => expect(verdict).toBe(expected));
});

describe('a refused include_deleted_records', () => {
  const cases: readonly (readonly [string, 'auto' | boolean, boolean, string])[] = [
    ['is gone without where it is named', 'auto', true, 'note'],
    ['would end an export where it is not named', 'auto', false, 'problem'],
    ['is no matter where it is not asked for', false, false, 'note'],
    ['must not be insisted on', true, true, 'problem'],
  ];
  it.each(cases)('%s', (_, includeDeleted, refusesDeletedByName, level) => {
    const effect = { effect: 'refused', refusesDeletedByName } as const;
    const finding = judgeDeletedParameter(effect, includeDeleted);
    expect(finding.level).toBe(level);
  });
});

describe('of several problems', () => {
  const cases: readonly (readonly [readonly ProblemCode[], number])[] = [
    [[], 0],
    [[5], 5],
    [[5, 4], 4],
    [[4, 6, 5], 6],
    [[6, 2], 2],
    [[2, 3, 4, 5, 6], 3],
  ];
  it.each(cases)('%j is exit code %i', (codes, expected) => {
    const problems = codes.map((code) => problem('x', code, 'text', 'fix'));
    expect(judgeFindings([note('y', 'text'), ...problems])).toBe(expected);
  });
});

describe('names near to one that V4 does not know', () => {
  const none = new Set<string>();
  it('begin with what was meant, and leave out what other models have', () => {
    expect(nearNames(modelOf('accounting/invoices', 'invoice'), none)[0]).toBe('invoices');
    expect(nearNames(modelOf('accounting/invoices', 'invocies'), none)[0]).toBe('invoices');
    const items = nearNames(modelOf('payments/items', 'item'), none);
    expect(items).toEqual(
      expect.arrayContaining(['items', 'payment_items', 'payments_items', 'payment-items', 'paymentItems']),
    );
    expect(nearNames(modelOf('payments/items', 'item'), new Set(['items']))).not.toContain('items');
    for (const names of [items, nearNames(modelOf('crm/companies', 'companys'), none)]) {
      expect(names.length).toBeLessThanOrEqual(10);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

const MODELS = ['payments/orders', 'ecommerce/orders', 'crm/stages'];

describe('a V4 name is written', () => {
  const cases: readonly (readonly [
    string,
    Readonly<Record<string, readonly string[]>>,
    Record<string, unknown>,
  ])[] = [
    ['where it alone answers', { 'crm/stages': ['crm_stages'] }, { 'crm/stages': 'crm_stages' }],
    ['not where several answer', { 'crm/stages': ['stage', 'crm_stages'] }, {}],
    ['not where it fits two models', { 'payments/orders': ['orders'], 'ecommerce/orders': ['orders'] }, {}],
    [
      'not for either of two models that one of several names fits',
      { 'payments/orders': ['orders', 'payments_orders'], 'ecommerce/orders': ['orders'] },
      {},
    ],
    [
      'where others have the other names',
      { 'payments/orders': ['wrong_crm/stages', 'pay_orders'] },
      { 'payments/orders': 'pay_orders' },
    ],
  ];
  it.each(cases)('%s', (_, suggestions, written) => {
    const models = MODELS.map((v3) => modelOf(v3, `wrong_${v3}`));
    const corrections = correctNames({ models }, [], new Map(Object.entries(suggestions)));
    const names = corrections.map(({ path, value }) => [MODELS[Number(path[1])], value]);
    expect(Object.fromEntries(names)).toEqual(written);
  });
});

const full = configOf();
const pair = modelOf('accounting/invoices');

function v3With(...answered: readonly ListAnswer[]): SampledHost {
  const [endpoint] = full.v3.regions;
  if (endpoint === undefined) throw new Error('no region');
  const lists = answered.map((answer) => ({ region: 'default', companyId: null, pair, answer }));
  return { label: 'V3', generation: 'v3', endpoint, error: null, answered: true, lists };
}

/** V4 with a number of companies, of which those with answers were asked. */
function v4With(companies: number, ...answered: readonly ListAnswer[]): SampledV4 {
  const lists = answered.map((answer, at) => ({ region: '', companyId: BigInt(at), pair, answer }));
  return {
    ...v3With(),
    ...{ label: 'V4', generation: 'v4', endpoint: full.v4, lists },
    companies: Array.from({ length: companies }, (_, at) => BigInt(at)),
    asked: lists.map(({ companyId }) => companyId),
  };
}

describe('clocks', () => {
  const minutes = (n: number) => n * 60_000;
  const cases: readonly (readonly [string, number | null, string | undefined])[] = [
    ['agree within a minute', 59_000, 'ok'],
    ['are told to be off', minutes(2), 'warning'],
    ['ahead by hours hide nothing', minutes(180), 'warning'],
    ['behind by hours hide nothing: sweeps go by the time of the service', -minutes(180), 'warning'],
    ['that are not told are not judged', null, undefined],
  ];
  it.each(cases)('%s', (_, clockOffsetMs, level) => {
    const state = {
      generation: 'v3',
      region: 'default',
      requests: 1,
      clockOffsetMs,
      proxy: null,
      host: '',
      retries: 0,
    } as const;
    const checked = checkClocks({ v3: [v3With()], v4: v4With(0), endpoints: () => [state] });
    expect(checked[0]?.level).toBe(level);
  });
});

describe('the disk', () => {
  const list = (totalCount: number) => answers([record(1), record(2)], { totalCount, bytes: 2000 });
  const judge = (companies: number, config = full, totalCount = 1000) =>
    checkDisk({ config, v3: [v3With(list(totalCount))], v4: v4With(companies, list(totalCount)) })[0];

  it('is compared with an estimate from counts and samples, V4 companies not asked counted in', () => {
    expect(judge(1)?.text).toMatch(/^About 1\.5 MiB for 2,000 records/);
    expect(judge(9)?.text).toMatch(/ for 10,000 records/);
    expect(judge(1, { ...full, payload: 'ids' })?.text).toMatch(/^About 781 KiB for 2,000/);
  });

  it('is a problem where it is too small', () => {
    expect([judge(1)?.level, judge(1, full, 1e13)?.code]).toEqual(['ok', 'disk_full']);
  });
});

describe('lists', () => {
  it.each([
    [
      'nothing in it can be read',
      answers([], { rejected: 5, totalCount: 5 }),
      ['v3_lists', 'no_record_readable'],
    ],
    ['some cannot', answers([A], { rejected: 5 }), ['v3_lists', 'objects_rejected']],
    ['it is empty', NONE, ['v3_empty']],
    ['it is not there', ABSENT, ['v3_absent']],
  ])('of V3 where %s', async (_, answer, codes) => {
    const findings = await checkV3({
      v3: [v3With(answer)],
      askAt: (_endpoint, work) => work(() => Promise.resolve(ABSENT)),
    });
    expect(findings.map(({ code }) => code)).toEqual(codes);
  });

  it.each([
    [
      'lacks in some companies',
      [answers([A]), ABSENT],
      ['v4_companies', 'v4_records', 'model_answers_partly'],
    ],
    ['lacks in all', [ABSENT, ABSENT], ['v4_companies', 'model_unknown']],
  ] as const)('of a model that V4 %s', async (_, answered, codes) => {
    const v4 = v4With(2, ...answered);
    const ask = () => Promise.resolve(ABSENT);
    const models = await checkModels({ config: configOf({ models: [pair] }), ask, v3: [], v4 });
    const found = [...checkV4({ v4 }), ...models];
    expect(found.map(({ code }) => code)).toEqual(codes);
  });
});

describe('this machine and the window', () => {
  it.each([
    ['20.18.0', 'problem'],
    ['18.99.99', 'problem'],
    ['20.18.1', 'ok'],
    ['20.20.2', 'ok'],
    ['22.0.0', 'ok'],
  ])('Node.js %s is %s', (node, level) =>
    expect(checkProgram({ node, sqlite: '3.51.3' })[0]?.level).toBe(level),
  );

  const window = (sinceMs: number | null, isRelative = false) => {
    const config = configOf({ backfill: { sinceMs, isRelative, dateFields: [] } });
    const local = { env: {}, node: '', sqlite: '', keyErrors: new Map(), fileErrors: [] };
    return checkConfig({ ...local, config, nowMs: NOW })
      .map(({ code }) => code)
      .filter((code) => code.startsWith('window'))
      .join();
  };
  it.each([
    ['is inferred', window(null), ''],
    ['is known', window(NOW - 30 * DAY_MS), ''],
    ['moves', window(NOW - 30 * DAY_MS, true), 'window_moves'],
    ['cannot be in the future', window(NOW + DAY_MS), 'window_in_future'],
  ])('the window %s', (_, code, expected) => expect(code).toBe(expected));
});

it('each check that asks is named while it does, so that a slow service does not look stuck', async () => {
  const steps: string[] = [];
  const local = { config: full, env: {}, nowMs: NOW, node: '22.0.0', sqlite: '3', fileErrors: [] };
  const asked = { v3: [v3With(NONE)], v4: v4With(1, NONE), endpoints: () => [], named: [] };
  const nothing = { ask: () => Promise.resolve(ABSENT), askAt: () => Promise.reject(new Error('moved')) };
  const context = {
    ...local,
    ...asked,
    ...nothing,
    keyErrors: new Map(),
    database: { kind: 'none' },
  } as const;
  await runChecks(context, (event) => {
    if (event.kind === 'step') steps.push(event.name);
  });
  expect(steps).toEqual(CHECKS.flatMap((check) => ('ask' in check ? [check.title] : [])));
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
});
