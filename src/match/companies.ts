import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';
import { readCompanyEvidence } from './company-evidence.js';
import {
  type CompanyEvidence,
  type CompanySide,
  groupBy,
  type NamedPair,
  type Pairing,
  pairCompanies,
} from './pair-companies.js';

/**
 * Pairs the companies of both sides and writes the public `company` table.
 *
 * @throws SvcError `bad_input` where the companies file names a V4 company that V4 does not list
 */
export function saveCompanyPairs(db: Db, config: Config, named: readonly NamedPair[]): void {
  assertNamedExist(db, named);
  const { rows: evidence, uncounted } = readCompanyEvidence(db);
  const mode = typeof config.companies.match === 'string' ? config.companies.match : 'auto';
  const sides = { v3: readCompanies(db, 3), v4: readCompanies(db, 4) };
  const pairing = pairCompanies({ ...sides, evidence, uncounted, mode, named });
  savePairing(db, pairing);
  saveCompanyTable(db, sides, evidence, pairing);
}

function assertNamedExist(db: Db, named: readonly NamedPair[]): void {
  const known = db.prepare('SELECT 1 FROM scope_v4_company WHERE company_id = ?');
  for (const { v4CompanyId } of named) {
    if (known.get(v4CompanyId) !== undefined) continue;
    throw new SvcError(
      'bad_input',
      `The companies file names V4 company ${v4CompanyId}, which V4 does not list.`,
      {
        hint: 'Correct the file, or export V4 again if the company is new.',
      },
    );
  }
}

function readCompanies(db: Db, generation: 3 | 4): CompanySide[] {
  const region = generation === 3 ? 'region' : "''";
  const rows = db
    .prepare(`SELECT id, ${region}, company_id, scope_complete FROM scope_v${generation}_company ORDER BY id`)
    .raw()
    .all();
  return (rows as [bigint, string, bigint, bigint][]).map(([id, name, companyId, scopeFull]) => ({
    id: Number(id),
    region: name,
    companyId,
    scopeFull: scopeFull === 1n,
  }));
}

function savePairing(db: Db, pairing: Pairing): void {
  const update3 = db.prepare('UPDATE scope_v3_company SET paired_id = ?, matched_by = ? WHERE id = ?');
  for (const [id, { v4, matchedBy }] of pairing.v3)
    update3.run(v4 === null ? null : BigInt(v4), matchedBy, BigInt(id));
  const update4 = db.prepare('UPDATE scope_v4_company SET paired_id = ?, matched_by = ? WHERE id = ?');
  for (const [id, { v3, matchedBy }] of pairing.v4)
    update4.run(v3 === null ? null : BigInt(v3), matchedBy, BigInt(id));
}

interface Sides {
  readonly v3: readonly CompanySide[];
  readonly v4: readonly CompanySide[];
}

/** One row per V3 company and per V4 company without a pair; `note` holds up to three best candidates. */
function saveCompanyTable(
  db: Db,
  sides: Sides,
  evidence: readonly CompanyEvidence[],
  pairing: Pairing,
): void {
  db.exec('DELETE FROM company');
  const insert = db.prepare(`
    INSERT INTO company(region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys, v3_keys, v4_keys, note)
    VALUES (?, ?, ?, ?, ?, ?, ifnull((SELECT key_count FROM scope_v3_company WHERE id = ?), 0),
      ifnull((SELECT key_count FROM scope_v4_company WHERE id = ?), 0), ?)`);
  const id4 = new Map(sides.v4.map(({ id, companyId }) => [id, companyId]));
  const id3 = new Map(sides.v3.map((side) => [side.id, side]));
  const evidence3 = groupBy(evidence, (row) => row.v3);
  const evidence4 = groupBy(evidence, (row) => row.v4);
  for (const side of sides.v3) {
    const { v4 = null, matchedBy = 'none' } = pairing.v3.get(side.id) ?? {};
    const rows = bestFirst(evidence3.get(side.id) ?? []);
    const own = rows.find((row) => row.v4 === v4) ?? (v4 === null ? rows[0] : undefined);
    const note = rows
      .slice(0, 3)
      .map((row) => ({ v4_company_id: String(id4.get(row.v4)), ...numbersOf(row) }));
    insert.run(
      side.region,
      side.companyId,
      v4 === null ? null : (id4.get(v4) ?? null),
      matchedBy,
      BigInt(own?.shared ?? 0),
      BigInt(own?.agreeing ?? 0),
      BigInt(side.id),
      v4 === null ? null : BigInt(v4),
      JSON.stringify(note),
    );
  }
  for (const side of sides.v4) {
    const { v3 = null, matchedBy = 'none' } = pairing.v4.get(side.id) ?? {};
    if (v3 !== null) continue;
    const rows = bestFirst(evidence4.get(side.id) ?? []);
    const note = rows.slice(0, 3).map((row) => {
      const a = id3.get(row.v3);
      return { region: a?.region, v3_company_id: String(a?.companyId), ...numbersOf(row) };
    });
    insert.run(
      null,
      null,
      side.companyId,
      matchedBy,
      BigInt(rows[0]?.shared ?? 0),
      BigInt(rows[0]?.agreeing ?? 0),
      null,
      BigInt(side.id),
      JSON.stringify(note),
    );
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
