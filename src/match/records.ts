import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { joinRecords } from './join-records.js';
import { type Pairs, registerPairs } from './pairs.js';
import { PLACES } from './places.js';

/**
 * Gives every record its outcome. What V3 records became is in `pairs`; `rec_result` has one row for each V3 record
 * that became nothing, and for each V4 record that no V3 record points at. `outcome` is `status/reason`;
 * `unmatched/absent` and `v4_only/absent` are left for `reasons.ts` to explain.
 */
export function matchRecords(db: Db, config: Config, pairs: Pairs, assertGoing: () => void): void {
  createPlaces(db, config);
  createViews(db);
  joinRecords(db, pairs);
  registerPairs(db, pairs, assertGoing);
  saveV3Results(db);
  saveV4Results(db);
}

/** A place is a model of a company pair, with what is known of both its streams. */
function createPlaces(db: Db, config: Config): void {
  db.exec(`
    CREATE TEMP TABLE place(
      place INTEGER PRIMARY KEY, model_ix INTEGER NOT NULL, c3 INTEGER NOT NULL, c4 INTEGER NOT NULL,
      v3_full INTEGER NOT NULL, v4_full INTEGER NOT NULL, v4_absent INTEGER NOT NULL, settled INTEGER NOT NULL,
      v3_read_until_ms INTEGER
    ) STRICT;
    INSERT INTO place
      SELECT m.ix * ${PLACES} + c4.ix, m.ix, c3.ix, c4.ix,
          ifnull((SELECT min(x.in_full) FROM x WHERE x.gen = 3 AND x.model_ix = m.ix AND x.region = c3.region
            AND (x.company_id IS NULL OR x.company_id = c3.company_id)), 0),
          NOT m.in_v4 OR ifnull((SELECT x.in_full FROM x WHERE x.gen = 4 AND x.model_ix = m.ix AND x.company_id = c4.company_id), 0),
          NOT m.in_v4 OR ifnull((SELECT x.absent FROM x WHERE x.gen = 4 AND x.model_ix = m.ix AND x.company_id = c4.company_id), 0),
          c3.scope_full OR c3.matched_by = 'file',
          (SELECT min(x.read_until_ms) FROM x WHERE x.gen = 3 AND x.model_ix = m.ix AND x.region = c3.region
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

/** Records with what is known of their stream and company. They are read in the order they lie in. */
function createViews(db: Db): void {
  db.exec(`
    CREATE TEMP VIEW rec3 AS
      SELECT r.id, r.svc_id, r.platform_id, r.unique_id, r.deleted, r.latest_ms, r.latest_from, r.company_id,
          r.children, x.model_ix, x.region, x.in_full, c.ix AS company, c.pair, c.matched_by AS company_by, c.scope_full,
          x.model_ix * ${PLACES} + c.pair AS place
        FROM record AS r CROSS JOIN x ON x.stream_id = r.stream_id
        CROSS JOIN c3 AS c ON c.region = x.region AND c.company_id = r.company_id WHERE x.gen = 3;
    CREATE TEMP VIEW rec4 AS
      SELECT r.id, r.svc_id, r.platform_id, r.unique_id, r.deleted, r.created_ms, r.company_id,
          r.children, x.model_ix, x.in_full, c.ix AS company, c.pair, c.matched_by AS company_by, c.scope_full,
          x.model_ix * ${PLACES} + c.ix AS place
        FROM record AS r CROSS JOIN x ON x.stream_id = r.stream_id
        CROSS JOIN c4 AS c ON c.company_id = r.company_id WHERE x.gen = 4;
    CREATE TEMP TABLE rec_result(
      id INTEGER PRIMARY KEY, gen INTEGER NOT NULL, outcome TEXT NOT NULL, evidence TEXT, place INTEGER
    ) STRICT;
  `);
}

function saveV3Results(db: Db): void {
  db.exec(`
    INSERT INTO rec_result
    SELECT r.id, 3,
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
          WHEN NOT p.v4_full THEN 'unmatched/scope_incomplete'
          WHEN r.deleted THEN 'deleted/deleted_not_in_v4'
          ELSE 'unmatched/absent'
        END,
        v.evidence, r.place
      FROM rec3 AS r LEFT JOIN place AS p ON p.place = r.place LEFT JOIN verdict AS v ON v.id = r.id
      WHERE twin_of(r.id) IS NULL ORDER BY r.id;
  `);
}

function saveV4Results(db: Db): void {
  db.exec(`
    INSERT INTO rec_result
    SELECT r.id, 4,
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
        END,
        v.evidence, r.place
      FROM rec4 AS r LEFT JOIN place AS p ON p.place = r.place LEFT JOIN verdict AS v ON v.id = r.id
      WHERE NOT is_pointed(r.id) ORDER BY r.id;
  `);
}
