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

/** Rows digested and counted at once: a row each in JavaScript costs twice as much. */
const SLICE = 500;

/** The rows from a rowid on as text, a line each, with the last of their rowids. */
const TEXTS = `
  SELECT group_concat(text, char(10)), max(at), count(*)
    FROM (SELECT ${ROW_TEXT} AS text, rowid AS at FROM remap WHERE rowid >= ? ORDER BY rowid LIMIT ${SLICE})`;

const KINDS = `
  SELECT status, reason, path = '', v3_svc_id IS NOT NULL, v4_svc_id IS NOT NULL, count(*)
    FROM remap WHERE rowid BETWEEN ? AND ? GROUP BY 1, 2, 3, 4, 5`;

type TextsRow = [texts: string | null, last: bigint | null, rows: bigint];
type KindRow = [
  status: string,
  reason: string | null,
  isRecord: bigint,
  hasV3: bigint,
  hasV4: bigint,
  rows: bigint,
];

const LOWEST_ROWID = -(2n ** 63n);

/** Reads the whole remap once. */
export function tallyRemap(db: Db): Tally {
  const hash = createHash('sha256');
  const running = { counts: new Map<string, number>(), v3: noRows(), v4Only: noRows(), rows: 0, open: 0 };
  const readTexts = db.prepare<[bigint], TextsRow>(TEXTS).raw();
  const readKinds = db.prepare<[bigint, bigint], KindRow>(KINDS).raw();
  for (let from = LOWEST_ROWID; ; ) {
    const [texts = null, last = null, rows = 0n] = readTexts.get(from) ?? [];
    if (texts === null || last === null) break;
    hash.update(texts).update('\n');
    for (const kind of readKinds.all(from, last)) addKind(running, kind);
    if (rows < SLICE) break;
    from = last + 1n;
  }
  const sorted = [...running.counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...running, sha256: hash.digest('hex'), counts: Object.fromEntries(sorted) };
}

interface Running {
  readonly counts: Map<string, number>;
  readonly v3: ReturnType<typeof noRows>;
  readonly v4Only: ReturnType<typeof noRows>;
  rows: number;
  open: number;
}

const noRows = () => ({ records: 0, children: 0 });

function addKind(running: Running, [status, reason, isRecord, hasV3, hasV4, count]: KindRow): void {
  const rows = Number(count);
  const name = reason === null ? status : `${status}/${reason}`;
  running.counts.set(name, (running.counts.get(name) ?? 0) + rows);
  running.rows += rows;
  running[hasV3 === 1n ? 'v3' : 'v4Only'][isRecord === 1n ? 'records' : 'children'] += rows;
  if (reason === 'absent' || (status === 'matched' && hasV3 * hasV4 === 0n)) running.open += rows;
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
  const found = readFound(db);
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

function readFound(db: Db): Record<string, number> {
  const count = (gen: 3 | 4) => `
    ifnull(sum(x.gen = ${gen}), 0) AS v${gen}Records,
    ifnull(sum(iif(x.gen = ${gen}, json_array_length(r.children), 0)), 0) AS v${gen}Children`;
  const found = db
    .prepare<[], Record<string, number>>(
      `SELECT ${count(3)}, ${count(4)} FROM record AS r CROSS JOIN x ON x.stream_id = r.stream_id`,
    )
    .safeIntegers(false)
    .get();
  return { ...found };
}
