import type { Config } from '../config/config.js';
import type { NamedCompanyPair } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';
import { COMPANY_LIST } from '../store/streams.js';
import { type EvidenceRows, readCompanyEvidence } from './company-evidence.js';
import type { ExportedParts } from './exported-parts.js';
import {
  type CompanyEvidence,
  type CompanySide,
  type Pairing,
  type PairingInput,
  pairCompanies,
} from './pair-companies.js';
import { readCompanyIds } from './scope.js';

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
  parts: ExportedParts,
): void {
  assertNamedExist(db, named);
  const { rows: evidence, uncounted } = readCompanyEvidence(db, parts.keyed, readCompanyIds(db, parts));
  const mode = typeof config.companies.match === 'string' ? config.companies.match : 'auto';
  const sides = { v3: companiesOf(db, 3), v4: companiesOf(db, 4) };
  const pairing = pairCompanies({ ...sides, evidence, uncounted, mode, named });
  savePairing(db, pairing);
  saveCompanyTable(db, sides, evidence, pairing);
}

function assertNamedExist(db: Db, named: readonly NamedCompanyPair[]): void {
  const known = db.prepare('SELECT 1 FROM scope_v4_company WHERE company_id = ?');
  for (const { v4CompanyId } of named) {
    if (known.get(v4CompanyId) !== undefined) continue;
    if (!isCompanyListRead(db)) {
      const missing = `V4's list of companies was not read to its end, so V4 company ${v4CompanyId} of the companies file cannot be checked.`;
      throw new SvcError('incomplete', missing, { hint: 'Run `svc-migrate export v4` first.' });
    }
    const text = `The companies file names V4 company ${v4CompanyId}, which V4 does not list.`;
    throw new SvcError('bad_input', text, {
      hint: 'Correct the file, or export V4 again if the company is new.',
    });
  }
}

function isCompanyListRead(db: Db): boolean {
  const isOpen = db.prepare("SELECT 1 FROM stream WHERE model = ? AND state NOT IN ('complete', 'short')");
  return isOpen.get(COMPANY_LIST) === undefined;
}

/** Companies read at once: nothing can be written while a query is open. */
const CHUNK = 1000n;

/** The companies of a generation by `id`; they are read again each time. */
function companiesOf(db: Db, generation: 3 | 4): Iterable<CompanySide> {
  const region = generation === 3 ? 'region' : "''";
  const read = db
    .prepare<[bigint, bigint], [bigint, string, bigint, bigint]>(
      `SELECT id, ${region}, company_id, scope_complete FROM scope_v${generation}_company WHERE id > ? ORDER BY id LIMIT ?`,
    )
    .raw();
  return {
    *[Symbol.iterator]() {
      for (let last: bigint | undefined = 0n; last !== undefined; ) {
        const rows = read.all(last, CHUNK);
        for (const [id, name, companyId, scopeFull] of rows)
          yield { id: Number(id), region: name, companyId, scopeFull: scopeFull === 1n };
        last = rows.at(-1)?.[0];
      }
    },
  };
}

function savePairing(db: Db, pairing: Pairing): void {
  const [v3, v4] = ([3, 4] as const).map((generation) =>
    db.prepare(`UPDATE scope_v${generation}_company SET paired_id = ?, matched_by = ? WHERE id = ?`),
  );
  for (const [id, { v4: paired, matchedBy }] of pairing.v3) v3?.run(paired, matchedBy, id);
  for (const [id, { v3: paired, matchedBy }] of pairing.v4) v4?.run(paired, matchedBy, id);
}

/** One row per V3 company and per unpaired V4 company; `note` holds the three best candidates. */
function saveCompanyTable(
  db: Db,
  sides: Pick<PairingInput, 'v3' | 'v4'>,
  evidence: EvidenceRows,
  pairing: Pairing,
): void {
  db.exec('DELETE FROM company');
  const insert = db.prepare(`
    INSERT INTO company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
    VALUES (?, ?, ?, ?, ?, ?, ifnull((SELECT key_count FROM scope_v3_company WHERE id = ?), 0),
      ifnull((SELECT key_count FROM scope_v4_company WHERE id = ?), 0), ?)`);
  // ids of the scope tables are numbers in the evidence
  const v3Name = db
    .prepare<[number], [string, bigint]>('SELECT region, company_id FROM scope_v3_company WHERE id = ?')
    .raw();
  const v4Id = db.prepare<[number], bigint>('SELECT company_id FROM scope_v4_company WHERE id = ?').pluck();
  const ofV3 = readInOrder(evidence, (row) => row.v3);
  for (const { id, region, companyId } of sides.v3) {
    const { v4 = null, matchedBy = 'none' } = pairing.v3.get(id) ?? {};
    const rows = bestFirst(ofV3(id));
    const own = v4 === null ? rows[0] : rows.find((row) => row.v4 === v4);
    const note = rows
      .slice(0, 3)
      .map((row) => ({ v4_company_id: String(v4Id.get(row.v4)), ...numbersOf(row) }));
    const v4CompanyId = v4 === null ? null : (v4Id.get(v4) ?? null);
    const keys = [own?.shared ?? 0, own?.agreeing ?? 0, id, v4];
    insert.run(region, companyId, v4CompanyId, matchedBy, ...keys, JSON.stringify(note));
  }
  const ofV4 = readInOrder(evidence.byV4, (row) => row.v4);
  for (const { id, companyId } of sides.v4) {
    const { v3 = null, matchedBy = 'none' } = pairing.v4.get(id) ?? {};
    if (v3 !== null) continue;
    const rows = bestFirst(ofV4(id));
    const note = rows.slice(0, 3).map((row) => {
      const [region, v3CompanyId] = v3Name.get(row.v3) ?? [];
      return { region, v3_company_id: String(v3CompanyId), ...numbersOf(row) };
    });
    const keys = [rows[0]?.shared ?? 0, rows[0]?.agreeing ?? 0, null, id];
    insert.run(null, null, companyId, matchedBy, ...keys, JSON.stringify(note));
  }
}

/**
 * Makes the function that returns the rows of a company. The rows are in the order of companies and are read once, so call
 * it with ascending companies.
 */
function readInOrder(
  rows: Iterable<CompanyEvidence>,
  companyOf: (row: CompanyEvidence) => number,
): (company: number) => CompanyEvidence[] {
  const iterator = rows[Symbol.iterator]();
  let next = iterator.next();
  return (company) => {
    const found: CompanyEvidence[] = [];
    for (; next.done !== true && companyOf(next.value) <= company; next = iterator.next()) {
      if (companyOf(next.value) === company) found.push(next.value);
    }
    return found;
  };
}

function bestFirst(rows: readonly CompanyEvidence[]): CompanyEvidence[] {
  return [...rows].sort(
    (a, b) => b.agreeing - a.agreeing || b.shared - a.shared || a.v3 - b.v3 || a.v4 - b.v4,
  );
}

function numbersOf({ shared, comparable, agreeing }: CompanyEvidence): Record<string, number> {
  return { shared_keys: shared, comparable_keys: comparable, agreeing_keys: agreeing };
}
