import type { Decision } from '../config/decisions-file.js';
import { parseChildren, type StoredChild } from '../json/stored-lists.js';
import type { Db } from '../store/open.js';
import { decideChildren } from './decide-children.js';
import type { Decisions } from './decisions.js';
import { type ChildRow, judgeChildren } from './judge-children.js';
import type { DecisionVerdict } from './judge-decision.js';

/**
 * Writes the children of V4 records that several V3 records became, and of these, to `shared_child`. A V4 child that
 * no V3 child became has one row, without a V3 record.
 *
 * Only deleted records share a twin, so all of these children inherit the reason of their pair, and decisions about them
 * are judged but never taken.
 *
 * @returns how many V4 children V3 ones became
 */
export function saveSharedChildren(db: Db, decisions: Decisions, assertGoing: () => void): number {
  db.exec(`
    CREATE TEMP TABLE shared_child(
      v3_record_id INTEGER, v4_record_id INTEGER NOT NULL, path TEXT NOT NULL, v3_svc_id INTEGER, v4_svc_id INTEGER,
      platform_id TEXT, status TEXT NOT NULL, reason TEXT, matched_by TEXT, evidence TEXT, conflict INTEGER NOT NULL
    ) STRICT`);
  const save = prepareSave(db);
  let claimed = 0;
  for (const { twin, children, reason, v3Records } of readSharedTwins(db)) {
    const shared = new SharedTwin(parseChildren(children), reason);
    for (const [v3Record, v3Children] of v3Records) {
      assertGoing();
      const v3 = parseChildren(v3Children);
      const rows = shared.judge(v3);
      for (const row of rows) save(v3Record, twin, row);
      const decided = decisions.ofChildren.get(Number(v3Record)) ?? [];
      for (const [line, verdict] of shared.judgeDecisions(v3, rows, decided)) {
        decisions.verdicts.set(line, verdict);
      }
    }
    for (const row of shared.listUnclaimed()) save(null, twin, row);
    claimed += shared.claimed;
  }
  return claimed;
}

interface SharedPairs {
  readonly twin: bigint;
  readonly children: string;
  readonly reason: string;
  /** With their children, by row id. */
  readonly v3Records: Iterable<readonly [v3Record: bigint, children: string]>;
}

function* readSharedTwins(db: Db): Generator<SharedPairs> {
  db.exec(`
    CREATE TEMP TABLE shared_pair(
      v4_record_id INTEGER NOT NULL, v3_record_id INTEGER NOT NULL, PRIMARY KEY (v4_record_id, v3_record_id)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO shared_pair SELECT v4_record_id, v3_record_id FROM pair WHERE is_shared;
  `);
  const readTwin = db
    .prepare<[bigint], [twin: bigint, children: string, reason: string]>(`
      SELECT id, ifnull(children, '[]'), iif(deleted, 'deleted_in_both', 'deleted_in_v3')
        FROM record WHERE id = (SELECT min(v4_record_id) FROM shared_pair WHERE v4_record_id > ?)`)
    .raw();
  const readNext = db
    .prepare<[bigint, bigint], [v3Record: bigint, children: string]>(`
      SELECT record.id, ifnull(record.children, '[]')
        FROM shared_pair CROSS JOIN record ON record.id = v3_record_id
        WHERE v4_record_id = ? AND v3_record_id > ? ORDER BY v3_record_id LIMIT 1`)
    .raw();
  function* readV3(twin: bigint): Generator<[v3Record: bigint, children: string]> {
    for (let row = readNext.get(twin, 0n); row !== undefined; row = readNext.get(twin, row[0])) yield row;
  }
  for (let row = readTwin.get(0n); row !== undefined; row = readTwin.get(row[0])) {
    const [twin, children, reason] = row;
    yield { twin, children, reason, v3Records: readV3(twin) };
  }
}

function prepareSave(db: Db): (v3Record: bigint | null, twin: bigint, row: ChildRow) => void {
  const insert = db.prepare('INSERT INTO shared_child VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  return (v3Record, twin, [, path, v3SvcId, v4SvcId, key, status, reason, by, evidence, conflict]) => {
    const ids = [v3SvcId, v4SvcId].map((id) => (id === null ? null : BigInt(id)));
    insert.run(v3Record, twin, path, ...ids, key, status, reason, by, evidence, BigInt(conflict));
  };
}

/**
 * Judges the children of one V4 record against those of each V3 record that became it. Children are only compared with
 * those of their own path and key, so each list costs what it holds and not what the twin holds.
 */
class SharedTwin {
  readonly #children: readonly StoredChild[];
  readonly #byKey = new Map<string, StoredChild[]>();
  readonly #reason: string;
  /** Rows of V4 children that a list left over, with evidence if any list gave some: the last one. */
  readonly #leftOver = new Map<string, ChildRow>();
  readonly #claimed = new Set<string>();

  constructor(children: readonly StoredChild[], reason: string) {
    this.#children = children;
    this.#reason = reason;
    for (const child of children) {
      const known = this.#byKey.get(keyOf(child));
      if (known === undefined) this.#byKey.set(keyOf(child), [child]);
      else known.push(child);
    }
  }

  get claimed(): number {
    return this.#claimed.size;
  }

  /** The rows of a V3 record's children. */
  judge(v3: readonly StoredChild[]): readonly ChildRow[] {
    const keys = new Set(v3.filter(([, , key]) => key !== null).map(keyOf));
    const candidates = [...keys].flatMap((key) => this.#byKey.get(key) ?? []);
    const rows = judgeChildren(v3, candidates, this.#reason);
    for (const [, path, , v4SvcId] of rows.v3) if (v4SvcId !== null) this.#claimed.add(`${path} ${v4SvcId}`);
    for (const row of rows.v4)
      if (row[EVIDENCE] !== null) this.#leftOver.set(`${row[PATH]} ${row[V4_ID]}`, row);
    return rows.v3;
  }

  judgeDecisions(
    v3: readonly StoredChild[],
    rows: readonly ChildRow[],
    decisions: readonly Decision[],
  ): ReadonlyMap<number, DecisionVerdict> {
    if (decisions.length === 0) return new Map();
    const children = { v3, v4: this.#children, parentsMatched: false };
    return decideChildren({ v3: rows, v4: [] }, children, decisions).verdicts;
  }

  /** The rows of V4 children that no V3 child became. */
  listUnclaimed(): readonly ChildRow[] {
    const nameOf = (row: ChildRow) => `${row[PATH]} ${row[V4_ID]}`;
    return judgeChildren([], this.#children, this.#reason)
      .v4.filter((row) => !this.#claimed.has(nameOf(row)))
      .map((row) => this.#leftOver.get(nameOf(row)) ?? row);
  }
}

const PATH = 1;
const V4_ID = 3;
const EVIDENCE = 8;

function keyOf([path, , key]: StoredChild): string {
  return `${path}\0${key}`;
}
