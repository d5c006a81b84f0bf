import type { Config } from '../config/config.js';
import type { CompanyMatch } from '../domain.js';
import type { Db } from '../store/open.js';
import type { ExportedPart, ExportedParts } from './exported-parts.js';

/**
 * Builds temporary tables that describe the export; `saveScopeCompanies` fills the last two:
 *
 * - `scope_model`: the configured models, numbered by name
 * - `scope_stream`: the lists of both generations, and whether each was read in full
 * - `scope_v3_company`, `scope_v4_company`: the companies of each generation; `paired_id` is the `id` of the other
 *   generation's company, and `scope_complete` says whether a missing pair is certain
 */
export function buildScope(db: Db, config: Config): void {
  db.exec(`
    CREATE TEMP TABLE scope_model(id INTEGER PRIMARY KEY, model TEXT NOT NULL UNIQUE, in_v4 INTEGER NOT NULL) STRICT;
    CREATE TEMP TABLE scope_stream(
      stream_id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, model_id INTEGER NOT NULL, region TEXT NOT NULL,
      company_id INTEGER, read_in_full INTEGER NOT NULL, absent INTEGER NOT NULL, read_until_ms INTEGER
    ) STRICT;
    CREATE TEMP TABLE scope_v3_company(
      id INTEGER PRIMARY KEY, region TEXT NOT NULL, company_id INTEGER NOT NULL,
      paired_id INTEGER, matched_by TEXT, scope_complete INTEGER NOT NULL, key_count INTEGER NOT NULL DEFAULT 0,
      UNIQUE (region, company_id)
    ) STRICT;
    CREATE TEMP TABLE scope_v4_company(
      id INTEGER PRIMARY KEY, company_id INTEGER NOT NULL UNIQUE,
      paired_id INTEGER, matched_by TEXT, scope_complete INTEGER NOT NULL, key_count INTEGER NOT NULL DEFAULT 0
    ) STRICT;
  `);
  saveModels(db, config);
  db.exec(`
    INSERT INTO scope_stream
      SELECT stream.id, CASE stream.generation WHEN 'v3' THEN 3 ELSE 4 END, scope_model.id, stream.region, stream.company_id,
        stream.state IN ('complete', 'short', 'absent'), stream.state = 'absent',
        CAST(stream.position ->> 'readUntilMs' AS INTEGER)
      FROM stream JOIN scope_model ON scope_model.model = stream.model;
    CREATE INDEX temp.scope_stream_company ON scope_stream(generation, company_id, model_id);
    CREATE INDEX temp.scope_stream_model ON scope_stream(generation, model_id, region, company_id);
  `);
}

function saveModels(db: Db, config: Config): void {
  const insert = db.prepare('INSERT INTO scope_model(model, in_v4) VALUES (?, ?)');
  const pairs = [...config.models].sort((a, b) => (a.v3 < b.v3 ? -1 : 1));
  for (const pair of pairs) insert.run(pair.v3, pair.v4 === null ? 0n : 1n);
}

/**
 * It is certain that a V3 company has no pair once its region and all of V4 were read in full; for a V4 company, once
 * everything was.
 */
export function saveScopeCompanies(db: Db, config: Config, parts: ExportedParts): void {
  const v4Full = isV4Full(db);
  const regions = config.v3.regions.map(({ region }) => ({ region, full: isRegionFull(db, config, region) }));
  db.exec(`
    CREATE TEMP TABLE scope_region(region TEXT PRIMARY KEY, scope_complete INTEGER NOT NULL) STRICT;
    CREATE TEMP TABLE exported_company(region TEXT, company_id INTEGER, PRIMARY KEY (region, company_id)) STRICT;
  `);
  const insert = db.prepare('INSERT INTO scope_region VALUES (?, ?)');
  for (const { region, full } of regions) insert.run(region, full && v4Full ? 1n : 0n);
  const insertCompany = db.prepare('INSERT OR IGNORE INTO exported_company VALUES (?, ?)');
  for (const { generation, region, companyId } of parts.all()) {
    if (generation === 3) insertCompany.run(region, BigInt(companyId));
  }
  const allFull = v4Full && regions.every(({ full }) => full);
  db.exec(`
    INSERT INTO scope_v3_company(region, company_id, scope_complete)
      SELECT region, company_id, ifnull(scope_complete, 0) FROM (
        SELECT region, company_id FROM exported_company
        UNION SELECT region, company_id FROM scope_stream WHERE generation = 3 AND company_id IS NOT NULL)
      LEFT JOIN scope_region USING (region)
      ORDER BY region, company_id;
    INSERT INTO scope_v4_company(company_id, scope_complete)
      SELECT company_id, ${allFull ? 1 : 0} FROM (
        SELECT company_id FROM v4_company UNION SELECT company_id FROM scope_stream WHERE generation = 4)
      ORDER BY company_id;
  `);
}

/** A company of the scope tables. */
export interface ScopeCompany {
  readonly id: number;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  /** The id of the other generation's company. */
  readonly pairedId: number | null;
  readonly matchedBy: CompanyMatch | null;
  readonly scopeComplete: boolean;
}

/** The companies of a generation, by id: V3 companies are in the order of region and company id. */
export function readScopeCompanies(db: Db, generation: 3 | 4): ScopeCompany[] {
  const region = generation === 3 ? 'region' : "''";
  return db
    .prepare<[], readonly [bigint, string, bigint, bigint | null, CompanyMatch | null, bigint]>(`
      SELECT id, ${region}, company_id, paired_id, matched_by, scope_complete FROM scope_v${generation}_company ORDER BY id`)
    .raw()
    .all()
    .map(([id, ofRegion, companyId, pairedId, matchedBy, scopeComplete]) => ({
      id: Number(id),
      region: ofRegion,
      companyId,
      pairedId: pairedId === null ? null : Number(pairedId),
      matchedBy,
      scopeComplete: scopeComplete === 1n,
    }));
}

/** The ids in the scope tables of the companies of all parts. */
export function readCompanyIds(db: Db, parts: ExportedParts): ReadonlyMap<ExportedPart, number> {
  const nameOf = (region: string, companyId: string) => `${companyId} ${region}`;
  const ids = ([3, 4] as const).map(
    (generation) =>
      new Map(
        readScopeCompanies(db, generation).map((one) => [nameOf(one.region, String(one.companyId)), one.id]),
      ),
  );
  const found = new Map<ExportedPart, number>();
  for (const part of parts.all()) {
    const id = ids[part.generation - 3]?.get(nameOf(part.region, part.companyId));
    if (id !== undefined) found.set(part, id);
  }
  return found;
}

/** Whether every model of the region has a stream, and all were read in full. */
function isRegionFull(db: Db, config: Config, region: string): boolean {
  const count = db
    .prepare<[string], [all: number, full: number]>(
      'SELECT count(*), ifnull(sum(read_in_full), 0) FROM scope_stream WHERE generation = 3 AND region = ?',
    )
    .raw()
    .safeIntegers(false);
  const [all, full] = count.get(region) ?? [0, 0];
  return full === all && full >= config.models.length;
}

/** Whether V4's company list was read in full, and every V4 model of each listed company too. */
function isV4Full(db: Db): boolean {
  const listed = db.prepare('SELECT count(*) FROM v4_company').pluck().get();
  const missing = db
    .prepare(`
      SELECT 1 FROM v4_company JOIN scope_model ON scope_model.in_v4 WHERE NOT EXISTS (
        SELECT 1 FROM scope_stream WHERE generation = 4 AND model_id = scope_model.id
          AND scope_stream.company_id = v4_company.company_id AND read_in_full)
      UNION ALL SELECT 1 FROM scope_stream WHERE generation = 4 AND NOT read_in_full
      UNION ALL SELECT 1 FROM stream WHERE generation = 'v4' AND company_id IS NULL AND state NOT IN ('complete', 'short')
      LIMIT 1`)
    .get();
  return listed !== 0n && missing === undefined;
}

/**
 * Creates `paired_model`, which says how far the streams of both sides were read, `backfill_window` (where the history
 * of V4 companies starts) and `inert_company` (V4 companies without any record).
 */
export function createPairedModels(db: Db, config: Config, parts: ExportedParts): void {
  db.exec(`
    CREATE TEMP TABLE paired_model(
      model_id INTEGER NOT NULL, v4_company INTEGER NOT NULL,
      v3_read_in_full INTEGER NOT NULL, v4_read_in_full INTEGER NOT NULL, v4_absent INTEGER NOT NULL,
      pair_is_final INTEGER NOT NULL, v3_read_until_ms INTEGER,
      PRIMARY KEY (model_id, v4_company)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO paired_model
      SELECT model.id, v4_company.id,
        ifnull((SELECT min(read_in_full) ${V3_STREAMS}), 0),
        NOT model.in_v4 OR ifnull((SELECT read_in_full ${V4_STREAM}), 0),
        NOT model.in_v4 OR ifnull((SELECT absent ${V4_STREAM}), 0),
        v3_company.scope_complete OR v3_company.matched_by = 'file',
        (SELECT min(read_until_ms) ${V3_STREAMS})
      FROM scope_v3_company AS v3_company JOIN scope_v4_company AS v4_company ON v4_company.id = v3_company.paired_id
        JOIN scope_model AS model;
  `);
  saveWindows(db, config.backfill, parts);
  saveInertCompanies(db);
}

/** One model of a company pair: how far its lists were read, and what explains missing records. */
export interface PairedModel {
  readonly v3ReadInFull: boolean;
  readonly v4ReadInFull: boolean;
  /** V4 has no such model. */
  readonly v4Absent: boolean;
  /** Whether further reading cannot change the pair of companies. */
  readonly pairIsFinal: boolean;
  readonly v3ReadUntilMs: number | null;
  readonly windowStartMs: number | null;
  readonly isWindowInferred: boolean;
  /** Whether the V4 company holds no record in any model, although all its lists were read. */
  readonly isInert: boolean;
}

/** Makes the function that reads a model of the company pair with this V4 company. */
export function preparePairedModel(db: Db): (modelId: number, v4Company: number) => PairedModel {
  const read = db
    .prepare<[number, number], readonly (number | null)[]>(`
      SELECT v3_read_in_full, v4_read_in_full, v4_absent, pair_is_final, v3_read_until_ms, start_ms, inferred,
          EXISTS (SELECT 1 FROM inert_company AS inert WHERE inert.v4_company = paired_model.v4_company)
        FROM paired_model LEFT JOIN backfill_window USING (v4_company) WHERE model_id = ? AND v4_company = ?`)
    .raw()
    .safeIntegers(false);
  return (modelId, v4Company) => {
    const [v3Full, v4Full, absent, final, readUntilMs = null, startMs = null, inferred, inert] =
      read.get(modelId, v4Company) ?? [];
    return {
      v3ReadInFull: v3Full === 1,
      v4ReadInFull: v4Full === 1,
      v4Absent: absent === 1,
      pairIsFinal: final === 1,
      v3ReadUntilMs: readUntilMs,
      windowStartMs: startMs,
      isWindowInferred: inferred === 1,
      isInert: inert === 1,
    };
  };
}

/** The streams of a model that hold a V3 company's records, and the stream of its V4 company. */
const V3_STREAMS = `
  FROM scope_stream WHERE generation = 3 AND model_id = model.id AND region = v3_company.region
    AND (company_id IS NULL OR company_id = v3_company.company_id)`;
const V4_STREAM = `
  FROM scope_stream WHERE generation = 4 AND model_id = model.id AND company_id = v4_company.company_id`;

/** A V4 company needs this many dated records before the start of its window is inferred. */
const DATES_TO_INFER = 20;

/**
 * Saves the start of each window: the configured one, otherwise the earliest `latest_ms` of the V4 company's records. A
 * configured start relative to now moves on although V4's data do not, so an earlier date in V4 overrides it.
 */
function saveWindows(
  db: Db,
  { sinceMs, isRelative = false }: Config['backfill'],
  parts: ExportedParts,
): void {
  db.exec(`
    CREATE TEMP TABLE backfill_window(
      v4_company INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL, inferred INTEGER NOT NULL
    ) STRICT`);
  if (sinceMs !== null) {
    db.prepare('INSERT INTO backfill_window SELECT id, ?, 0 FROM scope_v4_company').run(BigInt(sinceMs));
  }
  if (sinceMs !== null && !isRelative) return;
  const found = new Map<string, { dated: number; earliestMs: number }>();
  for (const { generation, companyId, dated, earliestMs } of parts.all()) {
    if (generation === 3 || dated === 0) continue;
    const before = found.get(companyId) ?? { dated: 0, earliestMs };
    found.set(companyId, {
      dated: before.dated + dated,
      earliestMs: Math.min(before.earliestMs, earliestMs),
    });
  }
  const infer = db.prepare(`
    INSERT INTO backfill_window SELECT id, ?, 1 FROM scope_v4_company WHERE company_id = ?
    ON CONFLICT (v4_company) DO UPDATE SET start_ms = excluded.start_ms, inferred = 1 WHERE excluded.start_ms < start_ms`);
  for (const [companyId, { dated, earliestMs }] of found) {
    if (dated >= DATES_TO_INFER) infer.run(BigInt(earliestMs), BigInt(companyId));
  }
}

/** Listed V4 companies whose streams were all read in full and contain no record. */
function saveInertCompanies(db: Db): void {
  const streams = 'FROM scope_stream WHERE generation = 4 AND scope_stream.company_id = company.company_id';
  db.exec(`
    CREATE TEMP TABLE inert_company(v4_company INTEGER PRIMARY KEY) STRICT;
    INSERT INTO inert_company
      SELECT company.id FROM scope_v4_company AS company JOIN v4_company AS listed USING (company_id)
        WHERE NOT EXISTS (SELECT 1 ${streams} AND NOT read_in_full)
          AND (SELECT count(*) ${streams}) = (SELECT sum(in_v4) FROM scope_model)
          AND NOT EXISTS (SELECT 1 ${streams}
            AND EXISTS (SELECT 1 FROM record WHERE record.stream_id = scope_stream.stream_id));
  `);
}
