import { prepareInsertRows, type Value } from '../store/insert-rows.js';
import type { Db } from '../store/open.js';
import { type GroupVerdict, type KeyMember, pairReason } from './judge-group.js';

/** A record as a pair needs it. */
interface PairMember extends KeyMember {
  /** Its row id. */
  readonly id: number;
}

/**
 * Creates the tables of what V3 records became:
 *
 * - `pair`: a row for each V3 record that became a V4 record. `reason` is that of its row in the remap (null: both are
 *   live); `is_shared`: other V3 records became the same V4 record, which only deleted ones do; `evidence`: of decisions
 * - `claimed_record`: the V4 records of these pairs
 *
 * Pairs are found in the order of their keys and kept in `found_pair` until `savePairs` sorts them by row id: inserted as
 * they are found, each would need another page.
 */
export function createPairs(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE found_pair(
      v3_record_id INTEGER NOT NULL, v4_record_id INTEGER NOT NULL, paired_model_id INTEGER NOT NULL, reason TEXT,
      matched_by TEXT NOT NULL, is_shared INTEGER NOT NULL
    ) STRICT;
    CREATE TEMP TABLE pair(
      v3_record_id INTEGER PRIMARY KEY, v4_record_id INTEGER NOT NULL, paired_model_id INTEGER NOT NULL, reason TEXT,
      matched_by TEXT NOT NULL, is_shared INTEGER NOT NULL, evidence TEXT
    ) STRICT;
    CREATE TEMP TABLE claimed_record(id INTEGER PRIMARY KEY) STRICT;
  `);
}

/** Pairs that wait to be inserted together. */
const WAITING = 512;

/** Collects the pairs of groups; `save` sorts them into `pair` and `claimed_record`. */
export class PairCollector {
  readonly #db: Db;
  readonly #insert;
  #waiting: (readonly Value[])[] = [];

  constructor(db: Db) {
    this.#db = db;
    this.#insert = prepareInsertRows(db, 'INSERT INTO found_pair', 6);
  }

  /** Takes those of a group that became a V4 record; `verdicts` in the order of its `members`. */
  add(
    members: readonly PairMember[],
    verdicts: readonly GroupVerdict<PairMember>[],
    pairedModel: number,
  ): void {
    const times = members.length > 2 ? countPairs(verdicts) : null;
    for (const [at, verdict] of verdicts.entries()) {
      const one = members[at];
      if (one === undefined || verdict.kind !== 'pair') continue;
      const { twin, by } = verdict;
      const isShared = (times?.get(twin) ?? 1) > 1 ? 1 : 0;
      const reason = pairReason(one.deleted, twin.deleted);
      this.#waiting.push([one.id, twin.id, pairedModel, reason, by, isShared]);
    }
    if (this.#waiting.length >= WAITING) this.#flush();
  }

  save(): void {
    this.#flush();
    this.#db.exec(`
      INSERT INTO pair SELECT *, NULL FROM found_pair ORDER BY v3_record_id;
      INSERT INTO claimed_record SELECT DISTINCT v4_record_id FROM found_pair ORDER BY v4_record_id;
      DROP TABLE found_pair;
    `);
  }

  #flush(): void {
    const rows = this.#waiting.splice(0);
    this.#insert(rows.length, (values, to, at) => {
      for (const [column, value] of rows[at]?.entries() ?? []) values[to + column] = value;
    });
  }
}

/** How many pairs each twin is in. */
function countPairs(verdicts: readonly GroupVerdict<PairMember>[]): ReadonlyMap<PairMember, number> {
  const times = new Map<PairMember, number>();
  for (const one of verdicts) if (one.kind === 'pair') times.set(one.twin, (times.get(one.twin) ?? 0) + 1);
  return times;
}
