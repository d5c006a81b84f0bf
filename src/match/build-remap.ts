import type { Config } from '../config/config.js';
import type { Decision } from '../config/user-files.js';
import type { OnProgress } from '../domain.js';
import { checkFile, EXPORTED_TABLES, verifyExport } from '../store/integrity.js';
import { readExportSeq, writeRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { saveCompleteness } from '../store/readiness.js';
import { digestRemap, sealRun } from '../store/remap-digest.js';
import { assertConserved, type Conservation, prepareTally } from './check-remap.js';
import { saveCompanyPairs } from './companies.js';
import { decideRecords, saveVerdicts } from './decide-records.js';
import { explainRecords } from './explain-records.js';
import { saveKeyed } from './keyed.js';
import { matchChildren } from './match-children.js';
import { matchRecords } from './match-records.js';
import type { NamedPair } from './pair-companies.js';
import { saveDrift } from './save-drift.js';
import { buildScope } from './scope.js';
import { writeRemap } from './write-remap.js';

export interface RemapOptions {
  readonly db: Db;
  readonly config: Config;
  /** Pairs from `companies.csv`; they override the evidence in the data. */
  readonly named: readonly NamedPair[];
  /** The rows of `decisions.csv`. */
  readonly decisions?: readonly Decision[];
  /** SHA-256 of the files of `named` and `decisions`, by the name of the setting. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly clock: { now(): number };
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
  const decided = step('apply decisions', () => decideRecords(db, decisions));
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
