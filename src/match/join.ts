import type { Db } from '../store/open.js';

/**
 * The join itself, the same for records and for children: product.md's table from "B is empty" down,
 * applied to groups (place, key). A place is where keys are compared: a model of a company pair, or a
 * field of a parent pair.
 *
 * Reads `side` (one row per V3 or V4 object with a key and a place), writes `verdict`:
 *
 * | kind       | of   | meaning                                                              |
 * | ---------- | ---- | -------------------------------------------------------------------- |
 * | pair       | 3    | `twin` is the one V4 object it became, found `by`                    |
 * | superseded | 3, 4 | deleted, and the group holds a live one of its own generation        |
 * | absent     | 3, 4 | the other generation has nothing under this key                      |
 * | dup_v3     | 3, 4 | several live V3 objects, not told apart                              |
 * | dup_v4     | 3, 4 | several V4 candidates, not told apart; or left over beside the twin  |
 */
export function createJoinTables(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE side(
      place INTEGER NOT NULL, key TEXT NOT NULL, gen INTEGER NOT NULL, deleted INTEGER NOT NULL,
      id INTEGER NOT NULL, svc_id INTEGER NOT NULL, uid TEXT,
      PRIMARY KEY (place, key, gen, deleted, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TEMP TABLE grp(
      place INTEGER NOT NULL, key TEXT NOT NULL, a_live INTEGER NOT NULL, a_dead INTEGER NOT NULL,
      b_live INTEGER NOT NULL, b_dead INTEGER NOT NULL, one INTEGER,
      PRIMARY KEY (place, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TEMP TABLE uids(
      place INTEGER NOT NULL, key TEXT NOT NULL, gen INTEGER NOT NULL, deleted INTEGER NOT NULL, uid TEXT NOT NULL,
      n INTEGER NOT NULL, id INTEGER NOT NULL,
      PRIMARY KEY (place, key, gen, deleted, uid)
    ) STRICT, WITHOUT ROWID;
    CREATE TEMP TABLE verdict(
      gen INTEGER NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL, twin INTEGER, by TEXT,
      place INTEGER NOT NULL, key TEXT NOT NULL,
      PRIMARY KEY (gen, id, place)
    ) STRICT, WITHOUT ROWID;
    CREATE TEMP TABLE pointed(id INTEGER PRIMARY KEY) STRICT;
  `);
}

/** Empties the join's tables for the next use. */
export function clearJoinTables(db: Db): void {
  db.exec('DELETE FROM side; DELETE FROM grp; DELETE FROM uids; DELETE FROM verdict; DELETE FROM pointed;');
}

/** Fills `verdict` and `pointed` from `side`. */
export function joinSides(db: Db): void {
  saveGroups(db);
  saveV3Verdicts(db);
  saveV4Verdicts(db);
}

function saveGroups(db: Db): void {
  db.exec(`
    INSERT INTO grp SELECT place, key,
        sum(gen = 3 AND deleted = 0), sum(gen = 3 AND deleted = 1),
        sum(gen = 4 AND deleted = 0), sum(gen = 4 AND deleted = 1),
        CASE
          WHEN sum(gen = 4 AND deleted = 0) = 1 THEN max(CASE WHEN gen = 4 AND deleted = 0 THEN id END)
          WHEN sum(gen = 4 AND deleted = 0) = 0 AND sum(gen = 4) = 1 THEN max(CASE WHEN gen = 4 THEN id END)
        END
      FROM side GROUP BY place, key;
    INSERT INTO uids SELECT s.place, s.key, s.gen, s.deleted, s.uid, count(*), min(s.id)
      FROM grp g JOIN side s ON s.place = g.place AND s.key = g.key
      WHERE s.uid IS NOT NULL AND g.a_live + g.a_dead > 0 AND (g.a_live > 1 OR (g.one IS NULL AND g.b_live + g.b_dead > 0))
      GROUP BY s.place, s.key, s.gen, s.deleted, s.uid;
  `);
}

/** `u` is the candidates' row with the same unique id, `o` the live V3 objects' row with it. */
function saveV3Verdicts(db: Db): void {
  db.exec(`
    INSERT INTO verdict
    SELECT 3, s.id, 'pair', g.one, 'platform_id', s.place, s.key
      FROM side s JOIN grp g ON g.place = s.place AND g.key = s.key
      WHERE s.gen = 3 AND g.one IS NOT NULL
        AND ((s.deleted = 0 AND g.a_live = 1) OR (s.deleted = 1 AND g.a_live = 0));
    INSERT INTO verdict
    SELECT 3, s.id,
        CASE
          WHEN s.deleted = 1 AND g.a_live > 0 THEN 'superseded'
          WHEN g.b_live + g.b_dead = 0 THEN 'absent'
          WHEN s.deleted = 0 AND g.a_live > 1 THEN iif(u.n = 1 AND o.n = 1, 'pair', 'dup_v3')
          ELSE iif(u.n = 1, 'pair', 'dup_v4')
        END AS kind, u.id, 'platform_unique_id', s.place, s.key
      FROM side s JOIN grp g ON g.place = s.place AND g.key = s.key
      LEFT JOIN uids u ON u.place = s.place AND u.key = s.key AND u.gen = 4 AND u.deleted = (g.b_live = 0) AND u.uid = s.uid
      LEFT JOIN uids o ON o.place = s.place AND o.key = s.key AND o.gen = 3 AND o.deleted = 0 AND o.uid = s.uid
      WHERE s.gen = 3 AND NOT (g.one IS NOT NULL
        AND ((s.deleted = 0 AND g.a_live = 1) OR (s.deleted = 1 AND g.a_live = 0)));
    UPDATE verdict SET twin = NULL, by = NULL WHERE kind <> 'pair';
    INSERT OR IGNORE INTO pointed SELECT twin FROM verdict WHERE twin IS NOT NULL;
  `);
}

/** V4 objects no V3 object points at. */
function saveV4Verdicts(db: Db): void {
  db.exec(`
    INSERT INTO verdict
    SELECT 4, s.id,
        CASE
          WHEN s.deleted = 1 AND g.b_live > 0 THEN 'superseded'
          WHEN g.a_live + g.a_dead = 0 THEN 'absent'
          WHEN g.a_live > 1 THEN 'dup_v3'
          ELSE 'dup_v4'
        END, NULL, NULL, s.place, s.key
      FROM side s JOIN grp g ON g.place = s.place AND g.key = s.key
      WHERE s.gen = 4 AND s.id NOT IN (SELECT id FROM pointed);
  `);
}
