import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';

/**
 * What was read, as temporary tables the join stands on:
 * `m` models, `x` streams with whether each was read in full, `c3` and `c4` companies of either side.
 */
export function buildScope(db: Db, config: Config): void {
  db.exec(`
    CREATE TEMP TABLE m(ix INTEGER PRIMARY KEY, model TEXT NOT NULL UNIQUE, in_v4 INTEGER NOT NULL) STRICT;
    CREATE TEMP TABLE x(
      stream_id INTEGER PRIMARY KEY, gen INTEGER NOT NULL, model_ix INTEGER NOT NULL, region TEXT NOT NULL,
      company_id INTEGER, in_full INTEGER NOT NULL, absent INTEGER NOT NULL, read_until_ms INTEGER
    ) STRICT;
    CREATE TEMP TABLE c3(
      ix INTEGER PRIMARY KEY, region TEXT NOT NULL, company_id INTEGER NOT NULL,
      pair INTEGER, matched_by TEXT, scope_full INTEGER NOT NULL, keys INTEGER NOT NULL DEFAULT 0,
      UNIQUE (region, company_id)
    ) STRICT;
    CREATE TEMP TABLE c4(
      ix INTEGER PRIMARY KEY, company_id INTEGER NOT NULL UNIQUE,
      pair INTEGER, matched_by TEXT, scope_full INTEGER NOT NULL, keys INTEGER NOT NULL DEFAULT 0
    ) STRICT;
  `);
  saveModels(db, config);
  db.exec(`
    INSERT INTO x SELECT s.id, CASE s.generation WHEN 'v3' THEN 3 ELSE 4 END, m.ix, s.region, s.company_id,
        s.state IN ('complete', 'short', 'absent'), s.state = 'absent',
        CAST(s.position ->> 'readUntilMs' AS INTEGER)
      FROM stream s JOIN m ON m.model = s.model;
    CREATE INDEX temp.x_of_company ON x(gen, company_id, model_ix);
    CREATE INDEX temp.x_of_model ON x(gen, model_ix, region, company_id);
  `);
  saveCompanies(db, config);
}

function saveModels(db: Db, config: Config): void {
  const insert = db.prepare('INSERT INTO m(model, in_v4) VALUES (?, ?)');
  const pairs = [...config.models].sort((a, b) => (a.v3 < b.v3 ? -1 : 1));
  for (const pair of pairs) insert.run(pair.v3, pair.v4 === null ? 0n : 1n);
}

/**
 * "No pair" of a V3 company is known once its region and all of V4 are read; of a V4 company, once every
 * stream is.
 */
function saveCompanies(db: Db, config: Config): void {
  const v4Full = isV4Full(db);
  const regions = config.v3.regions.map(({ region }) => ({ region, full: isRegionFull(db, config, region) }));
  db.exec('CREATE TEMP TABLE region_scope(region TEXT PRIMARY KEY, scope_full INTEGER NOT NULL) STRICT');
  const insert = db.prepare('INSERT INTO region_scope VALUES (?, ?)');
  for (const { region, full } of regions) insert.run(region, full && v4Full ? 1n : 0n);
  const allFull = v4Full && regions.every(({ full }) => full);
  db.exec(`
    INSERT INTO c3(region, company_id, scope_full)
      SELECT region, company_id, ifnull((SELECT scope_full FROM region_scope g WHERE g.region = u.region), 0) FROM (
        SELECT DISTINCT x.region, r.company_id FROM x JOIN record r ON r.stream_id = x.stream_id WHERE x.gen = 3
        UNION SELECT region, company_id FROM x WHERE gen = 3 AND company_id IS NOT NULL) u
      ORDER BY region, company_id;
    INSERT INTO c4(company_id, scope_full)
      SELECT company_id, ${allFull ? 1 : 0} FROM (
        SELECT company_id FROM v4_company UNION SELECT company_id FROM x WHERE gen = 4)
      ORDER BY company_id;
  `);
}

/** Every model of the region has its streams, all read in full. */
function isRegionFull(db: Db, config: Config, region: string): boolean {
  const read = Number(
    db.prepare('SELECT count(*) FROM x WHERE gen = 3 AND region = ? AND in_full').pluck().get(region),
  );
  const open = db.prepare('SELECT 1 FROM x WHERE gen = 3 AND region = ? AND NOT in_full').get(region);
  return open === undefined && read >= config.models.length;
}

/** The company list was read in full, and so was a stream for every model of V4 of each company in it. */
function isV4Full(db: Db): boolean {
  const listed = db.prepare('SELECT count(*) FROM v4_company').pluck().get();
  const missing = db
    .prepare(`
      SELECT 1 FROM v4_company c JOIN m ON m.in_v4 WHERE NOT EXISTS (
        SELECT 1 FROM x WHERE x.gen = 4 AND x.model_ix = m.ix AND x.company_id = c.company_id AND x.in_full)
      UNION ALL SELECT 1 FROM x WHERE gen = 4 AND NOT in_full
      UNION ALL SELECT 1 FROM stream WHERE generation = 'v4' AND company_id IS NULL AND state NOT IN ('complete', 'short')
      LIMIT 1`)
    .get();
  return listed !== 0n && missing === undefined;
}
