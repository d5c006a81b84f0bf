import type { Config } from '../config/config.js';
import { isUnfinished, type NamedCompanyPair } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';
import { readCompanyList } from '../store/streams.js';
import { groupBy } from '../text/rows.js';
import { readCompanyEvidence } from './company-evidence.js';
import type { ExportedParts } from './exported-parts.js';
import { type CompanyEvidence, pairCompanies } from './pair-companies.js';
import { type ExportScope, readListedCompanies, type ScopeCompanies, type ScopeCompany } from './scope.js';

/**
 * The companies in the export, without pairs yet. It is certain that a V3 company has no pair once its region and all of V4
 * were read in full; for a V4 company, once everything was.
 */
export function listCompanies(
  db: Db,
  config: Config,
  scope: ExportScope,
  parts: ExportedParts,
): ScopeCompanies {
  const listed = readListedCompanies(db);
  const isV4Full = isV4ReadInFull(db, scope, listed);
  const fullRegions = new Set(
    config.v3.regions.flatMap(({ region }) => (isRegionFull(scope, region) ? [region] : [])),
  );
  const v3 = new Map<string, Pick<ScopeCompany, 'region' | 'companyId'>>();
  const v4 = new Set(listed);
  for (const { generation, region, companyId } of [...scope.lists.values(), ...parts.all()]) {
    if (companyId === null) continue;
    const id = BigInt(companyId);
    if (generation === 3) v3.set(nameOf(region, id), { region, companyId: id });
    else v4.add(id);
  }
  const companyOf = (region: string, companyId: bigint, scopeFull: boolean, id: number): ScopeCompany => ({
    ...{ id, region, companyId, scopeFull },
    ...{ keys: 0, pairedId: null, matchedBy: 'none' },
  });
  const byId = (a: bigint, b: bigint) => (a < b ? -1 : 1);
  const isAllFull = isV4Full && config.v3.regions.every(({ region }) => fullRegions.has(region));
  const companies = {
    v3: [...v3.values()]
      .sort((a, b) => (a.region === b.region ? byId(a.companyId, b.companyId) : a.region < b.region ? -1 : 1))
      .map(({ region, companyId }, id) =>
        companyOf(region, companyId, isV4Full && fullRegions.has(region), id),
      ),
    v4: [...v4].sort(byId).map((companyId, id) => companyOf('', companyId, isAllFull, id)),
  };
  const ids = new Map(
    [...companies.v3, ...companies.v4].map((one) => [nameOf(one.region, one.companyId), one.id]),
  );
  for (const part of parts.all()) part.company = ids.get(nameOf(part.region, part.companyId));
  return companies;
}

/** V4 has no region. */
function nameOf(region: string, companyId: bigint | string): string {
  return `${companyId} ${region}`;
}

/** Whether every model of the region has a list, and all were read in full. */
function isRegionFull({ models, lists }: ExportScope, region: string): boolean {
  const ofRegion = [...lists.values()].filter((list) => list.generation === 3 && list.region === region);
  return ofRegion.length >= models.length && ofRegion.every(({ readInFull }) => readInFull);
}

/** Whether V4's company list was read in full, and every V4 model of each listed company too. */
function isV4ReadInFull(db: Db, { models, lists, find }: ExportScope, listed: readonly bigint[]): boolean {
  // Where it was not requested, the configuration names the companies, or V4 was not exported.
  if (!(isCompanyListRead(db) ?? listed.length > 0)) return false;
  for (const { generation, readInFull } of lists.values()) if (generation === 4 && !readInFull) return false;
  return listed.every((company) =>
    models.every(({ isInV4 }, model) => !isInV4 || find(4, model, '', company) !== undefined),
  );
}

/**
 * Pairs the companies of both sides and writes the public `company` table.
 *
 * @throws SvcError `bad_input` if the companies file names a V4 company that V4 does not list, `incomplete` if that list
 *   was not read to its end
 */
export function saveCompanyPairs(
  db: Db,
  config: Config,
  named: readonly NamedCompanyPair[],
  companies: ScopeCompanies,
  parts: ExportedParts,
): void {
  assertNamedExist(db, named, companies);
  const { evidence, uncounted } = readCompanyEvidence(companies, parts.keyed);
  const mode = typeof config.companies.match === 'string' ? config.companies.match : 'auto';
  const pairing = pairCompanies({ ...companies, evidence, uncounted, mode, named });
  for (const company of companies.v3) {
    const { v4 = null, matchedBy = 'none' } = pairing.v3.get(company.id) ?? {};
    Object.assign(company, { pairedId: v4, matchedBy });
  }
  for (const company of companies.v4) {
    const { v3 = null, matchedBy = 'none' } = pairing.v4.get(company.id) ?? {};
    Object.assign(company, { pairedId: v3, matchedBy });
  }
  saveCompanyTable(db, companies, evidence);
}

function assertNamedExist(db: Db, named: readonly NamedCompanyPair[], { v4 }: ScopeCompanies): void {
  const known = new Set(v4.map(({ companyId }) => companyId));
  for (const { line, v4CompanyId } of named) {
    if (known.has(v4CompanyId)) continue;
    if (isCompanyListRead(db) === false) {
      const missing = `V4's list of companies was not read to its end, so V4 company ${v4CompanyId} on line ${line} of the companies file cannot be checked.`;
      throw new SvcError('incomplete', missing, { hint: 'Run `svc-migrate export v4` first.' });
    }
    const text = `Line ${line} of the companies file names V4 company ${v4CompanyId}, which V4 does not list.`;
    throw new SvcError('bad_input', text, {
      hint: 'Correct the file, or export V4 again if the company is new.',
    });
  }
}

/** Whether V4's company list was read to its end; undefined if it was not requested. */
function isCompanyListRead(db: Db): boolean | undefined {
  const list = readCompanyList(db);
  return list === null ? undefined : !isUnfinished(list);
}

/** One row per V3 company and per unpaired V4 company; `note` holds the three best candidates, and the company's own pair. */
function saveCompanyTable(db: Db, { v3, v4 }: ScopeCompanies, evidence: readonly CompanyEvidence[]): void {
  db.exec('DELETE FROM company');
  const insert = db.prepare(`
    INSERT INTO company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const ofV3 = groupBy(evidence, (row) => row.v3);
  for (const { id, region, companyId, pairedId, matchedBy, keys } of v3) {
    const rows = bestFirst(ofV3.get(id) ?? []);
    const twin = pairedId === null ? undefined : v4[pairedId];
    const own = twin === undefined ? rows[0] : rows.find((row) => row.v4 === twin.id);
    const note = rows
      .filter((row, at) => at < 3 || (twin !== undefined && row === own))
      .map((row) => ({ v4_company_id: String(v4[row.v4]?.companyId), ...numbersOf(row) }));
    const counts = [own?.shared ?? 0, own?.agreeing ?? 0, keys, twin?.keys ?? 0];
    insert.run(region, companyId, twin?.companyId ?? null, matchedBy, ...counts, JSON.stringify(note));
  }
  const ofV4 = groupBy(evidence, (row) => row.v4);
  for (const { id, companyId, pairedId, matchedBy, keys } of v4) {
    if (pairedId !== null) continue;
    const rows = bestFirst(ofV4.get(id) ?? []);
    const note = rows.slice(0, 3).map((row) => {
      const { region, companyId: v3CompanyId } = v3[row.v3] ?? {};
      return { region, v3_company_id: String(v3CompanyId), ...numbersOf(row) };
    });
    const counts = [rows[0]?.shared ?? 0, rows[0]?.agreeing ?? 0, 0, keys];
    insert.run(null, null, companyId, matchedBy, ...counts, JSON.stringify(note));
  }
}

function bestFirst(rows: readonly CompanyEvidence[]): CompanyEvidence[] {
  return [...rows].sort(
    (a, b) => b.agreeing - a.agreeing || b.shared - a.shared || a.v3 - b.v3 || a.v4 - b.v4,
  );
}

function numbersOf({ shared, comparable, agreeing }: CompanyEvidence): Record<string, number> {
  return { shared_keys: shared, comparable_keys: comparable, agreeing_keys: agreeing };
}
