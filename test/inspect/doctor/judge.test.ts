import { statfsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SvcError } from '../../../src/errors.js';
import {
  judgeContent,
  judgeFindings,
  note,
  type ProblemCode,
  problem,
  type RemoteContext,
} from '../../../src/inspect/doctor/check.js';
import { checkClocks, checkHosts, checkV3 } from '../../../src/inspect/doctor/check-hosts.js';
import {
  checkConfig,
  checkKeys,
  checkProgram,
  checkRoom,
} from '../../../src/inspect/doctor/check-machine.js';
import { checkModels, checkV4, correctNames } from '../../../src/inspect/doctor/check-models.js';
import {
  checkParameters,
  judgeDeleted,
  judgeProbe,
  PROBES,
} from '../../../src/inspect/doctor/check-parameters.js';
import {
  type ListAnswer,
  type ListContent,
  type SampledRecord,
  sampleV3,
} from '../../../src/inspect/doctor/sample-lists.js';
import { configOf, modelOf } from '../../support/exported.js';

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
const REFUSED: ListAnswer = { kind: 'refused', error: new SvcError('http_status', '400') };
const FAILED: ListAnswer = { kind: 'failed', error: new SvcError('network', 'down') };
const [A, B] = [record(1), record(2)];
const GONE = record(3, { deleted: true });
const HASHED = record(4, { hasHash: true });

/** The effect of a parameter, where the list holds `before` without it and gives these answers with it. */
function effectOf(code: string, before: readonly SampledRecord[], ...answered: readonly ListAnswer[]) {
  const probe = PROBES.find((one) => one.code === code) ?? { judge: judgeDeleted };
  return judgeProbe(probe, answers(before), answered);
}

describe('a parameter is judged by the answers with and without it', () => {
  const equal = answers([A, record(2, { createdMs: 1 })]);
  const undated = answers([A, record(2, { createdMs: null })]);
  const cases: readonly (readonly [string, string, string])[] = [
    ['deleted ones appear', effectOf('deleted', [A], answers([A, GONE])), 'honoured'],
    ['deleted ones were there before', effectOf('deleted', [A, GONE], answers([A, GONE])), 'always'],
    ['no deleted one either way', effectOf('deleted', [A], answers([A])), 'unknown'],
    ['include_deleted_records is refused', effectOf('deleted', [A], REFUSED), 'refused'],
    ['the question is lost', effectOf('deleted', [A], FAILED), 'unknown'],
    ['eq shows the one key', effectOf('eq', [A, B], answers([A])), 'honoured'],
    ['eq shows the only key there is', effectOf('eq', [A], answers([A])), 'unknown'],
    ['eq shows other keys', effectOf('eq', [A, B], answers([A, B])), 'ignored'],
    ['eq shows nothing', effectOf('eq', [A, B], NONE), 'unknown'],
    ['there is no key to ask for', effectOf('eq', [A]), 'unknown'],
    ['gte in the far future shows records', effectOf('gte', [A], answers([A]), answers([A])), 'ignored'],
    ['gte shows none late and some early', effectOf('gte', [A], NONE, answers([A])), 'honoured'],
    ['gte shows nothing at all', effectOf('gte', [A], NONE, NONE), 'unknown'],
    ['gte is lost once', effectOf('gte', [A], NONE, FAILED), 'unknown'],
    ['gte is refused', effectOf('gte', [A], REFUSED, NONE), 'refused'],
    ['sort turns the list around', effectOf('sort', [A], answers([A, B]), answers([B, A])), 'honoured'],
    ['sort changes nothing', effectOf('sort', [A], answers([A, B]), answers([A, B])), 'ignored'],
    ['sort cannot show in one record', effectOf('sort', [A], answers([A]), answers([A])), 'unknown'],
    ['sort cannot show where all dates are equal', effectOf('sort', [A], equal, equal), 'unknown'],
    ['sort cannot show where a date is missing', effectOf('sort', [A], undated, undated), 'unknown'],
    ['sort gives another wrong order', effectOf('sort', [A], answers([B, A]), answers([A, B])), 'unknown'],
    ['sort is refused one way', effectOf('sort', [A], REFUSED, answers([A])), 'refused'],
    ['the hash comes when asked for', effectOf('select', [A], answers([HASHED])), 'honoured'],
    ['the hash does not come', effectOf('select', [A], answers([A])), 'ignored'],
    ['the hash comes unasked', effectOf('select', [HASHED], answers([HASHED])), 'always'],
    ['nothing comes', effectOf('select', [A], NONE), 'unknown'],
  ];
  it.each(cases)('%s', (_, verdict, expected) => expect(verdict).toBe(expected));
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

it('a window in the future, a list without a readable object, and V3 without a list are problems', async () => {
  const config = configOf({ backfill: { sinceMs: 2, isRelative: false, dateFields: [] } });
  const local = { env: {}, node: '', sqlite: '', keyErrors: new Map(), fileErrors: [] };
  const absent: ListAnswer = { kind: 'absent', error: new SvcError('http_status', '404') };
  const list = { region: '', companyId: null, pair: modelOf('crm/stages'), answer: absent };
  const v3 = config.v3.regions.map((endpoint) => {
    return { label: 'V3', generation: 'v3' as const, endpoint, error: null, answered: false, lists: [list] };
  });
  const findings = [
    ...checkConfig({ ...local, config, nowMs: 1 }),
    ...judgeContent('one', answers([], { rejected: 1 })),
    ...judgeContent('other', answers([A], { rejected: 1 })),
    ...(await checkV3({ v3, askAt: (_, work) => work(async () => absent) })),
  ];
  const problems = findings.filter(({ level }) => level === 'problem');
  expect(problems.map(({ code, exitCode }) => [code, exitCode])).toEqual([
    ['window_in_future', 2],
    ['no_record_readable', 2],
    ['v3_absent', 2],
  ]);
});

it('a key that several regions lack is named once, and one that no list shows to be taken is unknown', () => {
  const config = configOf({ regions: ['eu', 'us'] });
  const lacking = new Map(['eu', 'us'].map((region) => [region, new SvcError('config', 'It is not set.')]));
  const local = { config, env: {}, nowMs: 0, node: '', sqlite: '', fileErrors: [] };
  expect(checkKeys({ ...local, keyErrors: lacking })).toMatchObject([{ code: 'key_unusable', exitCode: 2 }]);
  const host = { label: 'V3', generation: 'v3' as const, error: null, answered: false, lists: [] };
  const v3 = config.v3.regions.map((endpoint) => ({ ...host, endpoint }));
  const v4 = { ...host, endpoint: config.v4, answered: true, companies: [], asked: [] };
  const [ask, askAt] = [async () => NONE, () => Promise.reject(new Error('not asked'))];
  const remote = {
    ...local,
    v3,
    v4,
    ask,
    askAt,
    endpoints: () => [],
    named: [],
    database: { kind: 'none' },
  } as const;
  const codes = (keyErrors: typeof lacking) => checkHosts({ ...remote, keyErrors }).map(({ code }) => code);
  expect(codes(new Map())).toEqual(['key_unknown', 'key_unknown', 'key_accepted']);
  expect(codes(lacking)).toEqual(['key_accepted']);
});

it.each([
  ['auto', 'include_deleted_records is not known', 'note'],
  ['auto', 'Bad request', 'problem'],
  [true, 'include_deleted_records is not known', 'problem'],
  [false, 'Bad request', 'note'],
] as const)(
  'where includeDeleted is %s and V4 refuses it with "%s", that is a %s',
  async (setting, answer, level) => {
    const config = configOf();
    const refused = new SvcError('http_status', '400', { facts: { status: 400, answer } });
    const list = { region: '', companyId: 1n, pair: modelOf('crm/stages'), answer: answers([A]) };
    const v4 = {
      ...{ label: 'V4', generation: 'v4', endpoint: config.v4, error: null },
      answered: true,
      lists: [list],
    };
    const [found] = await checkParameters({
      ...{ env: {}, nowMs: 0, node: '', sqlite: '', fileErrors: [], keyErrors: new Map(), named: [], v3: [] },
      config: { ...config, v4: { ...config.v4, includeDeleted: setting } },
      v4: { ...v4, generation: 'v4', companies: [1n], asked: [1n] },
      ask: async () => ({ kind: 'refused', error: refused }),
      askAt: () => Promise.reject(new Error('not asked')),
      endpoints: () => [],
      database: { kind: 'none' },
    });
    expect(found?.level).toBe(level);
  },
);

it('V4 without a company is not ready', () => {
  const host = {
    label: 'V4',
    generation: 'v4' as const,
    endpoint: configOf().v4,
    error: null,
    answered: true,
  };
  const findings = checkV4({ v4: { ...host, lists: [], companies: [], asked: [] } });
  expect(findings).toMatchObject([{ code: 'v4_no_companies', exitCode: 5 }]);
});

it('V4 that knows no model by any likely name is not ready', async () => {
  const config = configOf({ models: [modelOf('crm/stages'), modelOf('payments/orders')] });
  const absent: ListAnswer = { kind: 'absent', error: new SvcError('http_status', '404') };
  const lists = config.models.map((pair) => ({ region: '', companyId: 1n, pair, answer: absent }));
  const host = { label: 'V4', generation: 'v4' as const, endpoint: config.v4, error: null, answered: true };
  const v4 = { ...host, lists, companies: [1n], asked: [1n] };
  const findings = await checkModels({ config, ask: async () => absent, v3: [], v4 });
  expect(findings).toMatchObject([{ code: 'v4_no_models', exitCode: 5 }]);
});

it('a host that answers 404 to every list has not answered', async () => {
  const config = configOf();
  const [endpoint] = config.v3.regions;
  if (endpoint === undefined) throw new Error('no region');
  const absent: ListAnswer = { kind: 'absent', error: new SvcError('http_status', '404') };
  const api = { fetchV4Companies: () => Promise.reject(new Error('not asked')) };
  const answered = async (answer: ListAnswer) =>
    (await sampleV3({ config, api, ask: async () => answer, keyErrors: new Map() }, endpoint)).answered;
  expect([await answered(absent), await answered(NONE)]).toEqual([false, true]);
});

/** What checks of hosts see of V3 and V4, each of one list. */
function remoteOf(list: ListContent, more: Partial<RemoteContext> = {}): RemoteContext {
  const { config = configOf() } = more;
  const host = { error: null, answered: true };
  const sampled = { region: '', companyId: null, pair: modelOf('crm/stages'), answer: list };
  return {
    ...{ config, env: {}, nowMs: 0, node: '', sqlite: '', fileErrors: [], keyErrors: new Map(), named: [] },
    v3: config.v3.regions.map((endpoint) => ({
      ...host,
      ...{ label: 'V3', generation: 'v3', endpoint, lists: [sampled] },
    })),
    v4: {
      ...{ ...host, label: 'V4', generation: 'v4', endpoint: config.v4, lists: [sampled] },
      ...{ companies: [1n, 2n, 3n], asked: [1n] },
    },
    ask: async () => NONE,
    askAt: () => Promise.reject(new Error('not asked')),
    endpoints: () => [],
    database: { kind: 'none' },
    ...more,
  };
}

const stateOf = (more: object) => () =>
  [
    {
      ...{ generation: 'v3', region: 'default', requests: 1, retries: 0, proxy: null, clockOffsetMs: null },
      ...more,
    },
  ] as unknown as ReturnType<RemoteContext['endpoints']>;

describe('this is worth saying', () => {
  it.each([
    [2, 1, false, ['window_in_future']],
    [2, 2, false, []],
    [2, 3, true, ['window_moves']],
    [null, 1, false, []],
  ])('of a window from %s, at %s, relative: %s', (sinceMs, nowMs, isRelative, codes) => {
    const config = configOf({ backfill: { sinceMs, isRelative, dateFields: [] } });
    const found = checkConfig({ ...remoteOf(NONE), config, nowMs }).map(({ code }) => code);
    expect(found.slice(1)).toEqual(codes);
  });

  it.each([
    ['https://far.example', null, []],
    ['http://far.example', null, ['plain_http']],
    ['http://127.0.0.1:9', null, []],
    ['https://far.example', 'http://proxy.example:1', ['proxy']],
  ])('of %s through the proxy %s', (baseUrl, proxy, codes) => {
    const config = configOf();
    const regions = config.v3.regions.map((endpoint) => ({ ...endpoint, baseUrl }));
    const http = { ...config.http, allowHttp: true };
    const changed = { ...config, v3: { ...config.v3, regions }, http };
    const found = checkHosts(remoteOf(NONE, { config: changed, endpoints: stateOf({ proxy }) }));
    expect(found.map(({ code }) => code).filter((code) => code !== 'key_accepted')).toEqual(codes);
  });

  it.each([
    [59_999, 'agree within a minute'],
    [60_000, 'V3 is 1 min ahead of this'],
    [-60_000, 'V3 is 1 min behind this'],
    [null, ''],
  ])('of a clock that is off by %s', (clockOffsetMs, text) => {
    const found = checkClocks(remoteOf(NONE, { endpoints: stateOf({ clockOffsetMs }) }));
    expect(found[0]?.text ?? '').toContain(text);
    expect(found).toHaveLength(text === '' ? 0 : 1);
  });

  it.each([
    ['full', 1.1, ['disk_full']],
    ['full', 0.9, []],
    ['ids', 1.1, []],
  ] as const)(
    'of a disk for records with payload %s that take %s of what is free',
    (payload, share, codes) => {
      const { bavail, bsize } = statfsSync('.');
      // a fourth is in V3 and in each V4 company; a body of 1,000 bytes is stored in as many as all else
      const totalCount = Math.round((share * bavail * bsize) / 4 / 800);
      const config = { ...configOf(), payload };
      const found = checkRoom(remoteOf(answers([A], { totalCount, bytes: 1000 }), { config }));
      expect(found.map(({ code }) => code)).toEqual(codes);
    },
  );
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

describe('this machine', () => {
  it.each([
    ['20.18.0', 'problem'],
    ['18.99.99', 'problem'],
    ['20.18.1', 'ok'],
    ['20.20.2', 'ok'],
    ['22.0.0', 'ok'],
  ])('Node.js %s is %s', (node, level) =>
    expect(checkProgram({ node, sqlite: '3.51.3' })[0]?.level).toBe(level),
  );
});
