import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { COMMON_OPTIONS } from '../../src/commands/catalogue/options.js';
import { listOptions } from '../../src/commands/option.js';
import { isReason, REASONS, STATUSES } from '../../src/reasons.js';
import { buildVerdict, commandFor } from '../../src/report/build-verdict.js';
import { judge } from '../../src/report/gate.js';
import { REPORTS } from './sample-reports.js';

const LIMITS = ['rejected', 'short', 'unique_id_conflict', 'decision_stale', 'drift', 'maxAge'];
const KEYS = [
  ...LIMITS,
  ...STATUSES.filter((status) => status !== 'matched').flatMap((status) =>
    [...REASONS, ...REASONS.map((reason) => `parent_${reason}`)].map((reason) => `${status}/${reason}`),
  ),
];

/** What is wrong with a line as `svc-migrate …`: null if the command exists and has its options. */
function problemIn(line: string): string | null {
  const [program, name = '', ...words] = line.split(' ');
  const spec = COMMANDS.find((command) => command.name === name);
  if (program !== 'svc-migrate' || spec === undefined) return `there is no command ${name}`;
  const known = [...spec.options, ...listOptions(COMMON_OPTIONS)].map(({ flags }) => flags.split(' ')[0]);
  const unknown = words.find((word) => word.startsWith('--') && !known.includes(word));
  const reason = words[words.indexOf('--reason') + 1] ?? '';
  if (unknown !== undefined) return `${name} has no ${unknown}`;
  const bare = reason.replace(/^parent_/, '');
  return words.includes('--reason') && !isReason(bare) ? `there is no reason ${reason}` : null;
}

describe('the command to run next', () => {
  it.each(REPORTS)('exists, with its options, for every obstacle of %s', (_, report) => {
    for (const key of KEYS) expect([key, problemIn(commandFor(key, report))]).toEqual([key, null]);
    // `run` may have just written them.
    for (const key of KEYS)
      expect([key, commandFor(key, report)]).not.toEqual([
        key,
        expect.stringMatching(/--(html|ndjson|json|markdown|junit)/),
      ]);
  });

  it('stays within the models and companies of the report, quoted for a shell', () => {
    const [, report] = REPORTS[0] ?? [];
    if (report === undefined) throw new Error('There is no sample.');
    const scope = { models: ["odd/it's"], companies: ['5'] };
    expect(commandFor('unmatched/key_changed', { ...report, scope })).toBe(
      "svc-migrate findings --write-decisions decisions-draft.csv --model 'odd/it'\\''s' --company 5",
    );
  });
});

it('says in a whole sentence why a limit was not measured', () => {
  const [, report] = REPORTS[0] ?? [];
  if (report === undefined) throw new Error('There is no sample.');
  const none = new Map<string, number>();
  const counts = { rows: [], v3Rows: none, rejected: none, shortStreams: none, uniqueIdConflicts: none };
  const unmeasured = { ...counts, drift: null, staleDecisions: none, ageMs: 0 };
  const limit = { kind: 'count', count: 0 } as const;
  const gate = judge(unmeasured, { global: { drift: limit }, models: {} }, 1000);
  const { obstacles } = buildVerdict({ ...report, gate });
  expect(obstacles.map(({ meaning }) => meaning.replace(/^.*? Here: /, ''))).toEqual([
    'it was not measured.',
  ]);
  const drift = { ...report.drift, measured: false };
  expect(commandFor('drift', { ...report, drift })).toBe('svc-migrate run --restart');
});

it('explains a pair with different fields of a model whose limit is exceeded', () => {
  const [, report] = REPORTS[0] ?? [];
  if (report === undefined) throw new Error('There is no sample.');
  const none = new Map<string, number>();
  const counts = { rows: [], v3Rows: none, rejected: none, shortStreams: none, uniqueIdConflicts: none };
  const drift = new Map(Object.entries({ 'crm/companies': 1, 'crm/stages': 1 }));
  const found = { ...counts, drift, staleDecisions: none, ageMs: 0 };
  const pairs = { pairs: 9, compared: 9, differing: 1 };
  const models = [...drift.keys()].map((model, at) => ({ model, ...pairs, sample: `${at}` }));
  const narrowed = { ...report, drift: { measured: true, ...pairs, models } };
  const count = (n: number) => ({ drift: { kind: 'count', count: n } }) as const;
  for (const [limits, next] of [
    [{ global: count(0), models: {} }, 'crm/companies 0'],
    [{ global: count(0), models: { 'crm/companies': count(1) } }, 'crm/stages 1'],
    [{ global: {}, models: { 'crm/stages': count(0) } }, 'crm/stages 1'],
  ] as const)
    expect(commandFor('drift', { ...narrowed, gate: judge(found, limits, 1000) })).toBe(
      `svc-migrate explain ${next}`,
    );
});

it('names the limits of the model where one of them judges', () => {
  const [, report] = REPORTS[0] ?? [];
  if (report === undefined) throw new Error('There is no sample.');
  const none = new Map<string, number>();
  const [status, reason] = ['unmatched', 'outside_backfill_window'] as const;
  const rows = ['crm/stages', 'crm/companies'].map(
    (model) => ({ model, status, reason, unit: 'v3_record', count: 3 }) as const,
  );
  const counts = { rows, v3Rows: none, rejected: new Map([['crm/stages', 1]]), shortStreams: none };
  const others = { uniqueIdConflicts: none, drift: none, staleDecisions: none, ageMs: 0 };
  const limit = { kind: 'count', count: 0 } as const;
  const models = { 'crm/companies': { unmatched: limit }, 'crm/stages': { rejected: limit } };
  const gate = judge({ ...counts, ...others }, { global: {}, models }, 1000);
  const obstacles = buildVerdict({ ...report, gate }).obstacles;
  expect(obstacles.map(({ action, lines }) => [/(?<= in )"limits.*/.exec(action)?.[0], ...lines])).toEqual([
    ['"limits.models" under "crm/companies".', 'V3 ids: crm/companies 3'],
    ['"limits".', 'V3 ids: crm/stages 3'],
    ['"limits.models" under "crm/stages".', 'objects: crm/stages 1'],
  ]);
});
