import type { Config } from '../config/config.js';
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
import { createPairedModels, pairedModelId, pairedModelSql } from './scope.js';

/**
 * Gives every record its outcome: pairs are in `pair`, and `record_outcome` has one row for each record of either
 * generation that is in no pair. The reason `absent` (the other generation has no record with the key) is replaced by
 * `explainRecords`.
 */
export function matchRecords(db: Db, config: Config, throwIfStopped: () => void): void {
  createPairedModels(db, config);
  createViews(db);
  joinRecords(db, throwIfStopped);
  saveV3Outcomes(db);
  saveV4Outcomes(db);
}

/**
 * Views of the records with their stream and company. CROSS JOIN keeps SQLite's join order, so that records are read
 * sequentially by rowid.
 */
function createViews(db: Db): void {
  db.exec(`
    CREATE TEMP VIEW v3_record AS
      SELECT record.id, record.svc_id, record.platform_id, record.unique_id, record.deleted, record.company_id, record.children,
          stream.model_id, stream.region, stream.read_in_full,
          company.paired_id, company.matched_by AS company_matched_by, company.scope_complete,
          ${pairedModelSql('stream.model_id', 'company.paired_id')} AS paired_model_id
        FROM record CROSS JOIN scope_stream AS stream ON stream.stream_id = record.stream_id
        CROSS JOIN scope_v3_company AS company
          ON company.region = stream.region AND company.company_id = record.company_id
        WHERE stream.generation = 3;
    CREATE TEMP VIEW v4_record AS
      SELECT record.id, record.svc_id, record.platform_id, record.unique_id, record.deleted, record.company_id, record.children,
          stream.model_id, stream.read_in_full,
          company.paired_id, company.matched_by AS company_matched_by, company.scope_complete,
          ${pairedModelSql('stream.model_id', 'company.id')} AS paired_model_id
        FROM record CROSS JOIN scope_stream AS stream ON stream.stream_id = record.stream_id
        CROSS JOIN scope_v4_company AS company ON company.company_id = record.company_id
        WHERE stream.generation = 4;
    CREATE TEMP TABLE record_outcome(
      record_id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, evidence TEXT,
      paired_model_id INTEGER
    ) STRICT;
  `);
}

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
function joinRecords(db: Db, throwIfStopped: () => void): void {
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

function saveV3Outcomes(db: Db): void {
  db.exec(`
    INSERT INTO record_outcome
    SELECT id, 3,
        CASE
          WHEN reason IN ('duplicate_platform_id_v3', 'duplicate_platform_id_v4') THEN 'ambiguous'
          WHEN deleted AND reason <> 'scope_incomplete' THEN 'deleted'
          ELSE 'unmatched'
        END,
        reason, evidence, paired_model_id
      FROM (
        SELECT r.id, r.deleted, verdict.evidence, r.paired_model_id,
            CASE
              WHEN r.deleted AND r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL AND NOT r.scope_complete THEN 'scope_incomplete'
              WHEN r.paired_id IS NOT NULL AND r.platform_id IS NULL AND NOT paired_model.v4_read_in_full
                THEN 'scope_incomplete'
              WHEN r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL
                THEN iif(r.company_matched_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v4')
              WHEN paired_model.v4_absent THEN 'model_not_in_v4'
              WHEN verdict.kind = 'superseded' THEN 'superseded_in_v3'
              WHEN verdict.kind = 'dup_v3' THEN 'duplicate_platform_id_v3'
              WHEN verdict.kind = 'dup_v4' THEN 'duplicate_platform_id_v4'
              WHEN NOT paired_model.v4_read_in_full THEN 'scope_incomplete'
              WHEN r.deleted THEN 'deleted_not_in_v4'
              ELSE 'absent'
            END AS reason
          FROM v3_record AS r LEFT JOIN paired_model ON paired_model.id = r.paired_model_id
          LEFT JOIN group_verdict AS verdict ON verdict.record_id = r.id
          WHERE r.id NOT IN (SELECT v3_record_id FROM pair) ORDER BY r.id);
  `);
}

function saveV4Outcomes(db: Db): void {
  db.exec(`
    INSERT INTO record_outcome
    SELECT id, 4,
        CASE
          WHEN reason IN ('duplicate_platform_id_v3', 'duplicate_platform_id_v4') THEN 'ambiguous'
          WHEN reason IN ('superseded_in_v4', 'deleted_v4_only') THEN 'deleted'
          ELSE 'v4_only'
        END,
        reason, evidence, paired_model_id
      FROM (
        SELECT r.id, verdict.evidence, r.paired_model_id,
            CASE
              WHEN verdict.kind = 'superseded' THEN 'superseded_in_v4'
              WHEN r.paired_id IS NULL AND NOT r.scope_complete THEN 'scope_incomplete'
              WHEN r.paired_id IS NULL AND r.deleted THEN 'deleted_v4_only'
              WHEN verdict.kind = 'dup_v4' THEN 'duplicate_platform_id_v4'
              WHEN verdict.kind = 'dup_v3' THEN 'duplicate_platform_id_v3'
              WHEN r.paired_id IS NOT NULL AND NOT paired_model.v3_read_in_full THEN 'scope_incomplete'
              WHEN r.deleted THEN 'deleted_v4_only'
              WHEN r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL
                THEN iif(r.company_matched_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v3')
              ELSE 'absent'
            END AS reason
          FROM v4_record AS r LEFT JOIN paired_model ON paired_model.id = r.paired_model_id
          LEFT JOIN group_verdict AS verdict ON verdict.record_id = r.id
          WHERE r.id NOT IN (SELECT id FROM claimed_record) ORDER BY r.id);
  `);
}
