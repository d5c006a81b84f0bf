import { existsSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type Db, openEmptyDatabase } from '../../src/store/open.js';
import { digestIndex, digestKeys, INDEX_PARTS } from '../../src/store/remap-blocks.js';
import { assertDigests, digestRemap, sealRun } from '../../src/store/remap-digest.js';
import { openVerifiedRemap, prepareLookup } from '../../src/store/verified-remap.js';
import { campaignCases } from '../support/campaign.js';
import { codeOf } from '../support/code-of.js';
import { allowEdits, countGroups } from '../support/remap-edits.js';
import { openTestDatabase } from './support.js';

const MODELS = ['accounting/invoices', 'crm/companies'];
/** Several blocks of rows and of index entries for each model. */
const ROWS = 1400;

/** Ids run in another order than rows, repeat across regions, and reach both ends of 64 bits. */
function newRemap(): Db {
  const db = openEmptyDatabase();
  allowEdits(db);
  const insert = db.prepare(
    `INSERT INTO remap_entry(model, path, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, status,
       reason, matched_by, evidence) VALUES (?, ?, ?, ?, 9, ?, ?, ?, ?, ?, ?, '{}')`,
  );
  db.transaction(() => {
    for (const model of MODELS) {
      for (let at = 0; at < ROWS; at += 1) {
        const v3 = at === 0 ? -(2n ** 63n) : at === 1 ? 2n ** 63n - 1n : BigInt((at * 7919) % 1000) * 3n;
        const isPair = at % 5 !== 0;
        insert.run(
          ...[model, at % 7 === 0 ? 'line_items' : '', at % 2 === 0 ? 'eu' : 'us', BigInt(at % 3)],
          ...[
            at % 11 === 0 ? null : `k"${at % 400}😀`,
            at % 13 === 0 ? null : v3,
            isPair ? BigInt(at) : null,
          ],
          ...(isPair ? ['matched', null, 'platform_id'] : ['unmatched', 'unexplained', null]),
        );
      }
    }
    db.exec("INSERT INTO remap_run(built_at, sha256, export_seq) VALUES ('t', '', 0)");
    db.exec("INSERT INTO company VALUES ('eu', 1, 9, 'same_id', 1, 1, 1, 1, '[]')");
  })();
  countGroups(db);
  sealRun(db, 1n, digestRemap(db));
  return db;
}

const db = newRemap();
/** Changes of views are not counted in the result of a statement. */
const totalChanges = db.prepare<[], bigint>('SELECT total_changes()').pluck();
afterAll(() => db.close());

/** Runs `work` with the remap altered, and takes that back. */
function altered<T>(sql: string, work: () => T): T {
  db.exec('SAVEPOINT whole');
  try {
    for (const statement of sql.split(';')) {
      const before = totalChanges.get() ?? 0n;
      db.exec(statement);
      expect((totalChanges.get() ?? 0n) - before).toBeGreaterThan(0n);
    }
    return work();
  } finally {
    db.exec('ROLLBACK TO whole; RELEASE whole');
  }
}

/** Of every row: what a plain query by its key gives, and the look-up. */
describe('a look-up through verified blocks', () => {
  it.each([
    ['v3', 'v3_svc_id'],
    ['v4', 'v4_svc_id'],
  ] as const)('finds what a query by the index %s finds, and nothing else', (part, column) => {
    const remap = openVerifiedRemap(db);
    const select = db
      .prepare(`SELECT id FROM remap_entry WHERE model = ? AND ${column} = ? ORDER BY id`)
      .pluck();
    const keys = db.prepare<[], bigint>(
      `SELECT DISTINCT ${column} FROM remap_entry WHERE ${column} IS NOT NULL`,
    );
    const known = keys.pluck().all();
    const absent = [-1n, 1n, 2n ** 62n, -(2n ** 62n), 10_000n];
    for (const model of [...MODELS, 'unknown/model']) {
      for (const key of [...known, ...absent]) {
        expect([model, key, remap.find(part, model, key)]).toEqual([model, key, select.all(model, key)]);
      }
    }
    expect(known.length).toBeGreaterThan(300);
  });
});

const ONE = `id = 700`;
const ALTERATIONS: readonly string[] = [
  'UPDATE remap_entry SET v4_svc_id = v4_svc_id + 1',
  `UPDATE remap_entry SET v4_svc_id = v4_svc_id + 1 WHERE ${ONE}`,
  `UPDATE remap_entry SET v4_svc_id = NULL WHERE ${ONE}`,
  'UPDATE remap_entry SET v4_svc_id = 0 WHERE id = 701',
  `UPDATE remap_entry SET v3_svc_id = v3_svc_id + 1 WHERE ${ONE}`,
  `UPDATE remap_entry SET status = 'ambiguous' WHERE ${ONE}`,
  `UPDATE remap_entry SET reason = 'x' WHERE ${ONE}`,
  `UPDATE remap_entry SET path = 'x' WHERE ${ONE}`,
  `UPDATE remap_entry SET region = NULL WHERE ${ONE}`,
  `UPDATE remap_entry SET v3_company_id = v3_company_id + 1 WHERE ${ONE}`,
  `UPDATE remap_entry SET v4_company_id = 8 WHERE ${ONE}`,
  `UPDATE remap_entry SET platform_id = 'other' WHERE ${ONE}`,
  `UPDATE remap_entry SET evidence = '{"a":1}' WHERE ${ONE}`,
  `UPDATE remap_entry SET unique_id_conflict = 1 WHERE ${ONE}`,
  `UPDATE remap_entry SET model = 'crm/companies' WHERE ${ONE}`,
  `DELETE FROM remap_entry WHERE ${ONE}`,
  'DELETE FROM remap_entry WHERE id = 1',
  `DELETE FROM remap_entry WHERE id = ${2 * ROWS}`,
  'DELETE FROM remap_entry',
  `INSERT INTO remap_entry SELECT * FROM remap_entry WHERE ${ONE}`,
  `INSERT INTO remap_entry(id, model, path, v3_svc_id, status, evidence) VALUES (-5, 'crm/companies', '', 1, 'unmatched', '{}')`,
  `UPDATE remap_entry SET id = 10000 WHERE ${ONE}`,
];

describe('an altered remap', () => {
  it('passes the check while it is unaltered', () => {
    expect(() => assertDigests(db)).not.toThrow();
  });

  it.each([
    ...ALTERATIONS,
    'UPDATE company SET v4_company_id = 8',
    'DELETE FROM company',
    "UPDATE remap_run SET built_at = 'x'",
    "UPDATE remap_run SET sha256 = 'x'",
    'DELETE FROM remap_run',
    "UPDATE remap_digest SET blocks = '[]' WHERE part = 'v3'",
    'DELETE FROM remap_digest',
  ])('is refused by whoever reads all of it after %s', (sql) => {
    const code = altered(sql, () => codeOf(() => assertDigests(db)));
    // The text of the blocks is compared when it is used: by look-ups.
    const isBlocks = sql.includes('remap_digest');
    expect(code).toBe(isBlocks ? null : 'corrupt_database');
    if (isBlocks) expect(altered(sql, () => codeOf(() => newLookup()(1n)))).toBe('corrupt_database');
  });

  const answerOf = newLookup();
  const asked = db
    .prepare<[], bigint>('SELECT DISTINCT v3_svc_id FROM remap WHERE v3_svc_id IS NOT NULL')
    .pluck()
    .all();
  const answers = new Map(asked.map((id) => [id, answerOf(id)]));

  it.each(ALTERATIONS)('gives a look-up the right answer or an error after %s', (sql) => {
    let [refused, right] = [0, 0];
    altered(sql, () => {
      const lookup = newLookup();
      for (const id of [...asked, 1n, 10_000n]) {
        let answer: string | null = null;
        if (codeOf(() => (answer = lookup(id))) === 'corrupt_database') refused += 1;
        else if (answer === (answers.get(id) ?? answerOf(id))) right += 1;
      }
    });
    expect([refused > 0, refused + right]).toEqual([true, asked.length + 2]);
  });
});

it.each(
  (['v3_svc_id', 'v4_svc_id', 'platform_id'] as const).flatMap((column, at) => [
    [INDEX_PARTS[at], `UPDATE other SET ${column} = 77 WHERE id = 702`, column] as const,
    [INDEX_PARTS[at], `UPDATE other SET ${column} = NULL WHERE id = 702`, column] as const,
    [INDEX_PARTS[at], 'DELETE FROM other WHERE id = 702', column] as const,
    [INDEX_PARTS[at], 'UPDATE other SET id = 10000 WHERE id = 702', column] as const,
    [INDEX_PARTS[at], `DELETE FROM other WHERE ${column} IS NULL AND id > 700 LIMIT 1`, column] as const,
    [INDEX_PARTS[at], null, column] as const,
  ]),
)('refuses the index %s with other entries than the rows: %s', (part = 'key', change, column) => {
  const own = newRemap();
  own.exec(`
    CREATE TABLE other(id INTEGER PRIMARY KEY, v3_svc_id INTEGER, v4_svc_id INTEGER, platform_id TEXT);
    INSERT INTO other SELECT id, v3_svc_id, v4_svc_id, platform_id FROM remap_row;
    CREATE INDEX other_index ON other(${column}); ${change ?? ''}`);
  own.unsafeMode(true);
  own.pragma('writable_schema = ON');
  own
    .prepare(
      `UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other_index') WHERE name = ?`,
    )
    .run(`remap_${part}`);
  own.pragma('writable_schema = RESET');
  expect(codeOf(() => assertDigests(own, ['rows']))).toBeNull();
  expect(codeOf(() => assertDigests(own, [part]))).toBe(change === null ? null : 'corrupt_database');
  own.close();
});

function newLookup(): (id: bigint) => string {
  const lookup = prepareLookup(db);
  const place = { path: '', region: null, companyId: null };
  const render = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return (id) =>
    JSON.stringify(
      MODELS.map((model) => lookup('v3', model, id, place)),
      render,
    );
}

/** Bytes that this process has read; only Linux counts them. */
const IO = '/proc/self/io';
const readBytes = () => Number(/^rchar: (\d+)$/m.exec(readFileSync(IO, 'utf8'))?.[1]);

const readingCases = [
  ['key', "'the same key'"] as const,
  ...INDEX_PARTS.map((part) => [part, "'key ' || n"] as const),
];

it.runIf(existsSync(IO)).each(campaignCases(readingCases, 2))(
  'digests the index %s of the keys %s in blocks by reading it about twice',
  (part, key) => {
    const file = openTestDatabase();
    const rows = 50_000;
    file.exec(`INSERT INTO remap_row(group_id, platform_id, v3_svc_id, v4_svc_id)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ${rows})
    SELECT 1, ${key}, n, n FROM n`);
    file.pragma('wal_checkpoint(TRUNCATE)');
    file.pragma('cache_size = 20');
    const size = file.prepare(`SELECT sum(pgsize) FROM dbstat WHERE name = 'remap_${part}'`).pluck().get();
    const before = readBytes();
    const steps = [...(part === 'key' ? digestKeys(file) : digestIndex(file, part))];
    expect((readBytes() - before) / Number(size)).toBeLessThan(3);
    expect(steps.length).toBeGreaterThan(10);
  },
);
