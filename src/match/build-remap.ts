import { listFields } from '../api/field-digests.js';
import type { Config } from '../config/config.js';
import type { Clock, Decision, NamedCompanyPair, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { checkFile, EXPORTED_TABLES, verifyCounts } from '../store/integrity.js';
import { readExportSeq, writeRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { saveCompleteness } from '../store/readiness.js';
import { digestRemap, sealRun } from '../store/remap-digest.js';
import { prepareSaveExported } from '../store/remap-groups.js';
import { type CountedGroup, RemapWriter } from '../store/remap-writer.js';
import { listCompanies, saveCompanyPairs } from './companies.js';
import {
  type Decisions,
  decideRecords,
  decisionsOf,
  groupDecisions,
  saveVerdicts,
} from './decide-records.js';
import { explainRecords } from './explain-records.js';
import { type ExportedParts, readExportedParts } from './exported-parts.js';
import { joinRecords } from './join-records.js';
import { type Found, type JudgedPair, writePair } from './match-company-pair.js';
import { preparePairedModel } from './paired-model.js';
import { preparePartRecords } from './part-records.js';
import { prepareDrift } from './save-drift.js';
import { type ExportScope, readScope, type ScopeCompanies, type ScopeCompany } from './scope.js';

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
  db.pragma(`threads = ${SORTING_THREADS}`);
  return db.transaction(() => buildInTransaction(options)).immediate();
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
  step('check the lists', () => verifyCounts(db));
  const scope = readScope(db, config);
  const parts = step('read what was exported', () =>
    readExportedParts(db, scope, listFields(config.backfill.dateFields), throwIfStopped),
  );
  const companies = listCompanies(db, config, scope, parts);
  step('pair companies', () => saveCompanyPairs(db, config, named, companies, parts));
  parts.keyed.clear();
  const decided = groupDecisions(decisions, clock.now());
  const writer = new RemapWriter(db);
  const { found, seen } = step('join records', () =>
    matchCompanies({ db, config, scope, parts, companies, decisions: decided, writer, throwIfStopped }),
  );
  const rows = step('write the remap', () => writer.finish());
  const models = config.models.map(({ v3 }) => v3);
  saveVerdicts(db, decisions, decided.verdicts, models);
  writeRemapInputs(db, options.inputs ?? {});
  const digests = step('digest the remap', () => digestRemap(db, rows));
  const groups = [...writer.groups];
  const conservation = step('check every record is accounted for', () =>
    assertConserved(found, seen, groups, writer.halfMatched),
  );
  const run = db
    .prepare("INSERT INTO remap_run(built_at, sha256, export_seq) VALUES (?, '', ?)")
    .run(new Date(clock.now()).toISOString(), readExportSeq(db));
  const sha256 = sealRun(db, BigInt(run.lastInsertRowid), digests);
  saveCompleteness(db, config);
  const unfinishedStreams = countRows(db, "stream WHERE state IN ('running', 'failed')");
  return { ...conservation, sha256, unfinishedStreams };
}

const STEPS = 8;

function countRows(db: Db, from: string): number {
  return Number(db.prepare(`SELECT count(*) FROM ${from}`).pluck().get());
}

interface Conservation extends Found {
  readonly rows: number;
}

/**
 * Checks that every exported V3 record and child is in exactly one row, and every V4 one in at least one, by counting.
 *
 * @throws SvcError `internal`: a remap that fails is a bug, and is discarded
 */
function assertConserved(
  found: Found,
  seen: Found,
  groups: readonly CountedGroup[],
  halfMatched: number,
): Conservation {
  const rows = groups.reduce((sum, { count }) => sum + count, 0);
  const unexplained = groups.filter(({ reason }) => reason === 'absent').length;
  const conserved = { ...seen, rows };
  if (JSON.stringify(found) === JSON.stringify(seen) && halfMatched + unexplained === 0) return conserved;
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts: {
      found: JSON.stringify(found),
      rows: JSON.stringify(seen),
      total: rows,
      halfMatched,
      unexplained,
    },
  });
}

interface MatchOptions {
  readonly db: Db;
  readonly config: Config;
  readonly scope: ExportScope;
  readonly parts: ExportedParts;
  readonly companies: ScopeCompanies;
  readonly decisions: Decisions;
  readonly writer: RemapWriter;
  readonly throwIfStopped: () => void;
}

/**
 * Judges every exported record and writes the rows of the remap in their order: model by model, and company pair by company
 * pair, of which one at a time is in memory.
 *
 * @returns the records and children that were exported, and those that the rows account for
 */
function matchCompanies(options: MatchOptions): { readonly found: Found; readonly seen: Found } {
  const { db, config, scope, parts, writer, throwIfStopped } = options;
  const [found, seen] = [noneFound(), noneFound()];
  for (const { generation, records } of parts.all()) found[`v${generation}Records`] += records;
  const drift = prepareDrift(db, config);
  const pairs = listPairs(options.companies);
  const judge = prepareJudge(options, found);
  for (const model of scope.models.keys()) {
    for (const companies of pairs) {
      const judged = judge(model, companies);
      if (judged === null) continue;
      writePair(judged, writer, options.decisions.verdicts, seen, throwIfStopped);
      drift.compare(judged, throwIfStopped);
    }
  }
  // records of lists that are not configured are not part of the remap, but part of the export
  preparePartRecords(db, scope, throwIfStopped)(parts.others);
  return { found, seen };
}

type CompanyPair = readonly [v3: ScopeCompany | null, v4: ScopeCompany | null];

/** V3 companies with their V4 companies, in the order of the remap, then V4 companies without a pair. */
function listPairs({ v3, v4 }: ScopeCompanies): CompanyPair[] {
  const ofV3 = v3.map(
    (company): CompanyPair => [company, company.pairedId === null ? null : (v4[company.pairedId] ?? null)],
  );
  const open = v4.filter(({ pairedId }) => pairedId === null);
  return [...ofV3, ...open.map((company): CompanyPair => [null, company])];
}

/** Makes the function that judges the records of a model of two companies; null if there are none, and no decisions. */
function prepareJudge(
  { db, config, scope, parts, decisions, throwIfStopped }: MatchOptions,
  found: Found,
): (model: number, companies: CompanyPair) => JudgedPair | null {
  const readV3 = preparePartRecords(db, scope, throwIfStopped);
  const readV4 = preparePartRecords(db, scope, throwIfStopped);
  const pairedModel = preparePairedModel(config, scope, parts);
  const saveExported = prepareSaveExported(db);
  return (number, [v3Company, v4Company]) => {
    const model = scope.models[number]?.name ?? '';
    const partOf = (generation: 3 | 4, company: ScopeCompany | null) =>
      company === null ? null : parts.find(number, generation, company.region, String(company.companyId));
    const [v3Part, v4Part] = [partOf(3, v3Company), partOf(4, v4Company)];
    const isPaired = v3Company !== null && v4Company !== null;
    const named = isPaired ? decisionsOf(decisions, model, v3Company.region, v3Company.companyId) : [];
    if (v3Part === null && v4Part === null && named.length === 0) return null;
    const [v3, v4] = [readV3(v3Part), readV4(v4Part)];
    for (const [part, { childCount, deleted }] of [
      [v3Part, v3],
      [v4Part, v4],
    ] as const) {
      if (part === null) continue;
      const { generation, region, companyId, records } = part;
      found[`v${generation}Children`] += childCount;
      saveExported(
        [`v${generation}`, region, model, companyId],
        [records, childCount, deleted.filter(Boolean).length],
      );
    }
    const pair = {
      ...{ v3Company, v4Company, v3, v4 },
      model: isPaired ? pairedModel(number, v3Company, v4Company) : null,
    };
    // V4 records of a company without a pair can still be superseded by others of V4
    const isJoined = pair.model === null ? v4Company !== null : !pair.model.v4Absent;
    throwIfStopped();
    const joined = joinRecords(v3, v4, isJoined);
    throwIfStopped();
    const outcomes = explainRecords(pair, joined);
    const decided = decideRecords(pair, named, joined, outcomes, decisions.verdicts);
    return { model, pair, joined, outcomes, decided };
  };
}

function noneFound(): Found {
  return { v3Records: 0, v3Children: 0, v4Records: 0, v4Children: 0 };
}
