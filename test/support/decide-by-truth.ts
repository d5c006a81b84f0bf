import type { Decision } from '../../src/domain.js';
import type { TruthRow } from '../../src/sandbox/truth.js';
import type { Db } from '../../src/store/open.js';

/** Decisions that settle part of what the truth calls ambiguous, and the truth once they are taken. */
export interface Settled {
  readonly decisions: readonly Decision[];
  /** Without the line items of the records concerned. */
  readonly truth: readonly TruthRow[];
  /** Whether a row of the remap belongs to a line item of these records. */
  readonly isConcerned: (row: { readonly [name: string]: unknown }) => boolean;
}

type Ids = Pick<Decision, 'v3SvcId' | 'v4SvcId'>;

/** Decides in each ambiguous group that the first live V3 record is the first live V4 one, and the second became nothing. */
export function settleAmbiguous(db: Db, truth: readonly TruthRow[]): Settled {
  const groups = new Map<string, TruthRow[]>();
  for (const row of truth) {
    if (row.path !== '' || row.v4_company_id === null || row.platform_id === null) continue;
    const name = [row.model, row.v4_company_id, row.platform_id].join('\0');
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const isLive = prepareIsLive(db);
  const decisions: Decision[] = [];
  const settled = new Map<TruthRow, TruthRow | null>();
  const concerned = new Set<string>();
  const parents = new Set<string>();
  for (const [name, rows] of groups) {
    const live = rows.filter((row) => row.status === 'ambiguous' && isLive(row));
    const [v3, other] = live.filter((row) => row.v3_svc_id !== null);
    const v4 = live.find((row) => row.v3_svc_id === null);
    if (v3 === undefined || v4 === undefined) continue;
    const decide = (row: TruthRow, ids: Ids) => decisions.push(decisionOf(row, ids, decisions.length + 2));
    decide(v3, { v3SvcId: BigInt(v3.v3_svc_id ?? 0), v4SvcId: BigInt(v4.v4_svc_id ?? 0) });
    settled.set(v3, { ...v3, v4_svc_id: v4.v4_svc_id, status: 'matched', reason: null }).set(v4, null);
    if (other !== undefined) {
      decide(other, { v3SvcId: BigInt(other.v3_svc_id ?? 0), v4SvcId: null });
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
    decisions,
    truth: truth
      .filter((row) => row.path === '' || !isOf(row))
      .flatMap((row) => settled.get(row) ?? (settled.has(row) ? [] : row)),
    isConcerned: (row) =>
      row['path'] !== '' &&
      concerned.has([row['model'], row['v4_company_id'], row['parent_platform_id']].join('\0')),
  };
}

function nameV3({ model, region, v3_company_id }: TruthRow, id: string | null): string {
  return ['3', model, region, v3_company_id, id].join(' ');
}

function nameV4({ model, v4_company_id }: TruthRow, id: string | null): string {
  return ['4', model, v4_company_id, id].join(' ');
}

/** Decisions that contradict the truth: each names a record that is in a pair, with another record of its company. */
export function contradictTruth(truth: readonly TruthRow[]): readonly Decision[] {
  const v3 = new Set<string>();
  const v4 = new Set<string>();
  const decisions: Decision[] = [];
  const places = new Map<string, TruthRow[]>();
  for (const row of truth) {
    if (row.v3_svc_id === null || row.region === null) continue;
    const name = [row.model, row.path, row.region, row.v3_company_id].join('\0');
    places.set(name, [...(places.get(name) ?? []), row]);
  }
  for (const rows of places.values()) {
    const pairs = rows.filter((row) => row.v4_svc_id !== null);
    for (const [at, row] of rows.entries()) {
      const wrong = pairs[(at + 1) % Math.max(1, pairs.length)];
      if (wrong === undefined || wrong.v4_svc_id === row.v4_svc_id) continue;
      const id3 = [row.model, row.path, row.region, row.v3_svc_id].join('\0');
      const id4 = [row.model, row.path, row.v3_company_id, row.region, wrong.v4_svc_id].join('\0');
      if (v3.has(id3) || v4.has(id4)) continue;
      v3.add(id3);
      v4.add(id4);
      const ids = { v3SvcId: BigInt(row.v3_svc_id ?? 0), v4SvcId: BigInt(wrong.v4_svc_id ?? 0) };
      decisions.push(decisionOf(row, ids, decisions.length + 2));
    }
  }
  return decisions;
}

function decisionOf({ model, path, region, v3_company_id }: TruthRow, ids: Ids, line: number): Decision {
  return {
    line,
    model,
    path,
    region: region ?? '',
    v3CompanyId: BigInt(v3_company_id ?? 0),
    ...ids,
    note: 'as it truly is',
    until: null,
  };
}

function prepareIsLive(db: Db): (row: TruthRow) => boolean {
  const find = db
    .prepare<(string | bigint)[], bigint>(
      `SELECT r.deleted FROM stream AS s JOIN record AS r ON r.stream_id = s.id
       WHERE s.generation = ? AND s.region = ? AND s.model = ? AND r.company_id = ? AND r.svc_id = ?`,
    )
    .pluck();
  return ({ model, region, v3_company_id, v4_company_id, v3_svc_id, v4_svc_id }) => {
    const deleted =
      v3_svc_id === null
        ? find.get('v4', '', model, BigInt(v4_company_id ?? 0), BigInt(v4_svc_id ?? 0))
        : find.get('v3', region ?? '', model, BigInt(v3_company_id ?? 0), BigInt(v3_svc_id));
    return deleted === 0n;
  };
}
