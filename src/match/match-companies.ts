import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { type RemapWriter, RowSpool } from '../store/remap-writer.js';
import { type Decisions, decideRecords, decisionsOf } from './decide-records.js';
import { explainRecords } from './explain-records.js';
import type { ExportedParts } from './exported-parts.js';
import { joinNothing, joinRecords } from './join-records.js';
import { type Found, type JudgedPair, RowsOfModel, writePair } from './match-company-pair.js';
import { preparePartRecords } from './part-records.js';
import { prepareDrift } from './save-drift.js';
import { preparePairedModel, readScopeCompanies, type ScopeCompany } from './scope.js';

interface MatchOptions {
  readonly db: Db;
  readonly config: Config;
  readonly parts: ExportedParts;
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
export function matchCompanies(options: MatchOptions): { readonly found: Found; readonly seen: Found } {
  const { db, config, parts, writer, throwIfStopped } = options;
  const [found, seen] = [noneFound(), noneFound()];
  for (const { generation, records } of parts.all()) found[`v${generation}Records`] += records;
  const spool = new RowSpool(db);
  const drift = prepareDrift(db, config);
  const pairs = listPairs(db);
  const judge = prepareJudge(options, found);
  for (const [modelId, model] of readModels(db)) {
    const later = new RowsOfModel(spool);
    for (const companies of pairs) {
      const judged = judge(modelId, model, companies);
      if (judged === null) continue;
      addFound(seen, writePair(judged, writer, later, options.decisions.verdicts, throwIfStopped));
      drift.compare(judged, throwIfStopped);
    }
    later.write(writer, throwIfStopped);
    spool.clear();
  }
  // records of lists that are not configured are not part of the remap, but part of the export
  preparePartRecords(db, throwIfStopped)(parts.others);
  return { found, seen };
}

type CompanyPair = readonly [v3: ScopeCompany | null, v4: ScopeCompany | null];

/** V3 companies with their V4 companies, in the order of the remap, then V4 companies without a pair. */
function listPairs(db: Db): CompanyPair[] {
  const v4 = readScopeCompanies(db, 4);
  const byId = new Map(v4.map((company) => [company.id, company]));
  const ofV3 = readScopeCompanies(db, 3).map(
    (company): CompanyPair => [
      company,
      company.pairedId === null ? null : (byId.get(company.pairedId) ?? null),
    ],
  );
  const open = v4.filter(({ pairedId }) => pairedId === null);
  return [...ofV3, ...open.map((company): CompanyPair => [null, company])];
}

/** Makes the function that judges the records of a model of two companies; null if there are none, and no decisions. */
function prepareJudge(
  { db, parts, decisions, throwIfStopped }: MatchOptions,
  found: Found,
): (modelId: number, model: string, companies: CompanyPair) => JudgedPair | null {
  const read = preparePartRecords(db, throwIfStopped);
  const readModel = preparePairedModel(db);
  return (modelId, model, [v3Company, v4Company]) => {
    const partOf = (generation: 3 | 4, company: ScopeCompany | null) =>
      company === null ? null : parts.find(modelId, generation, company.region, String(company.companyId));
    const [v3Part, v4Part] = [partOf(3, v3Company), partOf(4, v4Company)];
    const isPaired = v3Company !== null && v4Company !== null;
    const named = isPaired ? decisionsOf(decisions, model, v3Company.region, v3Company.companyId) : [];
    if (v3Part === null && v4Part === null && named.length === 0) return null;
    const [v3, v4] = [read(v3Part), read(v4Part)];
    found.v3Children += v3.childCount;
    found.v4Children += v4.childCount;
    const pair = {
      ...{ v3Company, v4Company, v3, v4 },
      model: isPaired ? readModel(modelId, v4Company.id) : null,
    };
    // V4 records of a company without a pair can still be superseded by others of V4
    const isJoined = pair.model === null ? v4Company !== null : !pair.model.v4Absent;
    throwIfStopped();
    const joined = isJoined ? joinRecords(v3, v4) : joinNothing(v3, v4);
    throwIfStopped();
    const outcomes = explainRecords(pair, joined);
    const decided = decideRecords(pair, named, joined, outcomes, decisions.verdicts);
    return { model, pair, joined, outcomes, decided };
  };
}

function readModels(db: Db): [id: number, model: string][] {
  return db
    .prepare<[], [number, string]>('SELECT id, model FROM scope_model ORDER BY id')
    .raw()
    .safeIntegers(false)
    .all();
}

function noneFound(): Found {
  return { v3Records: 0, v3Children: 0, v4Records: 0, v4Children: 0 };
}

function addFound(to: Found, more: Found): void {
  to.v3Records += more.v3Records;
  to.v3Children += more.v3Children;
  to.v4Records += more.v4Records;
  to.v4Children += more.v4Children;
}
