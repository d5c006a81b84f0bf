import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseSvcId } from '../domain.js';
import { describeFileError, SvcError } from '../errors.js';
import { bareReason, isReason, REASONS, STATUSES } from '../reasons.js';
import { prepareNamedRows, toFindingHead } from '../store/finding-rows.js';
import type { Db } from '../store/open.js';
import type { RemapRow, Scope } from '../store/remap-rows.js';
import { escapeJson } from '../text/escape.js';
import { didYouMeanClause } from '../text/suggest.js';
import * as z from '../zod.js';
import { kindOf, type RowCount } from './gate.js';
import type { BaselineSection, Report } from './report-schema.js';

const BASELINE_VERSION = 1;
const MAX_PROBLEMS = 20;

const ID_MESSAGE = 'must be a 64-bit integer as digits in quotes';
const id = z.string({ error: ID_MESSAGE }).transform((text, context) => {
  const parsed = parseSvcId(text);
  if (parsed !== null) return parsed;
  context.addIssue({ code: 'custom', message: ID_MESSAGE });
  return z.NEVER;
});
const text = z.string({ error: 'must be text in quotes' });
const findingStatuses = STATUSES.filter((status) => status !== 'matched');

const entrySchema = z
  .strictObject({
    model: text,
    path: text.default(''),
    region: text.optional(),
    v3_company_id: id.optional(),
    v4_company_id: id.optional(),
    platform_id: text.min(1, 'must not be empty').optional(),
    parent_platform_id: text.optional(),
    v3_svc_id: id.optional(),
    v4_svc_id: id.optional(),
    status: z.enum(findingStatuses, { error: `must be one of ${findingStatuses.join(', ')}` }).optional(),
    reason: text.superRefine((reason, context) => {
      if (isReason(bareReason(reason))) return;
      context.addIssue({
        code: 'custom',
        message: `is not a known reason${didYouMeanClause(reason, REASONS)}`,
      });
    }),
    note: text.min(1, 'must say why the finding is accepted'),
    expires: z.iso.date({ error: 'must be a date such as "2027-01-31"' }),
  })
  .refine(
    (entry) =>
      entry.platform_id !== undefined || entry.v3_svc_id !== undefined || entry.v4_svc_id !== undefined,
    'needs platform_id, v3_svc_id or v4_svc_id',
  );

const fileSchema = z.strictObject({
  schemaVersion: z.literal(BASELINE_VERSION, { error: `must be ${BASELINE_VERSION}` }),
  entries: z.array(z.unknown(), { error: 'must be a list' }),
});

/** A finding that is accepted until the end of the day `expires` (UTC). */
export type BaselineEntry = z.output<typeof entrySchema>;

export interface Baseline {
  /** File name without folders. */
  readonly file: string;
  readonly entries: readonly BaselineEntry[];
}

/**
 * Reads a file of accepted findings.
 *
 * @throws SvcError `bad_input`, with every problem and its entry, counted from 1
 */
export function readBaseline(file: string): Baseline {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SvcError('bad_input', `The baseline ${file} cannot be read: ${describeFileError(cause)}.`, {
      hint: 'Create one with svc-migrate check --write-baseline FILE.',
      cause,
    });
  }
  const { entries, problems } = parseBaseline(content);
  if (problems.length === 0) return { file: basename(file), entries };
  const shown = problems.slice(0, MAX_PROBLEMS);
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  throw new SvcError('bad_input', `The baseline ${file}: ${shown.join('\n  ')}.`, {
    hint: '`svc-migrate help baseline` describes the file; `svc-migrate check --write-baseline FILE` writes a new one.',
  });
}

/** The entries of a baseline, and its problems. */
export function parseBaseline(content: string): {
  readonly entries: BaselineEntry[];
  readonly problems: string[];
} {
  let value: unknown;
  try {
    value = JSON.parse(content.replace(/^\uFEFF/, ''));
  } catch (error) {
    return {
      entries: [],
      problems: [`is not JSON (${error instanceof Error ? error.message : 'unreadable'})`],
    };
  }
  const head = fileSchema.safeParse(value);
  if (!head.success) return { entries: [], problems: describeIssues(head.error.issues) };
  const entries: BaselineEntry[] = [];
  const problems: string[] = [];
  for (const [at, one] of head.data.entries.entries()) {
    const entry = entrySchema.safeParse(one);
    if (entry.success) entries.push(entry.data);
    else problems.push(...describeIssues(entry.error.issues).map((problem) => `entry ${at + 1}: ${problem}`));
  }
  return { entries, problems };
}

function describeIssues(issues: readonly z.core.$ZodIssue[]): string[] {
  return issues.map((issue) => {
    if (issue.code === 'unrecognized_keys')
      return `${issue.keys.join(', ')} ${issue.keys.length === 1 ? 'is' : 'are'} not known here`;
    const place = issue.path.join('.');
    return place === '' ? lowerFirst(issue.message) : `${place} ${lowerFirst(issue.message)}`;
  });
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

type NamedEntry = BaselineSection['expired'][number];

const DAY_MS = 86_400_000;

/** The findings that a baseline accepts. */
export interface Accepted {
  readonly section: BaselineSection;
  /** Accepted rows by model, status and reason. */
  readonly rows: readonly RowCount[];
}

/**
 * Looks up the entries of a baseline. An entry accepts the only row that matches all its values; an entry that is
 * expired, or matches no row, several rows or an already accepted row, accepts nothing.
 */
export function applyBaseline(db: Db, baseline: Baseline, scope: Scope, nowMs: number): Accepted {
  const find = prepareNamedRows(db, scope);
  const taken = new Map<bigint, number>();
  const rows = new Map<string, RowCount>();
  const section = { expired: [] as NamedEntry[], unused: [] as NamedEntry[], ambiguous: [] as NamedEntry[] };
  for (const [at, entry] of baseline.entries.entries()) {
    if (scope.models?.includes(entry.model) === false) continue;
    const found = find(entry);
    const [row] = found;
    if (nowMs >= Date.parse(entry.expires) + DAY_MS) {
      section.expired.push(describeEntry(entry, at, `expired on ${entry.expires}`));
    } else if (row === undefined) {
      if (scope.companies === null) section.unused.push(describeEntry(entry, at, 'names no finding'));
    } else if (found.length > 1) {
      section.ambiguous.push(describeEntry(entry, at, 'names several findings: add ids or companies'));
    } else if (taken.has(row.at)) {
      section.unused.push(describeEntry(entry, at, `names the same finding as entry ${taken.get(row.at)}`));
    } else if (row.inScope) {
      taken.set(row.at, at + 1);
      const kind = { model: entry.model, status: row.status, reason: entry.reason };
      rows.set(kindOf(kind), { ...kind, count: (rows.get(kindOf(kind))?.count ?? 0) + 1 });
    }
  }
  const counts = [...rows.values()];
  return {
    rows: counts,
    section: {
      file: baseline.file,
      entries: baseline.entries.length,
      accepted: taken.size,
      byReason: addUp(counts),
      ...section,
    },
  };
}

/** The rows that the baseline does not accept, for the limits to judge. */
export function withoutAccepted(rows: readonly RowCount[], accepted: readonly RowCount[]): RowCount[] {
  const counts = new Map(accepted.map((row) => [kindOf(row), row.count]));
  return rows
    .map((row) => ({ ...row, count: row.count - (counts.get(kindOf(row)) ?? 0) }))
    .filter((row) => row.count > 0);
}

function describeEntry(entry: BaselineEntry, at: number, problem: string): NamedEntry {
  const { model, path, reason, note, expires } = entry;
  return {
    entry: at + 1,
    model,
    path,
    platform_id: entry.platform_id ?? null,
    v3_svc_id: entry.v3_svc_id?.toString() ?? null,
    v4_svc_id: entry.v4_svc_id?.toString() ?? null,
    reason,
    note,
    expires,
    problem,
  };
}

function addUp(rows: readonly RowCount[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const { status, reason, count } of rows) {
    const key = `${status}/${reason}`;
    sums.set(key, (sums.get(key) ?? 0) + count);
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The rows judged by limits that failed. */
export function* rowsOverLimits(report: Report, rows: Iterable<RemapRow>): Generator<RemapRow> {
  const failed = report.gate.limits.filter((limit) => !limit.pass);
  const keys = new Set(
    failed.flatMap(({ contributors }) => contributors.map(({ model, key }) => JSON.stringify([model, key]))),
  );
  for (const row of rows) {
    if (keys.has(JSON.stringify([row.model, `${row.status}/${row.reason}`]))) yield row;
  }
}

/** A baseline that accepts exactly these rows until the end of the day `expires`. */
export function* renderBaseline(rows: Iterable<RemapRow>, expires: string, note: string): Generator<string> {
  yield '{\n  "schemaVersion": 1,\n  "entries": [';
  let separator = '\n    ';
  for (const row of rows) {
    const { matched_by: _, ...head } = toFindingHead(row);
    // Null values are left out: a row must match only the values that an entry has.
    const given = Object.entries(head).filter(([, value]) => value !== null);
    yield `${separator}${escapeJson(JSON.stringify({ ...Object.fromEntries(given), note, expires }))}`;
    separator = ',\n    ';
  }
  yield '\n  ]\n}\n';
}
