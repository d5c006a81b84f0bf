import { parseChildren } from '../records/child-list.js';
import type { Db } from '../store/open.js';
import { judgeChildren, type Kid, type KidRow, type KidRows, kidsOf } from './judge-children.js';
import type { Pairs } from './pairs.js';

/** Pairs read at once: nothing can be written while a query is read. */
const CHUNK = 500;

/**
 * Gives the children of every pair of records their outcomes, in `kin`: per parent a JSON list of `KidRow`s. Children
 * of all other records take their parent's outcome; they are not listed. Returns how many V4 children V3 ones became.
 */
export function matchChildren(db: Db, pairs: Pairs): number {
  db.exec(`
    CREATE TEMP TABLE kin(
      gen INTEGER NOT NULL, parent INTEGER NOT NULL, provisional INTEGER NOT NULL, kids TEXT NOT NULL
    ) STRICT`);
  const insert = db.prepare('INSERT INTO kin VALUES (?, ?, ?, ?)');
  const save = (gen: 3 | 4, parent: bigint, provisional: bigint, rows: readonly KidRow[]): void => {
    if (rows.length > 0) insert.run(BigInt(gen), parent, provisional, JSON.stringify(rows));
  };
  const shared = new SharedTwins();
  let pointed = 0;
  for (const { id, twin, outcome, provisional, kids } of readParents(db)) {
    const rows = judgeChildren(kids, outcome);
    save(3, id, provisional, rows.v3);
    if (pairs.isShared(Number(twin))) {
      shared.add(twin, rows);
      continue;
    }
    save(4, twin, 0n, rows.v4);
    pointed += kids.filter(({ gen }) => gen === 4).length - rows.v4.length;
  }
  for (const one of shared.list()) {
    save(4, one.twin, 0n, one.rows);
    pointed += one.pointed;
  }
  return pointed;
}

interface Parent {
  readonly id: bigint;
  readonly twin: bigint;
  readonly outcome: string;
  readonly provisional: bigint;
  readonly kids: readonly Kid[];
}

/** A pair's outcome, over `r` and its twin `t`. */
export const PAIR_OUTCOME = `
  CASE r.deleted * 2 + t.deleted
    WHEN 0 THEN 'matched' WHEN 1 THEN 'deleted/deleted_in_v4' WHEN 2 THEN 'deleted/deleted_in_v3'
    ELSE 'deleted/deleted_in_both' END`;

/** Whether a pair was found in streams that were not all read in full, over `r` and its place `p`. */
export const PAIR_PROVISIONAL = 'NOT (r.in_full AND p.v4_full AND p.settled)';

type Row = [
  id: bigint,
  twin: bigint,
  outcome: string,
  provisional: bigint,
  v3: string | null,
  v4: string | null,
];

/** Pairs of records with children on either side, in the order of the V3 records. */
function* readParents(db: Db): Generator<Parent> {
  const read = db
    .prepare<[bigint], Row>(`
      SELECT r.id, t.id, ${PAIR_OUTCOME}, ${PAIR_PROVISIONAL}, r.children, t.children
        FROM rec3 AS r CROSS JOIN record AS t ON t.id = twin_of(r.id) CROSS JOIN place AS p ON p.place = r.place
        WHERE r.id > ? AND (r.children IS NOT NULL OR t.children IS NOT NULL) ORDER BY r.id LIMIT ${CHUNK}`)
    .raw();
  for (let last = 0n; ; ) {
    const rows = read.all(last);
    for (const [id, twin, outcome, provisional, v3, v4] of rows) {
      last = id;
      const kids = [
        ...(v3 === null ? [] : kidsOf(3, parseChildren(v3))),
        ...(v4 === null ? [] : kidsOf(4, parseChildren(v4))),
      ];
      yield { id, twin, outcome, provisional, kids };
    }
    if (rows.length < CHUNK) return;
  }
}

/**
 * V4 records that several deleted V3 records became: a child that none of these points at has the row that the first
 * gives it, with the last evidence there is.
 */
class SharedTwins {
  readonly #twins = new Map<bigint, { left: Map<string, KidRow>; readonly pointed: Set<string> }>();

  add(twin: bigint, rows: KidRows): void {
    const known = this.#twins.get(twin) ?? { left: new Map<string, KidRow>(), pointed: new Set<string>() };
    this.#twins.set(twin, known);
    for (const [path, , v4SvcId] of rows.v3) if (v4SvcId !== null) known.pointed.add(`${path} ${v4SvcId}`);
    for (const row of rows.v4) {
      const name = `${row[PATH]} ${row[V4_ID]}`;
      // all of them inherit from deleted records of one key, so that only the evidence can differ
      if (row[EVIDENCE] !== null || !known.left.has(name)) known.left.set(name, row);
    }
  }

  *list(): Generator<{ twin: bigint; rows: readonly KidRow[]; pointed: number }> {
    for (const [twin, { left, pointed }] of this.#twins) {
      const rows = [...left].filter(([name]) => !pointed.has(name)).map(([, row]) => row);
      yield { twin, rows, pointed: pointed.size };
    }
  }
}

const PATH = 0;
const V4_ID = 2;
const EVIDENCE = 6;
