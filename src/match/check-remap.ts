import { createHash } from 'node:crypto';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';

/** What the rows of a remap amount to. */
export interface Tally {
  /** sha256 over every row in order: equal digests are equal remaps. */
  readonly sha256: string;
  /** Rows by `status` or `status/reason`, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly rows: number;
  /** Rows with a V3 id, and those without. */
  readonly v3: Kinds;
  readonly v4Only: Kinds;
  /** Rows that no remap may have. */
  readonly open: number;
}

interface Kinds {
  readonly records: number;
  readonly children: number;
}

/** A row as `JSON.stringify` would write its values in the table's order; integers as text, exact beyond 2^53. */
const ROW_TEXT = `json_array(model, path, region, CAST(v3_company_id AS TEXT), CAST(v4_company_id AS TEXT), platform_id,
  parent_platform_id, CAST(v3_svc_id AS TEXT), CAST(v4_svc_id AS TEXT), status, reason, matched_by, evidence,
  CAST(unique_id_conflict AS TEXT))`;

type Row = [
  text: string,
  status: string,
  reason: string | null,
  isRecord: number,
  hasV3: number,
  hasV4: number,
];

/** Rows hashed at once. */
const BLOCK = 500;

/** Reads the whole remap once. */
export function tallyRemap(db: Db): Tally {
  const hash = createHash('sha256');
  const counts = new Map<string, number>();
  const v3 = { records: 0, children: 0 };
  const v4Only = { records: 0, children: 0 };
  let rows = 0;
  let open = 0;
  let block = '';
  const read = db
    .prepare<[], Row>(`
      SELECT ${ROW_TEXT}, status, reason, path = '', v3_svc_id IS NOT NULL, v4_svc_id IS NOT NULL
      FROM remap ORDER BY rowid`)
    .raw()
    .safeIntegers(false);
  for (const [text, status, reason, isRecord, hasV3, hasV4] of read.iterate()) {
    block += `${text}\n`;
    rows += 1;
    if (rows % BLOCK === 0) {
      hash.update(block);
      block = '';
    }
    const side = hasV3 === 1 ? v3 : v4Only;
    side[isRecord === 1 ? 'records' : 'children'] += 1;
    const name = reason === null ? status : `${status}/${reason}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (reason === 'absent' || (status === 'matched' && hasV3 * hasV4 === 0)) open += 1;
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    sha256: hash.update(block).digest('hex'),
    counts: Object.fromEntries(sorted),
    rows,
    v3,
    v4Only,
    open,
  };
}

/** sha256 over every row in order: equal digests are equal remaps. */
export function digestRemap(db: Db): string {
  return tallyRemap(db).sha256;
}

export interface Conservation {
  readonly v3Records: number;
  readonly v3Children: number;
  readonly v4Records: number;
  readonly v4Children: number;
  readonly rows: number;
}

/**
 * Every exported V3 record and child is in exactly one row, every V4 one in at least one; counts add up. `pointed`:
 * distinct V4 records and children that V3 ones became.
 *
 * @throws SvcError `internal`: a remap that breaks this is a bug and is never shown
 */
export function assertConserved(db: Db, tally: Tally, pointed: Kinds): Conservation {
  const found = { ...readFound(db, 3), ...readFound(db, 4) };
  const { v3, v4Only, rows, open } = tally;
  const seen = {
    v3Records: v3.records,
    v3Children: v3.children,
    v4Records: v4Only.records + pointed.records,
    v4Children: v4Only.children + pointed.children,
  };
  const conserved = { ...seen, rows };
  if (JSON.stringify(found) === JSON.stringify(seen) && open === 0) return conserved;
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts: { found: JSON.stringify(found), rows: JSON.stringify(seen), total: rows, open },
  });
}

function readFound(db: Db, gen: 3 | 4): Record<string, number> {
  const [records = 0, children = 0] = db
    .prepare(`
      SELECT count(*), ifnull(sum(json_array_length(r.children)), 0)
      FROM record AS r CROSS JOIN x ON x.stream_id = r.stream_id WHERE x.gen = ?`)
    .raw()
    .safeIntegers(false)
    .get(gen) as number[];
  return { [`v${gen}Records`]: records, [`v${gen}Children`]: children };
}
