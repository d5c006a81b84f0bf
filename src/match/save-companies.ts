import type { NamedCompanyPair, OnProgress, StreamState } from '../domain.js';
import { isUnfinished } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/sqlite.js';
import { append } from '../text/rows.js';
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
    const list = db
      .prepare<[], { state: StreamState }>(
        "select state from stream where generation = 'v4' and model = 'core/companies'",
      )
      .get();
    if (list !== undefined && isUnfinished(list)) {
      const text = `V4's list of companies was not read to its end, so V4 company ${v4CompanyId} on line ${line} of the companies file cannot be checked.`;
      throw new SvcError('incomplete', text, { hint: 'Run `svc-migrate export v4` first.' });
    }
    const text = `Line ${line} of the companies file names V4 company ${v4CompanyId}, which V4 does not list.`;
    throw new SvcError('bad_input', text, {
      hint: 'Correct the file, or export V4 again if the company is new.',
    });
  }
}

/** Warns about lines of unknown V3 companies, and that part a company from one with which it has more agreeing keys. */
export function warnAboutNamed(
  named: readonly NamedCompanyPair[],
  { v3, v4 }: Companies,
  { evidence }: CompanyCounts,
  onProgress: OnProgress,
): void {
  const ofV3 = new Map<number, CompanyEvidence[]>();
  const ofV4 = new Map<number, CompanyEvidence[]>();
  for (const row of evidence) {
    append(ofV3, row.v3, row);
    append(ofV4, row.v4, row);
  }
  const warn = (text: string) => onProgress({ kind: 'note', level: 'warning', text });
  for (const { line, region, v3CompanyId, v4CompanyId } of named) {
    const a = v3.find((company) => company.region === region && company.companyId === v3CompanyId);
    const b = v4.find(({ companyId }) => companyId === v4CompanyId);
    if (a === undefined)
      warn(
        `Line ${line} of the companies file names V3 company ${v3CompanyId} of ${region}, which no exported V3 record has.`,
      );
    if (a === undefined || b === undefined) continue;
    const agreeing = ofV4.get(b.id)?.find((row) => row.v3 === a.id)?.agreeing ?? 0;
    const pairs = `Line ${line} of the companies file pairs V3 company ${v3CompanyId} of ${region} with V4 company ${v4CompanyId} (${agreeing} agreeing keys)`;
    const rivalOfA = findRival(ofV3.get(a.id), agreeing);
    const otherV4 = v4.find(({ id }) => id === rivalOfA?.v4);
    if (rivalOfA && otherV4)
      warn(`${pairs}, but it agrees with V4 company ${otherV4.companyId} more (${rivalOfA.agreeing}).`);
    const rivalOfB = findRival(ofV4.get(b.id), agreeing);
    const otherV3 = v3.find(({ id }) => id === rivalOfB?.v3);
    if (rivalOfB && otherV3)
      warn(
        `${pairs}, which V3 company ${otherV3.companyId} of ${otherV3.region} agrees with more (${rivalOfB.agreeing}).`,
      );
  }
}

/** The evidence with the most agreeing keys, if they are more than `agreeing`. */
function findRival(rows: readonly CompanyEvidence[] = [], agreeing: number): CompanyEvidence | undefined {
  const [best] = [...rows].sort((x, y) => y.agreeing - x.agreeing);
  return best !== undefined && best.agreeing > agreeing ? best : undefined;
}

const NAMED_CANDIDATES = 3;

/** Writes the public table: a row for each V3 company and for each V4 company without a pair. */
export function saveCompanies(db: Db, companies: Companies, pairing: Pairing, counts: CompanyCounts): void {
  const { v3, v4 } = companies;
  const { keys } = counts;
  const insert = db.prepare(`
    insert into company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const place = db.prepare('update temp.place set pair = ? where generation = ? and company = ?');
  const evidence = { v3: new Map<number, CompanyEvidence[]>(), v4: new Map<number, CompanyEvidence[]>() };
  for (const row of counts.evidence) {
    append(evidence.v3, row.v3, row);
    append(evidence.v4, row.v4, row);
  }
  for (const { id, region, companyId } of v3) {
    const { v4: twin, matchedBy } = pairing.v3.get(id) ?? UNPAIRED_V3;
    const rows = bestFirst(evidence.v3.get(id) ?? []);
    const chosen = twin === null ? rows[0] : rows.find((row) => row.v4 === twin);
    const note = rows
      .filter((row, at) => at < NAMED_CANDIDATES || (twin !== null && row === chosen))
      .map((row) => ({
        v4_company_id: String(v4[row.v4]?.companyId),
        ...numbersOf(row),
        ...heldByV3(companies, pairing.v4.get(row.v4)?.v3, id),
      }));
    const counted = [chosen?.shared ?? 0, chosen?.agreeing ?? 0, keys.v3.get(id) ?? 0];
    const v4Id = twin === null ? null : (v4[twin]?.companyId ?? null);
    const v4Keys = twin === null ? 0 : (keys.v4.get(twin) ?? 0);
    const { lastInsertRowid: pair } = insert.run(
      ...[region, companyId, v4Id, matchedBy, ...counted, v4Keys, JSON.stringify(note)],
    );
    place.run(pair, 3, id);
    if (twin !== null) place.run(pair, 4, twin);
  }
  for (const { id, companyId } of v4) {
    const { v3: twin, matchedBy } = pairing.v4.get(id) ?? UNPAIRED_V4;
    if (twin !== null) continue;
    const rows = bestFirst(evidence.v4.get(id) ?? []);
    const note = rows.slice(0, NAMED_CANDIDATES).map((row) => ({
      region: v3[row.v3]?.region,
      v3_company_id: String(v3[row.v3]?.companyId),
      ...numbersOf(row),
      ...heldByV4(companies, pairing.v3.get(row.v3)?.v4),
    }));
    const counted = [rows[0]?.shared ?? 0, rows[0]?.agreeing ?? 0, 0, keys.v4.get(id) ?? 0];
    const { lastInsertRowid: pair } = insert.run(
      ...[null, null, companyId, matchedBy, ...counted, JSON.stringify(note)],
    );
    place.run(pair, 4, id);
  }
}

const UNPAIRED_V3 = { v4: null, matchedBy: 'none' } as const;
const UNPAIRED_V4 = { v3: null, matchedBy: 'none' } as const;

function heldByV3({ v3 }: Companies, holder: number | null | undefined, self: number): object {
  const company = holder == null || holder === self ? undefined : v3[holder];
  return company === undefined
    ? {}
    : { held_by: { region: company.region, v3_company_id: String(company.companyId) } };
}

function heldByV4({ v4 }: Companies, holder: number | null | undefined): object {
  const company = holder == null ? undefined : v4[holder];
  return company === undefined ? {} : { held_by: { v4_company_id: String(company.companyId) } };
}

function bestFirst(rows: readonly CompanyEvidence[]): CompanyEvidence[] {
  return [...rows].sort(
    (a, b) => b.agreeing - a.agreeing || b.shared - a.shared || a.v3 - b.v3 || a.v4 - b.v4,
  );
}

function numbersOf({ shared, comparable, agreeing }: CompanyEvidence): Record<string, number> {
  return { shared_keys: shared, comparable_keys: comparable, agreeing_keys: agreeing };
}
