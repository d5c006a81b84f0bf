import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';

/** Row counts of a remap. */
export interface RemapTally {
  /** Rows by `status` or `status/reason`, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly rows: number;
  /** Rows with a V3 id, and those without. */
  readonly v3: Kinds;
  readonly v4Only: Kinds;
  /** Invalid rows: still `absent`, or matched without an id on both sides. */
  readonly open: number;
}

interface Kinds {
  readonly records: number;
  readonly children: number;
}

const KINDS = `
  SELECT status, reason, path = '' AS isRecord, v3_svc_id IS NOT NULL AS hasV3, v4_svc_id IS NOT NULL AS hasV4,
    count(*) AS n
    FROM remap WHERE rowid BETWEEN ? AND ? GROUP BY 1, 2, 3, 4, 5`;

interface KindRow {
  readonly status: string;
  readonly reason: string | null;
  readonly isRecord: bigint;
  readonly hasV3: bigint;
  readonly hasV4: bigint;
  readonly n: bigint;
}

/** Makes a counter of remap rows: `add` counts a range of rowids, `finish` returns the totals. */
export function prepareTally(db: Db): { add: (from: bigint, to: bigint) => void; finish: () => RemapTally } {
  const read = db.prepare<[bigint, bigint], KindRow>(KINDS);
  const counts = new Map<string, number>();
  const [v3, v4Only] = [
    { records: 0, children: 0 },
    { records: 0, children: 0 },
  ];
  let [total, open] = [0, 0];
  return {
    add: (from, to) => {
      for (const { status, reason, isRecord, hasV3, hasV4, n } of read.all(from, to)) {
        const rows = Number(n);
        const name = reason === null ? status : `${status}/${reason}`;
        counts.set(name, (counts.get(name) ?? 0) + rows);
        total += rows;
        (hasV3 === 1n ? v3 : v4Only)[isRecord === 1n ? 'records' : 'children'] += rows;
        if (reason === 'absent' || (status === 'matched' && hasV3 * hasV4 === 0n)) open += rows;
      }
    },
    finish: () => {
      const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
      return { counts: Object.fromEntries(sorted), rows: total, v3, v4Only, open };
    },
  };
}

export interface Conservation {
  readonly v3Records: number;
  readonly v3Children: number;
  readonly v4Records: number;
  readonly v4Children: number;
  readonly rows: number;
}

/**
 * Checks that every exported V3 record and child is in exactly one row, and every V4 one in at least one, by counting.
 *
 * @param claimed how many distinct V4 records and children are paired with V3 ones
 * @throws SvcError `internal`: a remap that fails is a bug, and is discarded
 */
export function assertConserved(db: Db, tally: Omit<RemapTally, 'counts'>, claimed: Kinds): Conservation {
  const found = readFound(db);
  const { v3, v4Only, rows, open } = tally;
  const seen = {
    v3Records: v3.records,
    v3Children: v3.children,
    v4Records: v4Only.records + claimed.records,
    v4Children: v4Only.children + claimed.children,
  };
  const conserved = { ...seen, rows };
  if (JSON.stringify(found) === JSON.stringify(seen) && open === 0) return conserved;
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts: { found: JSON.stringify(found), rows: JSON.stringify(seen), total: rows, open },
  });
}

function readFound(db: Db): Record<string, number> {
  const count = (generation: 3 | 4) => `
    ifnull(sum(generation = ${generation}), 0) AS v${generation}Records,
    ifnull(sum(iif(generation = ${generation}, json_array_length(children), 0)), 0) AS v${generation}Children`;
  const sql = `SELECT ${count(3)}, ${count(4)} FROM record CROSS JOIN scope_stream USING (stream_id)`;
  return { ...db.prepare<[], Record<string, number>>(sql).safeIntegers(false).get() };
}
