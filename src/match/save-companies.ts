import { isUnfinished, type NamedCompanyPair, type OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/sqlite.js';
import { readCompanyList } from '../store/streams.js';
import { at, must } from '../text/at.js';
import { groupBy } from '../text/rows.js';
import type { CompanyCounts } from './company-evidence.js';
import type { CompanyEvidence, Pairing } from './pair-companies.js';
import type { Companies } from './scopes.js';

/**
 * Refuses pairs with V4 companies that V4 does not list.
 *
 * @throws SvcError `bad_input`; `incomplete` if V4's list of companies was not read to its end
 */
export function assertNamedExist(db: Db, named: readonly NamedCompanyPair[], { v4 }: Companies): void {
  const ids = new Set(v4.map(({ companyId }) => companyId));
  for (const { line, v4CompanyId } of named) {
    if (v4CompanyId === null || ids.has(v4CompanyId)) continue;
    const list = readCompanyList(db);
    if (list !== null && isUnfinished(list)) {
      const text = `V4's list of companies was not read to its end, so V4 company ${v4CompanyId} on line ${line} of the companies file cannot be checked.`;
      throw new SvcError('incomplete', text, { hint: 'Run `svc-migrate export v4` first.' });
    }
    const text = `Line ${line} of the companies file names V4 company ${v4CompanyId}, which V4 does not list.`;
    throw new SvcError('bad_input', text, {
      hint: 'Correct the file, or export V4 again if the company is new.',
    });
  }
}

/** Warns about lines of unknown V3 companies, and of pairs where another company has more agreeing keys. */
export function warnAboutNamed(
  named: readonly NamedCompanyPair[],
  { v3, v4 }: Companies,
  { evidence }: CompanyCounts,
  onProgress: OnProgress,
): void {
  const warn = (text: string) => onProgress({ kind: 'note', level: 'warning', text });
  const candidates = listCandidates(evidence);
  for (const { line, region, v3CompanyId, v4CompanyId } of named) {
    const a = v3.find((company) => company.region === region && company.companyId === v3CompanyId);
    const b = v4.find(({ companyId }) => companyId === v4CompanyId);
    if (a === undefined)
      warn(
        `Line ${line} of the companies file names V3 company ${v3CompanyId} of ${region}, which no exported V3 record has.`,
      );
    if (a === undefined || b === undefined) continue;
    const [bestOfA] = candidates.v3.get(a.id) ?? [];
    const [bestOfB] = candidates.v4.get(b.id) ?? [];
    const agreeing = candidates.v3.get(a.id)?.find((row) => row.v4 === b.id)?.agreeing ?? 0;
    const pairs = `Line ${line} of the companies file pairs V3 company ${v3CompanyId} of ${region} with V4 company ${v4CompanyId} (${agreeing} agreeing keys)`;
    if (bestOfA !== undefined && bestOfA.agreeing > agreeing)
      warn(
        `${pairs}, but it agrees with V4 company ${at(v4, bestOfA.v4).companyId} more (${bestOfA.agreeing}).`,
      );
    if (bestOfB !== undefined && bestOfB.agreeing > agreeing) {
      const { companyId, region: other } = at(v3, bestOfB.v3);
      warn(`${pairs}, which V3 company ${companyId} of ${other} agrees with more (${bestOfB.agreeing}).`);
    }
  }
}

/** The evidence of each company, best first. */
function listCandidates(evidence: readonly CompanyEvidence[]) {
  const sorted = evidence.toSorted(
    (a, b) => b.agreeing - a.agreeing || b.shared - a.shared || a.v3 - b.v3 || a.v4 - b.v4,
  );
  return { v3: groupBy(sorted, ({ v3 }) => v3), v4: groupBy(sorted, ({ v4 }) => v4) };
}

const NAMED_CANDIDATES = 3;

const ADD_COMPANY = `
  insert into company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
  values (@region, @v3CompanyId, @v4CompanyId, @matchedBy, @shared, @agreeing, @v3Keys, @v4Keys, @note)`;

/**
 * Writes the public table: a row for each V3 company and for each V4 company without a pair. Places get the numbers of
 * their rows.
 */
export function saveCompanies(db: Db, companies: Companies, pairing: Pairing, counts: CompanyCounts): void {
  const { keys } = counts;
  const insert = db.prepare(ADD_COMPANY);
  const place = db.prepare('update temp.place set pair = ? where generation = ? and company = ?');
  const candidates = listCandidates(counts.evidence);
  const describe = prepareDescribe(companies, pairing);
  for (const { v3, v4, matchedBy } of listRows(companies, pairing)) {
    const rows = (v3 === null ? candidates.v4.get(must(v4)) : candidates.v3.get(v3)) ?? [];
    const chosen = v3 === null || v4 === null ? rows[0] : rows.find((row) => row.v4 === v4);
    const named = rows.filter((row, rank) => rank < NAMED_CANDIDATES || row === chosen);
    const { lastInsertRowid: pair } = insert.run({
      region: v3 === null ? null : at(companies.v3, v3).region,
      v3CompanyId: v3 === null ? null : at(companies.v3, v3).companyId,
      v4CompanyId: v4 === null ? null : at(companies.v4, v4).companyId,
      matchedBy,
      shared: chosen?.shared ?? 0,
      agreeing: chosen?.agreeing ?? 0,
      v3Keys: v3 === null ? 0 : (keys.v3.get(v3) ?? 0),
      v4Keys: v4 === null ? 0 : (keys.v4.get(v4) ?? 0),
      note: JSON.stringify(named.map((row) => describe(row, v3 === null ? 'v3' : 'v4'))),
    });
    if (v3 !== null) place.run(pair, 3, v3);
    if (v4 !== null) place.run(pair, 4, v4);
  }
}

function listRows({ v3, v4 }: Companies, pairing: Pairing) {
  const ofV3 = v3.map(({ id }) => ({ v3: id, ...must(pairing.v3.get(id), 'pair') }));
  const ofV4 = v4.map(({ id }) => ({ ...must(pairing.v4.get(id), 'pair'), v4: id }));
  return [...ofV3, ...ofV4.filter((row) => row.v3 === null)];
}

/** A candidate of a company as JSON: its counts, and the other company that it is paired with, if there is one. */
function prepareDescribe({ v3, v4 }: Companies, pairing: Pairing) {
  const nameV3 = (id: number) => {
    const { region, companyId } = at(v3, id);
    return { region, v3_company_id: String(companyId) };
  };
  const nameV4 = (id: number) => ({ v4_company_id: String(at(v4, id).companyId) });
  return (row: CompanyEvidence, candidate: 'v3' | 'v4') => {
    const { shared, comparable, agreeing } = row;
    const counts = { shared_keys: shared, comparable_keys: comparable, agreeing_keys: agreeing };
    const holder = candidate === 'v3' ? pairing.v3.get(row.v3)?.v4 : pairing.v4.get(row.v4)?.v3;
    const isHeld = holder != null && holder !== (candidate === 'v3' ? row.v4 : row.v3);
    const heldBy = (id: number) => (candidate === 'v3' ? nameV4(id) : nameV3(id));
    const name = candidate === 'v3' ? nameV3(row.v3) : nameV4(row.v4);
    return { ...name, ...counts, ...(isHeld ? { held_by: heldBy(holder) } : {}) };
  };
}
