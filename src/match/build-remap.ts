import type { Config } from '../config/config.js';
import type { Decision, NamedCompanyPair } from '../config/user-files.js';
import type { Clock, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { checkFile, EXPORTED_TABLES, verifyExport } from '../store/integrity.js';
import { readExportSeq, writeRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { saveCompleteness } from '../store/readiness.js';
import { digestRemap, sealRun } from '../store/remap-digest.js';
import { saveCompanyPairs } from './companies.js';
import { decideRecords, saveVerdicts } from './decide-records.js';
import { explainRecords } from './explain-records.js';
import { saveKeyed } from './keyed.js';
import { matchChildren } from './match-children.js';
import { matchRecords } from './match-records.js';
import { saveDrift } from './save-drift.js';
import { buildScope } from './scope.js';
import { writeRemap } from './write-remap.js';

export interface RemapOptions {
  readonly db: Db;
  readonly config: Config;
  /** Pairs from `companies.csv`; they override the evidence in the data. */
  readonly named: readonly NamedCompanyPair[];
  /** The rows of `decisions.csv`. */
  readonly decisions?: readonly Decision[];
  /** SHA-256 of the files of `named` and `decisions`, by the name of the setting. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly onProgress: OnProgress;
  /** Throws if the remap should stop; called often. */
  readonly throwIfStopped?: () => void;
}

export interface RemapSummary extends Conservation {
  readonly sha256: string;
  /** Rows by `status` or `status/reason`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Lists that were not read to the end; records that may have their counterpart there are `scope_incomplete`. */
  readonly unfinishedStreams: number;
}

/**
 * Joins the two exports on (model, company pair, platform_id) and rebuilds the remap table in one transaction: after an
 * error or a crash the previous remap is unchanged.
 *
 * @throws SvcError `bad_input` (companies file), `corrupt_database` (exported data), `internal` (the result does not
 *   account for every record)
 */
export function buildRemap(options: RemapOptions): RemapSummary {
  const { db } = options;
  // SQLite's sorter uses as much memory as the page cache; a larger cache is not faster.
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma(`temp.cache_size = -${CACHE_KIB}`);
  db.pragma(`threads = ${SORTING_THREADS}`);
  return db
    .transaction(() => {
      dropTemporary(db);
      const summary = buildInTransaction(options);
      dropTemporary(db);
      return summary;
    })
    .immediate();
}

const CACHE_KIB = 2048;

/** Additional threads: with one, SQLite sorts one batch of rows while it collects the next. */
const SORTING_THREADS = 1;

function buildInTransaction(options: RemapOptions): RemapSummary {
  const { db, config, named, clock, onProgress, decisions = [], throwIfStopped = () => {} } = options;
  let done = 0;
  const step = <T>(name: string, work: () => T): T => {
    throwIfStopped();
    onProgress({ kind: 'step', name, done, total: STEPS });
    done += 1;
    return work();
  };
  step('check the database file', () => checkFile(db, EXPORTED_TABLES, throwIfStopped));
  step('check what was exported', () => verifyExport(db, throwIfStopped));
  step('read what was exported', () => {
    buildScope(db, config);
    saveKeyed(db);
  });
  step('pair companies', () => saveCompanyPairs(db, config, named));
  step('join records', () => matchRecords(db, config, throwIfStopped));
  step('explain records', () => explainRecords(db));
  const decided = step('apply decisions', () => decideRecords(db, decisions, clock.now()));
  const children = step('join children', () => matchChildren(db, decided, throwIfStopped));
  step('write the remap', () => writeRemap(db));
  saveVerdicts(db, decisions, decided.verdicts);
  writeRemapInputs(db, options.inputs ?? {});
  step('compare fields', () => saveDrift(db, config, throwIfStopped));
  const tally = prepareTally(db);
  const digests = step('digest the remap', () => digestRemap(db, tally.add));
  const { counts, ...found } = tally.finish();
  const claimed = { records: countRows(db, 'claimed_record'), children: children.claimed };
  const conservation = step('check every record is accounted for', () => assertConserved(db, found, claimed));
  const run = db
    .prepare("INSERT INTO remap_run(built_at, sha256, export_seq, counts) VALUES (?, '', ?, ?)")
    .run(new Date(clock.now()).toISOString(), readExportSeq(db), JSON.stringify(counts));
  const sha256 = sealRun(db, BigInt(run.lastInsertRowid), digests);
  saveCompleteness(db, config);
  const unfinishedStreams = countRows(db, "stream WHERE state IN ('running', 'failed')");
  return { ...conservation, sha256, counts, unfinishedStreams };
}

const STEPS = 12;

function countRows(db: Db, from: string): number {
  return Number(db.prepare(`SELECT count(*) FROM ${from}`).pluck().get());
}

function dropTemporary(db: Db): void {
  const objects = db
    .prepare(`SELECT type, name FROM sqlite_temp_schema WHERE type IN ('table', 'view') ORDER BY type DESC`)
    .raw()
    .all();
  for (const [type, name] of objects as [string, string][]) db.exec(`DROP ${type} IF EXISTS temp."${name}"`);
}

/** Row counts of a remap. */
interface RemapTally {
  /** Rows by `status` or `status/reason`, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly rows: number;
  /** Rows with a V3 id, and those without. */
  readonly v3: Kinds;
  readonly v4Only: Kinds;
  /** Invalid rows: still `absent`, or matched without an id on both sides. */
  readonly open: number;
}

interface Kinds {
  readonly records: number;
  readonly children: number;
}

const KINDS = `
  SELECT status, reason, path = '' AS isRecord, v3_svc_id IS NOT NULL AS hasV3, v4_svc_id IS NOT NULL AS hasV4,
    count(*) AS n
    FROM remap WHERE rowid BETWEEN ? AND ? GROUP BY 1, 2, 3, 4, 5`;

interface KindRow {
  readonly status: string;
  readonly reason: string | null;
  readonly isRecord: bigint;
  readonly hasV3: bigint;
  readonly hasV4: bigint;
  readonly n: bigint;
}

/** Makes a counter of remap rows: `add` counts a range of rowids, `finish` returns the totals. */
export function prepareTally(db: Db): { add: (from: bigint, to: bigint) => void; finish: () => RemapTally } {
  const read = db.prepare<[bigint, bigint], KindRow>(KINDS);
  const counts = new Map<string, number>();
  const [v3, v4Only] = [
    { records: 0, children: 0 },
    { records: 0, children: 0 },
  ];
  let [total, open] = [0, 0];
  return {
    add: (from, to) => {
      for (const { status, reason, isRecord, hasV3, hasV4, n } of read.all(from, to)) {
        const rows = Number(n);
        const name = reason === null ? status : `${status}/${reason}`;
        counts.set(name, (counts.get(name) ?? 0) + rows);
        total += rows;
        (hasV3 === 1n ? v3 : v4Only)[isRecord === 1n ? 'records' : 'children'] += rows;
        if (reason === 'absent' || (status === 'matched' && hasV3 * hasV4 === 0n)) open += rows;
      }
    },
    finish: () => {
      const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
      return { counts: Object.fromEntries(sorted), rows: total, v3, v4Only, open };
    },
  };
}

interface Conservation {
  readonly v3Records: number;
  readonly v3Children: number;
  readonly v4Records: number;
  readonly v4Children: number;
  readonly rows: number;
}

/**
 * Checks that every exported V3 record and child is in exactly one row, and every V4 one in at least one, by counting.
 *
 * @param claimed how many distinct V4 records and children are paired with V3 ones
 * @throws SvcError `internal`: a remap that fails is a bug, and is discarded
 */
function assertConserved(db: Db, tally: Omit<RemapTally, 'counts'>, claimed: Kinds): Conservation {
  const found = readFound(db);
  const { v3, v4Only, rows, open } = tally;
  const seen = {
    v3Records: v3.records,
    v3Children: v3.children,
    v4Records: v4Only.records + claimed.records,
    v4Children: v4Only.children + claimed.children,
  };
  const conserved = { ...seen, rows };
  if (JSON.stringify(found) === JSON.stringify(seen) && open === 0) return conserved;
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts: { found: JSON.stringify(found), rows: JSON.stringify(seen), total: rows, open },
  });
}

function readFound(db: Db): Record<string, number> {
  const count = (generation: 3 | 4) => `
    ifnull(sum(generation = ${generation}), 0) AS v${generation}Records,
    ifnull(sum(iif(generation = ${generation}, json_array_length(children), 0)), 0) AS v${generation}Children`;
  const sql = `SELECT ${count(3)}, ${count(4)} FROM record CROSS JOIN scope_stream USING (stream_id)`;
  return { ...db.prepare<[], Record<string, number>>(sql).safeIntegers(false).get() };
}
