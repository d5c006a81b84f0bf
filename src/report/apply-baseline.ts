import { prepareNamedRows } from '../store/named-rows.js';
import type { Db } from '../store/open.js';
import type { Scope } from '../store/remap.js';
import type { Baseline, BaselineEntry } from './baseline.js';
import type { RowCount } from './gate.js';
import type { BaselineSection } from './section-schemas.js';

type Named = BaselineSection['expired'][number];

/** Which findings a baseline accepts. */
export interface Accepted {
  readonly section: BaselineSection;
  /** By model, status and reason. */
  readonly rows: readonly RowCount[];
}

/**
 * Looks up what a baseline names. An entry accepts the one row that has all it says; one that names no row, several
 * rows or a row named before accepts nothing, and neither does an expired one.
 */
export function applyBaseline(db: Db, baseline: Baseline, scope: Scope, nowMs: number): Accepted {
  const find = prepareNamedRows(db, scope);
  const taken = new Map<bigint, number>();
  const rows = new Map<string, { -readonly [K in keyof RowCount]: RowCount[K] }>();
  const section = { expired: [] as Named[], unused: [] as Named[], ambiguous: [] as Named[] };
  for (const [at, entry] of baseline.entries.entries()) {
    if (scope.models?.includes(entry.model) === false) continue;
    const found = find(entry);
    const [row] = found;
    if (isExpired(entry, nowMs)) {
      section.expired.push(nameOf(entry, at, `expired on ${entry.expires}`));
    } else if (row === undefined) {
      if (scope.companies === null) section.unused.push(nameOf(entry, at, 'names no finding'));
    } else if (found.length > 1) {
      section.ambiguous.push(nameOf(entry, at, 'names several findings: add ids or companies'));
    } else if (taken.has(row.at)) {
      section.unused.push(nameOf(entry, at, `names the same finding as entry ${taken.get(row.at)}`));
    } else if (row.inScope) {
      taken.set(row.at, at + 1);
      const key = JSON.stringify([entry.model, row.status, entry.reason]);
      const count = rows.get(key) ?? {
        model: entry.model,
        status: row.status,
        reason: entry.reason,
        count: 0,
      };
      count.count += 1;
      rows.set(key, count);
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

/** The rows that limits still judge. */
export function withoutAccepted(rows: readonly RowCount[], accepted: readonly RowCount[]): RowCount[] {
  const keyOf = ({ model, status, reason }: RowCount) => JSON.stringify([model, status, reason]);
  const counts = new Map(accepted.map((row) => [keyOf(row), row.count]));
  return rows
    .map((row) => ({ ...row, count: row.count - (counts.get(keyOf(row)) ?? 0) }))
    .filter((row) => row.count > 0);
}

const DAY_MS = 86_400_000;

function isExpired({ expires }: BaselineEntry, nowMs: number): boolean {
  return nowMs >= Date.parse(expires) + DAY_MS;
}

function nameOf(entry: BaselineEntry, at: number, problem: string): Named {
  return {
    entry: at + 1,
    model: entry.model,
    path: entry.path,
    platform_id: entry.platform_id ?? null,
    v3_svc_id: entry.v3_svc_id?.toString() ?? null,
    v4_svc_id: entry.v4_svc_id?.toString() ?? null,
    reason: entry.reason,
    note: entry.note,
    expires: entry.expires,
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
