import type { Db } from '../store/open.js';
import { prepareInsertRows, type Value } from '../store/records.js';
import { groupBy } from '../text/group-by.js';
import {
  type GroupIds,
  type GroupVerdict,
  judgeGroup,
  listGroupIds,
  pairReason,
  renderGroupEvidence,
} from './judge-group.js';
import { type KeyedRecord, walkKeyed } from './keyed.js';
import { pairedModelId } from './scope.js';

/**
 * Judges all records by paired model and key, and fills these tables:
 *
 * - `pair`: V3 records with their V4 record. `reason` is the reason in the remap (null: both are live); `is_shared` says
 *   that other V3 records have the same V4 record, which happens only to deleted ones; `evidence` is set by decisions.
 * - `claimed_record`: the V4 records of these pairs.
 * - `group_verdict`: records that share their key with others and are in no pair; `evidence` names the others.
 *
 * A record in none of them has a key that the other generation lacks, or is not compared.
 */
export function joinRecords(db: Db, throwIfStopped: () => void): void {
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
    CREATE TEMP TABLE group_verdict(record_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, evidence TEXT NOT NULL) STRICT;
  `);
  const scopeOf = prepareScopeOf(db);
  const pairs = prepareSavePairs(db);
  const saveVerdicts = prepareSaveVerdicts(db);
  walkKeyed(db, { fieldDigests: false, throwIfStopped }, (group, model) => {
    for (const [pairedModel, members] of groupBy(group, (one) => scopeOf(model, one))) {
      if (pairedModel === null) continue;
      const verdicts = judgeGroup(members);
      pairs.add(members, verdicts, pairedModel);
      saveVerdicts(members, verdicts);
    }
  });
  pairs.flush();
  // pairs are found in the order of keys: inserting them directly would touch a different page for each
  db.exec(`
    INSERT INTO pair SELECT *, NULL FROM found_pair ORDER BY v3_record_id;
    INSERT INTO claimed_record SELECT DISTINCT v4_record_id FROM found_pair ORDER BY v4_record_id;
    DROP TABLE found_pair;
  `);
}

/** Makes the function that returns the paired model in which a record is compared; null if it is not compared. */
function prepareScopeOf(db: Db): (model: number, one: KeyedRecord) => number | null {
  const read = (sql: string) => db.prepare(sql).raw().safeIntegers(false).all() as [number, number][];
  const pairedCompany = new Map(
    read('SELECT id, paired_id FROM scope_v3_company WHERE paired_id IS NOT NULL'),
  );
  const absent = new Set(read('SELECT id FROM paired_model WHERE v4_absent').map(([id]) => id));
  return (model, { gen, company }) => {
    const v4Company = gen === 4 ? company : pairedCompany.get(company);
    const id = v4Company === undefined ? null : pairedModelId(model, v4Company);
    return id === null || absent.has(id) ? null : id;
  };
}

type Members = readonly KeyedRecord[];
type Verdicts = readonly GroupVerdict<KeyedRecord>[];

/** Pairs that are inserted together. */
const BATCH = 512;

function prepareSavePairs(db: Db) {
  const insert = prepareInsertRows(db, 'INSERT INTO found_pair', 6);
  let waiting: (readonly Value[])[] = [];
  const flush = (): void => {
    insert(waiting.length, (values, to, at) => {
      for (const [column, value] of waiting[at]?.entries() ?? []) values[to + column] = value;
    });
    waiting = [];
  };
  const add = (members: Members, verdicts: Verdicts, pairedModel: number): void => {
    const times = members.length > 2 ? countPairs(verdicts) : null;
    for (const [at, verdict] of verdicts.entries()) {
      const one = members[at];
      if (one === undefined || verdict.kind !== 'pair') continue;
      const { twin, by } = verdict;
      const isShared = (times?.get(twin) ?? 1) > 1 ? 1 : 0;
      waiting.push([one.id, twin.id, pairedModel, pairReason(one.deleted, twin.deleted), by, isShared]);
    }
    if (waiting.length >= BATCH) flush();
  };
  return { add, flush };
}

/** How many pairs each twin is in. */
function countPairs(verdicts: Verdicts): ReadonlyMap<KeyedRecord, number> {
  const times = new Map<KeyedRecord, number>();
  for (const one of verdicts) if (one.kind === 'pair') times.set(one.twin, (times.get(one.twin) ?? 0) + 1);
  return times;
}

function prepareSaveVerdicts(db: Db): (members: Members, verdicts: Verdicts) => void {
  const insert = db.prepare('INSERT INTO group_verdict VALUES (?, ?, ?)');
  const readId = db.prepare<[number], bigint>('SELECT svc_id FROM record WHERE id = ?').pluck();
  return (members, verdicts) => {
    let groupIds: GroupIds | undefined;
    for (const [at, { kind }] of verdicts.entries()) {
      const one = members[at];
      if (one === undefined || kind === 'pair' || kind === 'claimed' || kind === 'absent') continue;
      groupIds ??= listGroupIds(members, ({ id }) => readId.get(id) ?? 0n);
      insert.run(one.id, kind, renderGroupEvidence(kind, one.gen, groupIds));
    }
  };
}
