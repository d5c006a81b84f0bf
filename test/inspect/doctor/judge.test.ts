import { describe, expect, it } from 'vitest';
import { applySettings } from '../../../src/config/apply-targets.js';
import { SvcError } from '../../../src/errors.js';
import {
  judgeFindings,
  note,
  type ProblemCode,
  problem,
} from '../../../src/inspect/doctor/doctor-finding.js';
import { judgeClocks, judgeParameters } from '../../../src/inspect/doctor/judge-apis.js';
import { judgeV3Lists, judgeV4Models } from '../../../src/inspect/doctor/judge-lists.js';
import {
  estimateDisk,
  judgeBackfill,
  judgeDisk,
  judgeProgram,
  judgeTargets,
  readTargets,
} from '../../../src/inspect/doctor/judge-local.js';
import type {
  ListAnswer,
  ListContent,
  ProbedHost,
  RemoteFacts,
  SampledRecord,
} from '../../../src/inspect/doctor/probe-results.js';
import {
  judgeDeleted,
  judgeEq,
  judgeGte,
  judgeSelect,
  judgeSort,
  nearNames,
} from '../../../src/inspect/doctor/probe-v4.js';
import { configOf, modelOf } from '../../support/exported.js';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-01T00:00:00Z');

function record(svcId: number, more: Partial<SampledRecord> = {}): SampledRecord {
  const usual = { companyId: 1n, platformId: `k${svcId}`, deleted: false, createdMs: svcId };
  return { svcId: BigInt(svcId), fieldDigests: '', dataHash: null, ...usual, ...more };
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
const REFUSED: ListAnswer = { kind: 'refused', error: new SvcError('http_status', '400') };
const FAILED: ListAnswer = { kind: 'failed', error: new SvcError('network', 'down') };
const [A, B] = [record(1), record(2)];
const GONE = record(3, { deleted: true });
const HASHED = record(4, { dataHash: 'h' });

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

const HONOURED = {
  eq: 'honoured',
  gte: 'honoured',
  sort: 'honoured',
  select: 'honoured',
  selectInV3: 'honoured',
} as const;

describe('a refused include_deleted_records', () => {
  const cases: readonly (readonly [string, 'auto' | boolean, boolean, string])[] = [
    ['is gone without where it is named', 'auto', true, 'note'],
    ['would end an export where it is not named', 'auto', false, 'problem'],
    ['is no matter where it is not asked for', false, false, 'note'],
    ['must not be insisted on', true, true, 'problem'],
  ];
  it.each(cases)('%s', (_, includeDeleted, refusesDeletedByName, level) => {
    const config = configOf();
    const effects = { ...HONOURED, include_deleted_records: 'refused', refusesDeletedByName } as const;
    const [finding] = judgeParameters(effects, { ...config, v4: { ...config.v4, includeDeleted } });
    expect(finding?.level).toBe(level);
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
    const problems = codes.map((code) => problem('V4', 'x', code, 'text', 'fix'));
    expect(judgeFindings([note('V4', 'y', 'text'), ...problems])).toBe(expected);
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

const V3_HOST: ProbedHost = {
  label: 'V3',
  generation: 'v3',
  region: 'default',
  baseUrl: 'http://127.0.0.1:1/v3',
  keySource: 'KEY',
  keyError: null,
  error: null,
  answered: true,
  clockOffsetMs: 0,
  proxy: null,
};

describe('clocks', () => {
  const minutes = (n: number) => n * 60_000;
  const cases: readonly (readonly [string, Partial<ProbedHost>, string | undefined])[] = [
    ['agree within a minute', { clockOffsetMs: 59_000 }, 'ok'],
    ['are told to be off', { clockOffsetMs: minutes(2) }, 'warning'],
    ['ahead by hours hide nothing', { clockOffsetMs: minutes(180) }, 'warning'],
    [
      'behind by hours hide nothing: sweeps go by the time of the service',
      { clockOffsetMs: -minutes(180) },
      'warning',
    ],
    ['that are not told are not judged', { clockOffsetMs: null }, undefined],
  ];
  it.each(cases)('%s', (_, more, level) => {
    expect(judgeClocks([{ ...V3_HOST, ...more }])[0]?.level).toBe(level);
  });
});

describe('the disk', () => {
  const list = answers([record(1), record(2)], { totalCount: 1000, bytes: 2000 });
  const pair = modelOf('accounting/invoices');
  const remote = (v4Companies: number): RemoteFacts => ({
    hosts: [],
    v3: [{ region: 'default', companyId: null, pair, answer: list }],
    v4: {
      companies: Array.from({ length: v4Companies }, (_, at) => BigInt(at)),
      asked: [0n],
      lists: [{ region: '', companyId: 0n, pair, answer: list }],
      answersAnything: false,
      suggestions: new Map(),
      parameters: { ...HONOURED, include_deleted_records: 'honoured', refusesDeletedByName: false },
    },
    pages: [],
    preview: [],
    requests: 0,
  });
  const full = configOf();

  it('is estimated from counts and samples, V4 companies not asked counted in', () => {
    expect(estimateDisk(remote(1), full)).toEqual({
      records: 2000,
      bytes: 2000 * (400 + 1100),
      uncounted: 0,
    });
    expect(estimateDisk(remote(9), full).records).toBe(10_000);
    expect(estimateDisk(remote(1), { ...full, payload: 'ids' }).bytes).toBe(2000 * 400);
  });

  const needed = 3_000_000;
  const cases: readonly (readonly [string, number, number, string])[] = [
    ['too small', needed - 1, 0, 'problem'],
    ['tight', needed, 0, 'warning'],
    ['large enough', 2 * needed, 0, 'ok'],
    ['that holds the data already needs no more', 10, needed, 'ok'],
  ];
  it.each(cases)('%s', (_, freeBytes, databaseBytes, level) => {
    const local = {
      freeBytes,
      databaseBytes,
      node: '',
      sqlite: '',
      database: { kind: 'none' },
      fileErrors: [],
      targets: [],
    } as const;
    expect(judgeDisk(remote(1), local, full)[0]?.level).toBe(level);
  });

  it('is no matter where nothing can be read: that is a problem of its own', () => {
    const levelOf = (answer: ListAnswer) =>
      [...judgeV3Lists([{ region: 'default', companyId: null, pair, answer }])].map(({ code }) => code);
    expect(levelOf(answers([], { rejected: 5, totalCount: 5 }))).toEqual(['v3_lists', 'no_record_readable']);
    expect(levelOf(answers([A], { rejected: 5 }))).toEqual(['v3_lists', 'objects_rejected']);
    expect(levelOf(NONE)).toEqual(['v3_empty']);
    expect(levelOf({ kind: 'absent' })).toEqual(['v3_absent']);
  });

  it('counts a model that V4 lacks in some companies as no problem, in all as one', () => {
    const facts = remote(2).v4;
    if (facts === null) throw new Error('no V4');
    const absent = { region: '', companyId: 1n, pair, answer: { kind: 'absent' } } as const;
    const levelsOf = (lists: (typeof facts)['lists']) =>
      [...judgeV4Models({ ...facts, asked: [0n, 1n], lists }, configOf({ models: [pair] }))].map(
        ({ code }) => code,
      );
    expect(levelsOf([...facts.lists, absent])).toEqual([
      'v4_companies',
      'v4_records',
      'model_answers_partly',
    ]);
    expect(levelsOf([absent, { ...absent, companyId: 0n }])).toEqual(['v4_companies', 'model_unknown']);
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
    expect(judgeProgram({ node, sqlite: '3.51.3' })[0]?.level).toBe(level),
  );

  const window = (sinceMs: number | null, isRelative = false) =>
    judgeBackfill(configOf({ backfill: { sinceMs, isRelative, dateFields: [] } }), NOW)[0]?.code;
  it.each([
    ['is inferred', window(null), 'window_inferred'],
    ['is known', window(NOW - 30 * DAY_MS), 'window'],
    ['moves', window(NOW - 30 * DAY_MS, true), 'window_moves'],
    ['is long', window(NOW - 200 * DAY_MS), 'window_long'],
    ['cannot be in the future', window(NOW + DAY_MS), 'window_in_future'],
  ])('the window %s', (_, code, expected) => expect(code).toBe(expected));
});

describe('the targets of apply', () => {
  const targetsOf = (...inputs: readonly object[]) => {
    const apply = applySettings.parse({
      targets: inputs.map((input, at) => ({ name: `t${at}`, ids: IDS, ...input })),
    });
    return judgeTargets({
      targets: readTargets({ ...configOf({}), apply }, { SET: 'postgres://x', EMPTY: '' }),
    });
  };
  const IDS = [{ column: 'id', model: 'accounting/invoices' }];
  const here = new URL(import.meta.url).pathname;
  it.each([
    ['no targets', [], []],
    ['a file', [{ kind: 'csv', file: here }], ['ok']],
    ['a variable that is set', [{ kind: 'postgres', urlEnv: 'SET', table: 't' }], ['ok']],
    [
      'a missing file',
      [
        { kind: 'sqlite', file: `${here}.none`, table: 't' },
        { kind: 'csv', file: here },
      ],
      ['warning'],
    ],
    [
      'missing variables',
      ['UNSET', 'EMPTY'].map((urlEnv) => ({ kind: 'mysql', urlEnv, table: 't' })),
      ['warning', 'warning'],
    ],
    ['a missing connection file', [{ kind: 'mysql', urlFile: `${here}.none`, table: 't' }], ['warning']],
  ])('%s', (_, inputs, levels) => expect(targetsOf(...inputs).map(({ level }) => level)).toEqual(levels));
});
