import type { TruthRow } from '../../src/sandbox/truth.js';
import { groupBy } from '../../src/text/rows.js';
import type { RemapCells } from './remap-cells.js';

/** Lines of decisions.csv that settle part of what the truth calls ambiguous, and the truth once they are taken. */
export interface Settled {
  readonly lines: readonly string[];
  /** Without the line items of the records concerned. */
  readonly truth: readonly TruthRow[];
  /** Whether a row of the remap belongs to a line item of these records. */
  readonly isConcerned: (row: RemapCells) => boolean;
}

export const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';

/** Decides in each ambiguous group that the first live V3 record is the first live V4 one, and the second has none. */
export function settleAmbiguous(truth: readonly TruthRow[]): Settled {
  const groups = groupBy(
    truth.filter((row) => row.path === '' && row.v4_company_id !== null && row.platform_id !== null),
    (row) => [row.model, row.v4_company_id, row.platform_id].join('\0'),
  );
  const lines: string[] = [];
  const settled = new Map<TruthRow, TruthRow | null>();
  const concerned = new Set<string>();
  const parents = new Set<string>();
  for (const [name, rows] of groups) {
    const live = rows.filter((row) => row.status === 'ambiguous' && row.live);
    const [v3, other] = live.filter((row) => row.v3_svc_id !== null);
    const v4 = live.find((row) => row.v3_svc_id === null);
    if (v3 === undefined || v4 === undefined) continue;
    lines.push(lineOf(v3, v4.v4_svc_id));
    settled.set(v3, { ...v3, v4_svc_id: v4.v4_svc_id, status: 'matched', reason: null }).set(v4, null);
    if (other !== undefined) {
      lines.push(lineOf(other, null));
      settled.set(other, { ...other, status: 'unmatched', reason: 'decided_none' });
    }
    concerned.add(name);
    for (const row of rows) parents.add(nameV3(row, row.v3_svc_id)).add(nameV4(row, row.v4_svc_id));
  }
  const isOf = (row: TruthRow) => {
    const { parent_v3_svc_id: v3, parent_v4_svc_id: v4 } = row;
    return (v3 !== null && parents.has(nameV3(row, v3))) || (v4 !== null && parents.has(nameV4(row, v4)));
  };
  return {
    lines,
    truth: truth
      .filter((row) => row.path === '' || !isOf(row))
      .flatMap((row) => settled.get(row) ?? (settled.has(row) ? [] : row)),
    isConcerned: (row) =>
      row.path !== '' && concerned.has([row.model, row.v4_company_id, row.parent_platform_id].join('\0')),
  };
}

function nameV3({ model, region, v3_company_id }: TruthRow, id: string | null): string {
  return ['3', model, region, v3_company_id, id].join(' ');
}

function nameV4({ model, v4_company_id }: TruthRow, id: string | null): string {
  return ['4', model, v4_company_id, id].join(' ');
}

/** Lines that contradict the truth: each gives a V3 record of a pair the V4 record of another one of its company. */
export function contradictTruth(truth: readonly TruthRow[]): readonly string[] {
  const pairs = truth.filter((row) => row.v3_svc_id !== null && row.v4_svc_id !== null);
  const twins = groupBy(pairs, (row) => [row.model, row.path, row.v4_company_id, row.v4_svc_id].join('\0'));
  const unique = [...twins.values()].flatMap((rows) => (rows.length === 1 ? rows : []));
  const places = groupBy(unique, (row) => [row.model, row.path, row.region, row.v3_company_id].join('\0'));
  const named = new Set<string>();
  return [...places.values()].flatMap((rows) =>
    rows.flatMap((row, at) => {
      const other = rows[(at + 1) % rows.length];
      const name = [row.model, row.path, row.region, row.v3_svc_id].join('\0');
      // Line items of several records of a company may have one id: no line can name them.
      if (other === undefined || other.v4_svc_id === row.v4_svc_id || named.has(name)) return [];
      named.add(name);
      return [lineOf(row, other.v4_svc_id)];
    }),
  );
}

function lineOf({ model, path, region, v3_company_id, v3_svc_id }: TruthRow, v4SvcId: string | null): string {
  return [model, path, region, v3_company_id, v3_svc_id, v4SvcId, 'as it truly is', '']
    .map((cell) => cell ?? '')
    .join(',');
}
