import type { TruthRow } from '../../src/sandbox/truth.js';
import type { Db } from '../../src/store/open.js';

export interface Comparison {
  readonly rows: number;
  /** What differs, either way, worded for a failing test. */
  readonly differences: readonly string[];
  /** `status` and `status/reason` seen. */
  readonly outcomes: ReadonlySet<string>;
}

type RemapRow = Readonly<Record<string, string | bigint | null>>;

/**
 * Holds every row of the remap against the sandbox's ground truth, both ways: nothing missing, nothing extra. Rows that
 * `isLeftOut` names are not compared.
 */
export function compareWithTruth(
  db: Db,
  truth: Iterable<TruthRow>,
  isLeftOut: (row: RemapRow) => boolean = () => false,
): Comparison {
  const open = new Map<string, number>();
  for (const { stable: _, drifted: __, ...row } of truth) count(open, lineOf(row), 1);
  const outcomes = new Set<string>();
  let rows = 0;
  for (const row of db.prepare<[], RemapRow>('SELECT * FROM remap').iterate()) {
    if (isLeftOut(row)) continue;
    rows += 1;
    outcomes.add(`${row['status']}${row['reason'] === null ? '' : `/${row['reason']}`}`);
    count(open, lineOf(row), -1);
  }
  const differences = [...open]
    .filter(([, n]) => n !== 0)
    .map(([line, n]) => `${n > 0 ? 'missing' : 'wrong'}: ${line}`);
  return { rows, differences: differences.sort(), outcomes };
}

function lineOf(row: RemapRow): string {
  // The V4 company of a row without a V4 record says which pair was looked in; the truth names only places of records.
  const company4 = row['v4_svc_id'] === null ? null : row['v4_company_id'];
  const parts = [
    row['model'],
    row['path'],
    row['region'],
    row['v3_company_id'],
    company4,
    row['platform_id'],
    row['v3_svc_id'],
    row['v4_svc_id'],
    row['status'],
    row['reason'],
  ];
  return parts.map((part) => (part === null || part === undefined ? '-' : String(part))).join(' | ');
}

function count(open: Map<string, number>, line: string, by: number): void {
  open.set(line, (open.get(line) ?? 0) + by);
}
