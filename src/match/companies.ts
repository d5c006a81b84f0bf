import { compareFacts } from '../api/facts.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';
import {
  type CompanyEvidence,
  type CompanySide,
  type NamedPair,
  type Pairing,
  pairCompanies,
} from './pair-companies.js';

/**
 * Record pairs compared before keys are sampled: where every company numbers alike, comparing all of them
 * grows with the square of the number of companies.
 */
const COMPARISONS = 10_000_000;

/**
 * Pairs the companies of both sides and writes the public `company` table.
 *
 * @throws SvcError `bad_input` where the companies file names a V4 company that V4 does not list
 */
export function saveCompanyPairs(db: Db, config: Config, named: readonly NamedPair[]): void {
  assertNamedExist(db, named);
  db.function('facts_verdict', { deterministic: true }, (a: unknown, b: unknown) =>
    factsVerdict(String(a), String(b)),
  );
  saveCompanyKeys(db);
  const evidence = readEvidence(db);
  const mode = typeof config.companies.match === 'string' ? config.companies.match : 'auto';
  const sides = { v3: readSide(db, 'c3'), v4: readSide(db, 'c4') };
  const pairing = pairCompanies({ ...sides, evidence, mode, named });
  savePairing(db, pairing);
  saveCompanyTable(db, sides, evidence, pairing);
}

/** 2 agrees, 1 differs, 0 nothing to compare: a key agrees if any of its records do. */
function factsVerdict(a: string, b: string): bigint {
  const verdict = compareFacts(a, b);
  return verdict === 'agrees' ? 2n : verdict === 'differs' ? 1n : 0n;
}

function assertNamedExist(db: Db, named: readonly NamedPair[]): void {
  const known = db.prepare('SELECT 1 FROM c4 WHERE company_id = ?');
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

/** `ck`: one row per keyed record of a stream read in full, in the order the comparison walks. */
function saveCompanyKeys(db: Db): void {
  db.exec(`
    CREATE TEMP TABLE ck(
      gen INTEGER NOT NULL, model_ix INTEGER NOT NULL, key TEXT NOT NULL, company INTEGER NOT NULL, rid INTEGER NOT NULL,
      PRIMARY KEY (gen, model_ix, key, company, rid)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO ck SELECT 3, x.model_ix, r.platform_id, c.ix, r.id
      FROM x JOIN record r ON r.stream_id = x.stream_id JOIN c3 c ON c.region = x.region AND c.company_id = r.company_id
      WHERE x.gen = 3 AND x.in_full AND r.platform_id IS NOT NULL ORDER BY 1, 2, 3, 4, 5;
    INSERT INTO ck SELECT 4, x.model_ix, r.platform_id, c.ix, r.id
      FROM x JOIN record r ON r.stream_id = x.stream_id JOIN c4 c ON c.company_id = r.company_id
      WHERE x.gen = 4 AND x.in_full AND r.platform_id IS NOT NULL ORDER BY 1, 2, 3, 4, 5;
    UPDATE c3 SET keys = k.n FROM (
      SELECT company, count(*) AS n FROM (SELECT DISTINCT model_ix, key, company FROM ck WHERE gen = 3) GROUP BY company
    ) k WHERE k.company = c3.ix;
    UPDATE c4 SET keys = k.n FROM (
      SELECT company, count(*) AS n FROM (SELECT DISTINCT model_ix, key, company FROM ck WHERE gen = 4) GROUP BY company
    ) k WHERE k.company = c4.ix;
  `);
}

function readSide(db: Db, table: 'c3' | 'c4'): CompanySide[] {
  const region = table === 'c3' ? 'region' : "''";
  const rows = db
    .prepare(`SELECT ix, ${region} AS region, company_id, scope_full FROM ${table} ORDER BY ix`)
    .raw()
    .all();
  return (rows as [bigint, string, bigint, bigint][]).map(([ix, name, companyId, scopeFull]) => ({
    ix: Number(ix),
    region: name,
    companyId,
    scopeFull: scopeFull === 1n,
  }));
}

/** Every company pair that shares a key, with its numbers; exact for each pair it lists. */
function readEvidence(db: Db): CompanyEvidence[] {
  const comparisons = db
    .prepare(`
      SELECT total(a.n * b.n) FROM
        (SELECT model_ix, key, count(*) AS n FROM ck WHERE gen = 3 GROUP BY 1, 2) a JOIN
        (SELECT model_ix, key, count(*) AS n FROM ck WHERE gen = 4 GROUP BY 1, 2) b USING (model_ix, key)`)
    .pluck()
    .get();
  const sampled = Math.ceil(Number(comparisons) / COMPARISONS);
  if (sampled > 1) return readSampledEvidence(db, sampled);
  return toEvidence(
    db,
    `ck a JOIN ck b ON b.gen = 4 AND b.model_ix = a.model_ix AND b.key = a.key`,
    'a.gen = 3',
  );
}

/** Candidates from a share of the keys (the same ones at every run), then exact numbers for the candidates. */
function readSampledEvidence(db: Db, share: number): CompanyEvidence[] {
  db.function('key_share', { deterministic: true }, (key: unknown) => BigInt(hashText(String(key)) % share));
  const sample = 'ck a JOIN ck b ON b.gen = 4 AND b.model_ix = a.model_ix AND b.key = a.key';
  const candidates = toEvidence(db, sample, 'a.gen = 3 AND key_share(a.key) = 0').filter(
    ({ agreeing }) => agreeing > 0,
  );
  db.exec(`
    CREATE INDEX temp.ck_company ON ck(gen, company, model_ix, key);
    CREATE TEMP TABLE cand(v3 INTEGER NOT NULL, v4 INTEGER NOT NULL) STRICT;
  `);
  const insert = db.prepare('INSERT INTO cand VALUES (?, ?)');
  for (const { v3, v4 } of candidates) insert.run(BigInt(v3), BigInt(v4));
  return toEvidence(
    db,
    `cand CROSS JOIN ck a ON a.company = cand.v3 CROSS JOIN ck b
       ON b.gen = 4 AND b.company = cand.v4 AND b.model_ix = a.model_ix AND b.key = a.key`,
    'a.gen = 3',
  );
}

function toEvidence(db: Db, from: string, where: string): CompanyEvidence[] {
  const rows = db
    .prepare(`
      SELECT k.v3, k.v4, count(*), sum(k.verdict > 0), sum(k.verdict = 2), min(c3.keys, c4.keys) FROM (
        SELECT a.company AS v3, b.company AS v4,
            max(CASE WHEN r.facts = t.facts AND r.facts <> '' THEN 2 ELSE facts_verdict(r.facts, t.facts) END) AS verdict
          FROM ${from} JOIN record r ON r.id = a.rid JOIN record t ON t.id = b.rid
          WHERE ${where} GROUP BY a.model_ix, a.key, a.company, b.company
      ) k JOIN c3 ON c3.ix = k.v3 JOIN c4 ON c4.ix = k.v4 GROUP BY k.v3, k.v4 ORDER BY k.v3, k.v4`)
    .raw()
    .all();
  return (rows as bigint[][]).map((row) => {
    const [v3 = 0, v4 = 0, shared = 0, comparable = 0, agreeing = 0, smallerKeys = 0] = row.map(Number);
    return { v3, v4, shared, comparable, agreeing, smallerKeys };
  });
}

/** FNV-1a over UTF-16 units: only spreads keys. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash >>> 0;
}

function savePairing(db: Db, pairing: Pairing): void {
  const update3 = db.prepare('UPDATE c3 SET pair = ?, matched_by = ? WHERE ix = ?');
  for (const [ix, { v4, matchedBy }] of pairing.v3)
    update3.run(v4 === null ? null : BigInt(v4), matchedBy, BigInt(ix));
  const update4 = db.prepare('UPDATE c4 SET pair = ?, matched_by = ? WHERE ix = ?');
  for (const [ix, { v3, matchedBy }] of pairing.v4)
    update4.run(v3 === null ? null : BigInt(v3), matchedBy, BigInt(ix));
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
    VALUES (?, ?, ?, ?, ?, ?, ifnull((SELECT keys FROM c3 WHERE ix = ?), 0), ifnull((SELECT keys FROM c4 WHERE ix = ?), 0), ?)`);
  const id4 = new Map(sides.v4.map(({ ix, companyId }) => [ix, companyId]));
  const id3 = new Map(sides.v3.map((side) => [side.ix, side]));
  for (const side of sides.v3) {
    const { v4 = null, matchedBy = 'none' } = pairing.v3.get(side.ix) ?? {};
    const rows = bestFirst(evidence.filter((row) => row.v3 === side.ix));
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
      BigInt(side.ix),
      v4 === null ? null : BigInt(v4),
      JSON.stringify(note),
    );
  }
  for (const side of sides.v4) {
    const { v3 = null, matchedBy = 'none' } = pairing.v4.get(side.ix) ?? {};
    if (v3 !== null) continue;
    const rows = bestFirst(evidence.filter((row) => row.v4 === side.ix));
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
      BigInt(side.ix),
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
