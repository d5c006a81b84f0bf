import type { Config } from '../config/config.js';
import type { Clock, Decision, NamedCompanyPair, OnProgress } from '../domain.js';
import { assertUndamaged, checkFile, digestRemap, isBug } from '../store/integrity.js';
import { buildRemapInputs, findOpenLists, type RemapInputs } from '../store/readiness.js';
import type { Db } from '../store/sqlite.js';
import { readCompanyEvidence } from './company-evidence.js';
import { countConserved, countDays, countExported, countGroups } from './count-remap.js';
import { decide } from './decide.js';
import { deriveAgain } from './derive-again.js';
import { joinChildren } from './join-children.js';
import { joinRecords } from './join-records.js';
import { createOutcomes, GROUP_OF } from './outcomes.js';
import { pairCompanies } from './pair-companies.js';
import { assertNamedExist, saveCompanies, warnAboutNamed } from './save-companies.js';
import { createPlaces, createScopes } from './scopes.js';
import { saveWindows } from './windows.js';

export interface RemapOptions {
  readonly db: Db;
  readonly config: Config;
  readonly named: readonly NamedCompanyPair[];
  readonly decisions?: readonly Decision[];
  /** SHA-256 of the files of `named` and `decisions`, by the name of the setting: `digestInputFiles`, before reading them. */
  readonly inputs?: RemapInputs;
  readonly clock: Clock;
  readonly onProgress: OnProgress;
}

export interface RemapSummary {
  readonly rows: number;
  /** Whether every planned list was read in full. */
  readonly isComplete: boolean;
}

/**
 * Joins the two exports on (model, company pair, platform_id) and rebuilds the remap in one transaction: after an error
 * or a crash the previous remap is unchanged.
 *
 * @throws SvcError `bad_input` (companies file), `incomplete` (companies file, and V4's companies were not all read),
 *   `corrupt_database` (exported data), `other_configuration` (pages are missing), `internal` (the result does not account
 *   for every record)
 */
export function buildRemap(options: RemapOptions): RemapSummary {
  const { db } = options;
  // Sorts of 2 MiB parts stay in the processor's cache: half the CPU time of 32 MiB parts.
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma('temp_store = FILE');
  // An automatic index on children's keys (1, 2, 3 in every record) would be quadratic.
  db.pragma('automatic_index = OFF');
  try {
    return db.transaction(() => buildInTransaction(options)).immediate();
  } catch (error) {
    // Damaged indexes and texts pass quick_check: rows are then missing or counted twice.
    if (isBug(error)) assertUndamaged(db);
    throw error;
  } finally {
    if (db.open) db.exec(DROP_TABLES);
  }
}

const CACHE_KIB = 2048;
const STEPS = 11;

const TEMP_TABLES = [
  ...['twin', 'side', 'place', 'scope', 'o', 'outcome', 'wanted', 'open'],
  ...['v4_day', 'record_count', 'group_count', 'day_count'],
];

const DROP_TABLES = TEMP_TABLES.map((table) => `drop table if exists temp.${table};`).join('\n');

const EMPTY_TABLES = [
  'remap_run',
  'company',
  'remap_row',
  'remap_group',
  'remap_day',
  'backfill_window',
  'decision',
  'exported_count',
]
  .map((table) => `delete from ${table};`)
  .join('\n');

const DROP_INDEXES =
  'drop index if exists remap_v3; drop index if exists remap_v4; drop index if exists remap_key;';

function buildInTransaction(options: RemapOptions): RemapSummary {
  const { db, config, named, clock, onProgress, decisions = [] } = options;
  let done = 0;
  const step = <T>(name: string, work: () => T): T => {
    onProgress({ kind: 'step', name, done, total: STEPS });
    done += 1;
    return work();
  };
  step('check the database file', () => checkFile(db, 'quick_check(1)'));
  step('read stored pages', () => deriveAgain(db, config));
  db.exec(EMPTY_TABLES);
  db.exec(DROP_INDEXES);
  createOutcomes(db);
  const models = config.models.map(({ v3 }) => v3);
  step('count records', () => countExported(db, models));
  const companies = createPlaces(db, config);
  step('sort keys', () => db.exec('create index record_key on record(platform_id, stream_id, company_id)'));
  step('pair companies', () => {
    assertNamedExist(db, named, companies);
    const counts = readCompanyEvidence(db, config);
    const mode = config.companies.match === 'same_id' ? 'same_id' : 'auto';
    const pairs = pairCompanies({ ...companies, ...counts, mode, named });
    warnAboutNamed(named, companies, counts, onProgress);
    saveCompanies(db, companies, pairs, counts);
  });
  saveWindows(db, models, config.backfill.sinceMs);
  createScopes(db, config);
  step('join records', () => joinRecords(db));
  // Now, so that the remap reuses its pages.
  db.exec('drop index record_key');
  db.exec(ADD_RECORDS);
  decide(db, 'records', decisions, clock.now());
  step('join children', () => joinChildren(db));
  step('index the remap', () => db.exec(CREATE_INDEXES));
  decide(db, 'children', decisions, clock.now());
  step('count rows', () => {
    countGroups(db);
    countDays(db);
  });
  const counts = step('check that every record is accounted for', () => countConserved(db));
  const isComplete = findOpenLists(db, config).length === 0;
  const inputs = JSON.stringify(buildRemapInputs(db, config, options.inputs ?? {}));
  const builtAt = new Date(clock.now()).toISOString();
  db.prepare(ADD_RUN).run({ ...counts, builtAt, complete: isComplete ? 1n : 0n, inputs });
  const sha256 = step('digest the remap', () => digestRemap(db));
  db.prepare('update remap_run set sha256 = ?').run(sha256);
  return { rows: Number(counts.rows), isComplete };
}

const ADD_RECORDS = `
  insert into remap_row(id, group_id, platform_id, v3_svc_id, v4_svc_id, evidence)
  select id, scope_id * ${GROUP_OF.scope} + outcome, key, v3, v4, evidence
  from temp.twin order by id`;

const CREATE_INDEXES = `
  create index remap_v3 on remap_row(v3_svc_id);
  create index remap_v4 on remap_row(v4_svc_id);
  create index remap_key on remap_row(platform_id);`;

/** Without its digest, which covers the counts. */
const ADD_RUN = `
  insert into remap_run(id, built_at, sha256, complete, inputs, v3_exported, v3_rows, v4_exported, v4_seen)
  values (1, @builtAt, '', @complete, @inputs, @v3Exported, @v3Rows, @v4Exported, @v4Seen)`;
