import type { TruthRow } from '../../src/sandbox/truth.js';
import type { RemapCells } from './remap-cells.js';

export interface Comparison {
  readonly rows: number;
  /** Rows that are missing or wrong, as lines for a failing test. */
  readonly differences: readonly string[];
  /** `status` and `status/reason` seen. */
  readonly outcomes: ReadonlySet<string>;
}

/** Compares the rows of a remap with the ground truth of the sandbox, both ways. */
export function compareWithTruth(remap: readonly RemapCells[], truth: Iterable<TruthRow>): Comparison {
  const open = new Map<string, number>();
  for (const row of truth) count(open, lineOf(row), 1);
  const outcomes = new Set<string>();
  for (const row of remap) {
    outcomes.add(outcomeOf(row));
    count(open, lineOf(row), -1);
  }
  const differences = [...open]
    .filter(([, n]) => n !== 0)
    .map(([line, n]) => `${n > 0 ? 'missing' : 'wrong'}: ${line}`);
  return { rows: remap.length, differences: differences.sort(), outcomes };
}

export function outcomeOf({ status, reason }: Pick<RemapCells, 'status' | 'reason'>): string {
  return `${status}${reason === null ? '' : `/${reason}`}`;
}

function lineOf(row: RemapCells | TruthRow): string {
  const { model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason } = row;
  // Without a V4 record, the V4 company of a row is the pair that was searched; the truth does not name it.
  const v4Company = v4_svc_id === null ? null : row.v4_company_id;
  return [model, path, region, v3_company_id, v4Company, platform_id, v3_svc_id, v4_svc_id, status, reason]
    .map((cell) => (cell === null ? '-' : String(cell)))
    .join(' | ');
}

function count(open: Map<string, number>, line: string, by: number): void {
  open.set(line, (open.get(line) ?? 0) + by);
}
