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

/**
 * Writes the public table: a row for each V3 company and for each V4 company without a pair. Places get the numbers of
 * their rows.
 */
export function saveCompanies(
  db: Db,
  { v3, v4 }: Companies,
  pairing: Pairing,
  { evidence, keys }: CompanyCounts,
): void {
  const insert = db.prepare(`
    insert into company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const place = db.prepare('update temp.place set pair = ? where generation = ? and company = ?');
  const candidates = listCandidates(evidence);
  const nameV3 = (id: number) => {
    const { region, companyId } = at(v3, id);
    return { region, v3_company_id: String(companyId) };
  };
  const nameV4 = (id: number) => ({ v4_company_id: String(at(v4, id).companyId) });
  for (const { id, region, companyId } of v3) {
    const { v4: twin, matchedBy } = must(pairing.v3.get(id), 'pair');
    const rows = candidates.v3.get(id) ?? [];
    const chosen = twin === null ? rows[0] : rows.find((row) => row.v4 === twin);
    const note = rows
      .filter((row, rank) => rank < NAMED_CANDIDATES || (twin !== null && row === chosen))
      .map((row) => {
        const holder = pairing.v4.get(row.v4)?.v3 ?? id;
        return {
          ...nameV4(row.v4),
          ...numbersOf(row),
          ...(holder === id ? {} : { held_by: nameV3(holder) }),
        };
      });
    const { lastInsertRowid: pair } = insert.run(
      ...[region, companyId, twin === null ? null : at(v4, twin).companyId, matchedBy],
      ...[chosen?.shared ?? 0, chosen?.agreeing ?? 0, keys.v3.get(id) ?? 0],
      ...[twin === null ? 0 : (keys.v4.get(twin) ?? 0), JSON.stringify(note)],
    );
    place.run(pair, 3, id);
    if (twin !== null) place.run(pair, 4, twin);
  }
  for (const { id, companyId } of v4) {
    const { v3: twin, matchedBy } = must(pairing.v4.get(id), 'pair');
    if (twin !== null) continue;
    const rows = candidates.v4.get(id) ?? [];
    const note = rows.slice(0, NAMED_CANDIDATES).map((row) => {
      const holder = pairing.v3.get(row.v3)?.v4 ?? null;
      return {
        ...nameV3(row.v3),
        ...numbersOf(row),
        ...(holder === null ? {} : { held_by: nameV4(holder) }),
      };
    });
    const { lastInsertRowid: pair } = insert.run(
      ...[null, null, companyId, matchedBy, rows[0]?.shared ?? 0, rows[0]?.agreeing ?? 0],
      ...[0, keys.v4.get(id) ?? 0, JSON.stringify(note)],
    );
    place.run(pair, 4, id);
  }
}

function numbersOf({ shared, comparable, agreeing }: CompanyEvidence): Record<string, number> {
  return { shared_keys: shared, comparable_keys: comparable, agreeing_keys: agreeing };
}
