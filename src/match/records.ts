import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { joinSides } from './join.js';

/** Places are numbered `model * PLACES + V4 company`; a V4 company is in one pair at most. */
const PLACES = 10_000_000;

/**
 * Gives every record its outcome, in `rec_result`: one row per V3 record, and one per V4 record that no V3
 * record points at. `outcome` is `status` or `status/reason`; `unmatched/absent` and `v4_only/absent` are left
 * for `reasons.ts` to explain.
 */
export function matchRecords(db: Db, config: Config): void {
  createPlaces(db, config);
  fillSide(db);
  joinSides(db);
  saveV3Results(db);
  saveV4Results(db);
}

/** A place is a model of a company pair, with what is known of both its streams. */
function createPlaces(db: Db, config: Config): void {
  db.exec(`
    CREATE TEMP TABLE place(
      place INTEGER PRIMARY KEY, model_ix INTEGER NOT NULL, c3 INTEGER NOT NULL, c4 INTEGER NOT NULL,
      v3_full INTEGER NOT NULL, v4_full INTEGER NOT NULL, v4_absent INTEGER NOT NULL, settled INTEGER NOT NULL,
      v3_finished_ms INTEGER
    ) STRICT;
    INSERT INTO place
      SELECT m.ix * ${PLACES} + c4.ix, m.ix, c3.ix, c4.ix,
          ifnull((SELECT min(x.in_full) FROM x WHERE x.gen = 3 AND x.model_ix = m.ix AND x.region = c3.region
            AND (x.company_id IS NULL OR x.company_id = c3.company_id)), 0),
          NOT m.in_v4 OR ifnull((SELECT x.in_full FROM x WHERE x.gen = 4 AND x.model_ix = m.ix AND x.company_id = c4.company_id), 0),
          NOT m.in_v4 OR ifnull((SELECT x.absent FROM x WHERE x.gen = 4 AND x.model_ix = m.ix AND x.company_id = c4.company_id), 0),
          c3.scope_full OR c3.matched_by = 'file',
          (SELECT min(x.finished_ms) FROM x WHERE x.gen = 3 AND x.model_ix = m.ix AND x.region = c3.region
            AND (x.company_id IS NULL OR x.company_id = c3.company_id))
      FROM c3 JOIN c4 ON c4.ix = c3.pair JOIN m;
    CREATE TEMP TABLE bounds(c4 INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL, inferred INTEGER NOT NULL) STRICT;
    CREATE TEMP TABLE inert(c4 INTEGER PRIMARY KEY) STRICT;
    INSERT INTO inert SELECT c4.ix FROM c4 JOIN v4_company l ON l.company_id = c4.company_id
      WHERE NOT EXISTS (SELECT 1 FROM x WHERE x.gen = 4 AND x.company_id = c4.company_id AND NOT x.in_full)
        AND (SELECT count(*) FROM x WHERE x.gen = 4 AND x.company_id = c4.company_id) = (SELECT sum(in_v4) FROM m)
        AND NOT EXISTS (SELECT 1 FROM x JOIN record r ON r.stream_id = x.stream_id
          WHERE x.gen = 4 AND x.company_id = c4.company_id);
  `);
  saveWindows(db, config.backfill);
}

/** Dates V4 records needs before its window's start can be inferred from them. */
const DATES_TO_INFER = 20;

/**
 * The window's start: as configured, else the earliest latest date among the V4 company's records. A start that
 * counts back from now moves on while V4 stays as it was: what V4 shows before it is then the start.
 */
function saveWindows(db: Db, { sinceMs, isRelative = false }: Config['backfill']): void {
  if (sinceMs !== null) db.prepare('INSERT INTO bounds SELECT ix, ?, 0 FROM c4').run(BigInt(sinceMs));
  if (sinceMs !== null && !isRelative) return;
  db.exec(`
    INSERT INTO bounds SELECT c4.ix, min(r.latest_ms), 1
      FROM x JOIN record r ON r.stream_id = x.stream_id JOIN c4 ON c4.company_id = x.company_id
      WHERE x.gen = 4 AND r.latest_from = 'platform' GROUP BY c4.ix HAVING count(*) >= ${DATES_TO_INFER}
      ON CONFLICT (c4) DO UPDATE SET start_ms = excluded.start_ms, inferred = 1 WHERE excluded.start_ms < start_ms;
  `);
}

/** Keyed records: of V3 those whose model and company have a place in V4, of V4 all. */
function fillSide(db: Db): void {
  db.exec(`
    CREATE TEMP VIEW rec3 AS
      SELECT r.id, r.svc_id, r.platform_id, r.unique_id, r.deleted, r.latest_ms, r.latest_from, r.company_id,
          x.model_ix, x.region, x.in_full, c.ix AS company, c.pair, c.matched_by AS company_by, c.scope_full,
          x.model_ix * ${PLACES} + c.pair AS place
        FROM x JOIN record r ON r.stream_id = x.stream_id
        JOIN c3 c ON c.region = x.region AND c.company_id = r.company_id WHERE x.gen = 3;
    CREATE TEMP VIEW rec4 AS
      SELECT r.id, r.svc_id, r.platform_id, r.unique_id, r.deleted, r.created_ms, r.company_id,
          x.model_ix, x.in_full, c.ix AS company, c.pair, c.matched_by AS company_by, c.scope_full,
          x.model_ix * ${PLACES} + c.ix AS place
        FROM x JOIN record r ON r.stream_id = x.stream_id
        JOIN c4 c ON c.company_id = r.company_id WHERE x.gen = 4;
    INSERT INTO side
      SELECT place, key, gen, deleted, id, svc_id, uid FROM (
        SELECT r.place, r.platform_id AS key, 3 AS gen, r.deleted, r.id, r.svc_id, r.unique_id AS uid
          FROM rec3 r JOIN place p ON p.place = r.place WHERE r.platform_id IS NOT NULL AND NOT p.v4_absent
        UNION ALL
        SELECT r.place, r.platform_id, 4, r.deleted, r.id, r.svc_id, r.unique_id
          FROM rec4 r LEFT JOIN place p ON p.place = r.place WHERE r.platform_id IS NOT NULL AND NOT ifnull(p.v4_absent, 0))
      ORDER BY 1, 2, 3, 4, 5;
    CREATE TEMP TABLE rec_result(
      gen INTEGER NOT NULL, id INTEGER NOT NULL, twin INTEGER, outcome TEXT NOT NULL, by TEXT,
      evidence TEXT, provisional INTEGER NOT NULL, conflict INTEGER NOT NULL, place INTEGER,
      PRIMARY KEY (gen, id)
    ) STRICT, WITHOUT ROWID;
  `);
}

function saveV3Results(db: Db): void {
  db.exec(`
    INSERT INTO rec_result
    SELECT 3, r.id, v.twin,
        CASE
          WHEN r.deleted AND r.platform_id IS NULL THEN 'deleted/no_platform_id'
          WHEN r.pair IS NULL AND NOT r.scope_full THEN 'unmatched/scope_incomplete'
          WHEN r.pair IS NOT NULL AND r.platform_id IS NULL AND NOT p.v4_full THEN 'unmatched/scope_incomplete'
          WHEN r.platform_id IS NULL THEN 'unmatched/no_platform_id'
          WHEN r.pair IS NULL THEN iif(r.deleted, 'deleted/', 'unmatched/')
            || iif(r.company_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v4')
          WHEN p.v4_absent THEN iif(r.deleted, 'deleted/', 'unmatched/') || 'model_not_in_v4'
          WHEN v.kind = 'superseded' THEN 'deleted/superseded_in_v3'
          WHEN v.kind = 'dup_v3' THEN 'ambiguous/duplicate_platform_id_v3'
          WHEN v.kind = 'dup_v4' THEN 'ambiguous/duplicate_platform_id_v4'
          WHEN v.kind = 'pair' THEN CASE
            WHEN r.deleted AND t.deleted THEN 'deleted/deleted_in_both'
            WHEN r.deleted THEN 'deleted/deleted_in_v3'
            WHEN t.deleted THEN 'deleted/deleted_in_v4'
            ELSE 'matched' END
          WHEN NOT p.v4_full THEN 'unmatched/scope_incomplete'
          WHEN r.deleted THEN 'deleted/deleted_not_in_v4'
          ELSE 'unmatched/absent'
        END,
        v.by, NULL,
        v.twin IS NOT NULL AND NOT (r.in_full AND p.v4_full AND p.settled),
        ifnull(v.twin IS NOT NULL AND r.unique_id <> t.unique_id, 0), r.place
      FROM rec3 r LEFT JOIN place p ON p.place = r.place
      LEFT JOIN verdict v ON v.gen = 3 AND v.id = r.id AND v.place = r.place
      LEFT JOIN record t ON t.id = v.twin;
  `);
}

function saveV4Results(db: Db): void {
  db.exec(`
    INSERT INTO rec_result
    SELECT 4, r.id, NULL,
        CASE
          WHEN v.kind = 'superseded' THEN 'deleted/superseded_in_v4'
          WHEN r.pair IS NULL AND NOT r.scope_full THEN 'v4_only/scope_incomplete'
          WHEN r.pair IS NULL AND r.deleted THEN 'deleted/deleted_v4_only'
          WHEN v.kind = 'dup_v4' THEN 'ambiguous/duplicate_platform_id_v4'
          WHEN v.kind = 'dup_v3' THEN 'ambiguous/duplicate_platform_id_v3'
          WHEN r.pair IS NOT NULL AND NOT p.v3_full THEN 'v4_only/scope_incomplete'
          WHEN r.deleted THEN 'deleted/deleted_v4_only'
          WHEN r.platform_id IS NULL THEN 'v4_only/no_platform_id'
          WHEN r.pair IS NULL THEN 'v4_only/' || iif(r.company_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v3')
          ELSE 'v4_only/absent'
        END, NULL, NULL, 0, 0, r.place
      FROM rec4 r LEFT JOIN place p ON p.place = r.place
      LEFT JOIN verdict v ON v.gen = 4 AND v.id = r.id AND v.place = r.place
      WHERE r.id NOT IN (SELECT id FROM pointed);
  `);
}
