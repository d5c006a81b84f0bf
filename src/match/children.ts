import type { Db } from '../store/open.js';
import { clearJoinTables, joinSides } from './join.js';
import { addGroupEvidence, explainNearKeys } from './near-keys.js';

/** A record has fewer than this many child fields; a child's place is `parent * FIELDS + field`. */
const FIELDS = 1000;

/**
 * Gives every child its outcome, in `kid_result`, from its parent's. Children of a parent pair join by the
 * same table as records; all others take their parent's status and `parent_` + its reason.
 */
export function matchChildren(db: Db): void {
  createKids(db);
  clearJoinTables(db);
  fillSide(db);
  joinSides(db);
  saveV3Results(db);
  saveV4Results(db);
  explainChildren(db);
}

/** `kid` numbers the children; `kin` names the pair a V3 parent stands in. */
function createKids(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE field(ix INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO field(path) SELECT DISTINCT path FROM child ORDER BY path;
    CREATE TEMP TABLE kid(
      id INTEGER PRIMARY KEY, gen INTEGER NOT NULL, parent INTEGER NOT NULL, field INTEGER NOT NULL,
      svc_id INTEGER NOT NULL, platform_id TEXT, unique_id TEXT, deleted INTEGER NOT NULL
    ) STRICT;
    INSERT INTO kid(gen, parent, field, svc_id, platform_id, unique_id, deleted)
      SELECT x.gen, k.record_id, f.ix, k.svc_id, k.platform_id, k.unique_id, k.deleted
        FROM child k JOIN record r ON r.id = k.record_id JOIN x ON x.stream_id = r.stream_id JOIN field f ON f.path = k.path
        ORDER BY k.record_id, k.path, k.svc_id;
    CREATE TEMP TABLE kid_result(
      gen INTEGER NOT NULL, id INTEGER NOT NULL, twin INTEGER, outcome TEXT NOT NULL, by TEXT,
      evidence TEXT, provisional INTEGER NOT NULL, conflict INTEGER NOT NULL, place INTEGER,
      PRIMARY KEY (gen, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX temp.kid_parent ON kid(gen, parent);
  `);
}

/** CROSS JOIN fixes the order: temporary tables have no statistics, and the other order is quadratic. */
function fillSide(db: Db): void {
  db.exec(`
    INSERT INTO side SELECT p.id * ${FIELDS} + k.field, k.platform_id, 3, k.deleted, k.id, k.svc_id, k.unique_id
      FROM rec_result p CROSS JOIN kid k ON k.gen = 3 AND k.parent = p.id
      WHERE p.gen = 3 AND p.twin IS NOT NULL AND k.platform_id IS NOT NULL;
    INSERT INTO side SELECT p.id * ${FIELDS} + k.field, k.platform_id, 4, k.deleted, k.id, k.svc_id, k.unique_id
      FROM rec_result p CROSS JOIN kid k ON k.gen = 4 AND k.parent = p.twin
      WHERE p.gen = 3 AND p.twin IS NOT NULL AND k.platform_id IS NOT NULL;
  `);
}

/** The parent's outcome as its children carry it. */
const INHERITED = `substr(p.outcome, 1, instr(p.outcome, '/')) || 'parent_' || substr(p.outcome, instr(p.outcome, '/') + 1)`;

function saveV3Results(db: Db): void {
  db.exec(`
    INSERT INTO kid_result
    SELECT 3, k.id, v.twin,
        CASE
          WHEN p.outcome <> 'matched' THEN ${INHERITED}
          WHEN k.platform_id IS NULL THEN iif(k.deleted, 'deleted/', 'unmatched/') || 'no_platform_id'
          WHEN v.kind = 'superseded' THEN 'deleted/superseded_in_v3'
          WHEN v.kind = 'dup_v3' THEN 'ambiguous/duplicate_platform_id_v3'
          WHEN v.kind = 'dup_v4' THEN 'ambiguous/duplicate_platform_id_v4'
          WHEN v.kind = 'absent' THEN iif(k.deleted, 'deleted/deleted_not_in_v4', 'unmatched/absent')
          WHEN k.deleted AND t.deleted THEN 'deleted/deleted_in_both'
          WHEN k.deleted THEN 'deleted/deleted_in_v3'
          WHEN t.deleted THEN 'deleted/deleted_in_v4'
          ELSE 'matched'
        END,
        v.by, NULL, p.provisional AND v.twin IS NOT NULL, ifnull(v.twin IS NOT NULL AND k.unique_id <> t.unique_id, 0),
        iif(p.outcome = 'matched', p.id * ${FIELDS} + k.field, NULL)
      FROM kid k JOIN rec_result p ON p.gen = 3 AND p.id = k.parent
      LEFT JOIN verdict v ON v.gen = 3 AND v.id = k.id AND v.place = p.id * ${FIELDS} + k.field
      LEFT JOIN kid t ON t.id = v.twin
      WHERE k.gen = 3;
  `);
}

/** V4 children no V3 child points at: of a pair, left over in it; of any other V4 parent, as their parent. */
function saveV4Results(db: Db): void {
  db.exec(`
    INSERT OR IGNORE INTO kid_result
    SELECT 4, k.id, NULL,
        CASE
          WHEN p.outcome <> 'matched' THEN ${INHERITED}
          WHEN v.kind = 'superseded' THEN 'deleted/superseded_in_v4'
          WHEN v.kind = 'dup_v4' THEN 'ambiguous/duplicate_platform_id_v4'
          WHEN v.kind = 'dup_v3' THEN 'ambiguous/duplicate_platform_id_v3'
          WHEN k.deleted THEN 'deleted/deleted_v4_only'
          WHEN k.platform_id IS NULL THEN 'v4_only/no_platform_id'
          ELSE 'v4_only/absent'
        END, NULL, NULL, 0, 0, iif(p.outcome = 'matched', p.id * ${FIELDS} + k.field, NULL)
      FROM rec_result p CROSS JOIN kid k ON k.gen = 4 AND k.parent = p.twin
      LEFT JOIN verdict v ON v.gen = 4 AND v.id = k.id AND v.place = p.id * ${FIELDS} + k.field
      WHERE p.gen = 3 AND p.twin IS NOT NULL AND k.id NOT IN (SELECT id FROM pointed)
      ORDER BY p.id;
    INSERT INTO kid_result
    SELECT 4, k.id, NULL, ${INHERITED}, NULL, NULL, 0, 0, NULL
      FROM rec_result p CROSS JOIN kid k ON k.gen = 4 AND k.parent = p.id WHERE p.gen = 4;
  `);
}

/** Window and service dates play no part below a record. */
function explainChildren(db: Db): void {
  explainNearKeys(db, 'kid');
  db.exec(`
    UPDATE kid_result SET outcome = 'unmatched/unexplained' WHERE outcome = 'unmatched/absent';
    UPDATE kid_result SET outcome = 'v4_only/unexplained' WHERE outcome = 'v4_only/absent';
  `);
  addGroupEvidence(db, 'kid');
}
