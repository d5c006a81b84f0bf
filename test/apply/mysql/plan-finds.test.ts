import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import { campaignCases } from '../../support/campaign.js';
import { only } from '../support/databases.js';
import { ledgerTables } from '../support/ledger.js';
import { IN_PLACE, INVOICES, NEW, pairs } from '../support/remap.js';
import { openScene } from '../support/scene.js';
import { rewritesTexts } from '../support/text-cells.js';

interface Case {
  readonly name: string;
  /** The columns of table `t`, and what follows them. */
  readonly table: string;
  readonly more?: readonly string[];
  readonly policy?: Policy;
  /** Codes of what stands in the way; empty: it is written, and taken back. */
  readonly finds?: readonly string[];
  /** Privileges on the database of a user who is not the administrator. */
  readonly grants?: readonly string[];
  readonly target?: object;
  /** The ids of its rows; default: 5, 6, 7. */
  readonly ids?: readonly string[];
}

const KEY = 'k int PRIMARY KEY';
const PLAIN = `(${KEY}, i bigint)`;
const EVERYTHING = [
  'SELECT',
  'INSERT',
  'UPDATE',
  'DELETE',
  'CREATE',
  'CREATE VIEW',
  'CREATE TEMPORARY TABLES',
  'DROP',
];

/** Whatever stands in the way of a run is found before it begins; whatever is not found works, both ways. */
const CASES: readonly Case[] = [
  // types of ids
  ...[
    'tinyint',
    'smallint unsigned',
    'mediumint',
    'int',
    'int unsigned',
    'bigint unsigned',
    'decimal(20,0)',
  ].flatMap((type) => [
    { name: type, table: `(${KEY}, i ${type})` },
    { name: `${type}, unique`, table: `(${KEY}, i ${type} UNIQUE)` },
    { name: `${type}, new column`, table: `(${KEY}, i ${type})`, policy: NEW },
  ]),
  ...[
    'varchar(20)',
    'char(20)',
    'text',
    'varchar(20) CHARACTER SET latin1',
    'varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
    'varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin',
    'varchar(20) CHARACTER SET utf16',
  ].flatMap((type) => [
    { name: type, table: `(${KEY}, i ${type})` },
    ...(type === 'text' ? [] : [{ name: `${type}, unique`, table: `(${KEY}, i ${type} UNIQUE)` }]),
    { name: `${type}, new column`, table: `(${KEY}, i ${type})`, policy: NEW },
  ]),
  { name: 'text, unique by a prefix', table: `(${KEY}, i text, UNIQUE (i(10)))` },
  { name: 'too small', table: `(${KEY}, i tinyint)`, ids: ['5', '6', '11'], finds: ['does_not_fit'] },
  {
    name: 'too small, unsigned',
    table: `(${KEY}, i smallint unsigned)`,
    ids: ['12'],
    finds: ['does_not_fit'],
  },
  {
    name: 'an unsigned column for an id below 0',
    table: `(${KEY}, i int unsigned)`,
    ids: ['13'],
    finds: ['does_not_fit'],
  },
  {
    name: 'too small, new column',
    table: `(${KEY}, i tinyint)`,
    ids: ['11'],
    policy: NEW,
    finds: ['does_not_fit'],
  },
  { name: 'decimal(2)', table: `(${KEY}, i decimal(2))`, ids: ['11'], finds: ['does_not_fit'] },
  { name: 'varchar(1)', table: `(${KEY}, i varchar(1))`, ids: ['8'], finds: ['does_not_fit'] },
  { name: 'no room for swaps', table: `(${KEY}, i varchar(1) UNIQUE)`, finds: ['no_room'] },
  { name: 'zerofill', table: `(${KEY}, i int zerofill)`, finds: ['column_type', 'unknown'] },
  { name: 'double', table: `(${KEY}, i double)`, finds: ['column_type'] },
  { name: 'varbinary', table: `(${KEY}, i varbinary(20))`, finds: ['column_type'] },
  { name: 'set', table: `(${KEY}, i enum('5','6','7'))`, finds: ['column_type'] },
  {
    name: 'JSON',
    table: `(${KEY}, i json)`,
    target: { ids: [{ column: 'i', path: '$.a', model: INVOICES }] },
  },
  {
    name: 'JSON, new column',
    table: `(${KEY}, i json)`,
    policy: NEW,
    target: { ids: [{ column: 'i', path: '$.a', model: INVOICES }] },
  },
  // keys
  ...[
    'bigint unsigned',
    'decimal(30,4)',
    'varchar(255)',
    'char(9) CHARACTER SET latin1',
    'date',
    'datetime(6)',
    'timestamp(3) DEFAULT 0',
    'datetime',
  ].map((type) => ({ name: `key ${type}`, table: `(k ${type} NOT NULL PRIMARY KEY, i bigint)` })),
  {
    name: 'a key of several types',
    table:
      '(k varchar(60) NOT NULL, b bigint unsigned NOT NULL DEFAULT 18446744073709551615, d date NOT NULL DEFAULT 0, i bigint, PRIMARY KEY (k, b, d))',
  },
  {
    name: 'a key of several types, new column',
    table: '(k varchar(60) NOT NULL, b bigint unsigned NOT NULL DEFAULT 7, i bigint, PRIMARY KEY (k, b))',
    policy: NEW,
  },
  {
    name: 'a key of bytes',
    table: '(k varbinary(16) NOT NULL PRIMARY KEY, i bigint)',
    finds: ['no_key', 'key_type'],
  },
  {
    name: 'a key of bytes, new column',
    table: '(k varbinary(16) NOT NULL PRIMARY KEY, i bigint)',
    policy: NEW,
  },
  {
    name: 'a float as key',
    table: '(k double NOT NULL PRIMARY KEY, i bigint)',
    finds: ['no_key', 'key_type'],
  },
  { name: 'a key that may be NULL', table: '(k int UNIQUE, i bigint)', finds: ['no_key'] },
  { name: 'a unique key', table: '(k int NOT NULL UNIQUE, i bigint)' },
  { name: 'a unique prefix', table: '(k varchar(20) NOT NULL, i bigint, UNIQUE (k(9)))', finds: ['no_key'] },
  { name: 'no key', table: '(k int, i bigint)', finds: ['no_key'] },
  { name: 'no key, new column', table: '(k int, i bigint)', policy: NEW },
  {
    name: 'a key that is no column',
    table: PLAIN,
    target: { key: ['nope'] },
    finds: ['unknown_column', 'no_key'],
  },
  // kinds of tables and columns
  { name: 'MyISAM', table: `${PLAIN} ENGINE=MyISAM`, finds: ['engine'] },
  { name: 'MyISAM, new column', table: `${PLAIN} ENGINE=MyISAM`, policy: NEW, finds: ['engine'] },
  { name: 'MEMORY', table: `${PLAIN} ENGINE=MEMORY`, finds: ['engine'] },
  { name: 'system versioned', table: `${PLAIN} WITH SYSTEM VERSIONING`, finds: ['system_versioned'] },
  { name: 'partitioned', table: `${PLAIN} PARTITION BY HASH (k) PARTITIONS 3` },
  {
    name: 'partitioned by id',
    table: '(k int, i bigint, PRIMARY KEY (k, i)) PARTITION BY HASH (i) PARTITIONS 3',
  },
  { name: 'generated', table: `(${KEY}, i bigint AS (k + 4) STORED)`, finds: ['generated_column'] },
  { name: 'virtual', table: `(${KEY}, i bigint AS (k + 4) VIRTUAL)`, finds: ['generated_column'] },
  { name: 'followed by a generated column', table: `(${KEY}, i bigint, j bigint AS (i * 2) STORED UNIQUE)` },
  { name: 'counting up', table: '(k int NOT NULL UNIQUE, i bigint AUTO_INCREMENT PRIMARY KEY)' },
  {
    name: 'odd names',
    table: "(`a``b?$1` int PRIMARY KEY, `i` bigint) COMMENT '\\\\'",
    target: { key: ['a`b?$1'] },
  },
  {
    name: 'stamped with the time',
    table: `(${KEY}, i bigint, at timestamp(6) NOT NULL DEFAULT '2026-01-01' ON UPDATE current_timestamp(6))`,
  },
  {
    name: 'stamped, unique',
    table: `(${KEY}, i bigint UNIQUE, at datetime DEFAULT '2026-01-01' ON UPDATE current_timestamp)`,
  },
  {
    name: 'stamped, new column',
    table: `(${KEY}, i bigint, at timestamp NOT NULL DEFAULT '2026-01-01' ON UPDATE current_timestamp)`,
    policy: NEW,
  },
  {
    name: 'a key that is stamped',
    table: '(k timestamp(6) NOT NULL DEFAULT 0 ON UPDATE current_timestamp(6) PRIMARY KEY, i bigint)',
    finds: ['no_key', 'key_type'],
  },
  // constraints
  { name: 'a check that is met', table: `(${KEY}, i bigint UNIQUE CHECK (i > 0))` },
  {
    name: 'a foreign key that empties',
    table: `(${KEY}, i bigint UNIQUE)`,
    more: ['CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i) ON UPDATE SET NULL)'],
    finds: ['foreign_key'],
  },
  {
    name: 'a foreign key from another table',
    table: `(${KEY}, i bigint UNIQUE)`,
    more: ['CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i))'],
    finds: ['foreign_key'],
  },
  {
    name: 'a foreign key that follows',
    table: `(${KEY}, i bigint UNIQUE)`,
    more: [
      'CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i) ON UPDATE CASCADE)',
      'INSERT INTO c SELECT i FROM t',
    ],
  },
  // the ledger's names
  ...ledgerTables('mysql').flatMap((own) => [
    {
      name: `another table ${own}`,
      table: PLAIN,
      more: [`CREATE TABLE ${own}(a int)`],
      finds: ['foreign_ledger'],
    },
    {
      name: `a view ${own}`,
      table: PLAIN,
      more: [`CREATE VIEW ${own} AS SELECT 1 AS a`],
      finds: ['foreign_ledger'],
    },
  ]),
  { name: 'half a ledger of a run that was killed', table: PLAIN, more: ['HALF'] },
  { name: 'no table', table: PLAIN, more: ['RENAME TABLE t TO u'], finds: ['unknown_table'] },
  {
    name: 'a view',
    table: PLAIN,
    more: ['RENAME TABLE t TO u', 'CREATE VIEW t AS SELECT * FROM u'],
    finds: ['not_a_table'],
  },
  // privileges
  { name: 'everything granted', table: PLAIN, grants: EVERYTHING },
  {
    name: 'everything granted, new column',
    table: PLAIN,
    grants: [...EVERYTHING, 'ALTER'],
    policy: NEW,
  },
  { name: 'no ALTER, new column', table: PLAIN, grants: EVERYTHING, policy: NEW, finds: ['privilege'] },
  {
    name: 'no CREATE, new column, where the ledger is there',
    table: PLAIN,
    more: ['MADE'],
    grants: [...EVERYTHING.filter((one) => one !== 'CREATE'), 'ALTER'],
    policy: NEW,
    finds: ['privilege'],
  },
  ...['UPDATE', 'CREATE', 'CREATE VIEW', 'CREATE TEMPORARY TABLES', 'DELETE', 'DROP'].map((lacking) => ({
    name: `no ${lacking}`,
    table: PLAIN,
    grants: EVERYTHING.filter((one) => one !== lacking),
    finds: ['privilege'],
  })),
  {
    name: 'no SELECT on the table',
    table: PLAIN,
    grants: EVERYTHING.filter((one) => one !== 'SELECT'),
    finds: ['no_select', 'privilege'],
  },
];

describe.each(only('mysql'))('the plan for $product', (engine) => {
  const scene = openScene(engine, [
    ...pairs([
      [5, 6],
      [6, 5],
      [7, 9],
      [8, 88],
      [11, 400],
      [12, 70_000],
      [13, -4],
    ]).map((row) => ({ ...row, platformId: 'é'.repeat(row.v3 === 12 ? 256 : Number(row.v3)) })),
  ]);
  const { sql, apply, undo, tableOf, database } = scene;

  it.each(campaignCases(CASES, 8))(
    '$name',
    async ({
      table,
      more = [],
      policy = IN_PLACE,
      finds = [],
      grants,
      target = {},
      ids = ['5', '6', '7'],
    }) => {
      await sql(`CREATE TABLE t${table}`);
      const [[kind = '', key = ''] = []] = await sql(
        "SELECT DATA_TYPE, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't' AND ORDINAL_POSITION = 1",
      );
      const isJson = 'ids' in target;
      for (const [at, id] of ids.entries()) {
        const row = /date|timestamp/.test(kind ?? '') ? `'2026-01-0${at + 1}'` : `'${at + 1}'`;
        const cell = isJson ? `'{"a": "${id}"}'` : `'${id}'`;
        const isGenerated = finds.includes('generated_column');
        await sql(
          `INSERT INTO t(\`${(key ?? '').replaceAll('`', '``')}\`${isGenerated ? '' : ', i'}) VALUES (${row}${isGenerated ? '' : `, ${cell}`})`,
        );
      }
      for (const statement of more.filter((one) => !/^(HALF|MADE)$/.test(one))) await sql(statement);
      if (more.includes('HALF') || more.includes('MADE')) {
        await apply(NEW);
        await undo();
        if (more.includes('HALF')) await database().ledger.halve();
      }
      const options = {
        targets: [tableOf(target)],
        ...(grants === undefined ? {} : { role: await userWith(grants) }),
      };
      const before = finds.length > 0 ? [] : await rows();
      expect(await apply(policy, options)).toEqual(finds);
      if (finds.length > 0) return;
      const column = policy.mode === 'new' ? 'i_v4' : 'i';
      const now = (
        await sql(`SELECT CAST(${isJson ? `JSON_VALUE(${column}, '$.a')` : column} AS CHAR) FROM t`)
      )
        .flat()
        .sort();
      expect(now).toEqual(['5', '6', '9']);
      await undo('run-1', options);
      expect(await rows()).toEqual(before);
    },
  );

  const types = [
    'text',
    'varchar(40) CHARACTER SET latin1',
    'varchar(40) CHARACTER SET utf16 UNIQUE',
    'char(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  ];
  it.each(campaignCases(types, 2))('rewrites texts of type %s', (type) => rewritesTexts(scene, type));

  it.each(campaignCases(['bigint', 'bigint UNIQUE', 'varchar(20) CHARACTER SET latin1'], 2))(
    'stores platform_ids beside ids of type %s',
    async (type) => {
      const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, platformIdColumn: 'p' }] })];
      const read = () => sql('SELECT k, i, p FROM t ORDER BY k');
      await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type}) DEFAULT CHARSET=latin1`);
      await sql('INSERT INTO t VALUES (1, 5), (2, 11), (3, 12)');
      expect(await apply(IN_PLACE, { targets })).toEqual(['does_not_fit']);
      await sql('DELETE FROM t WHERE k = 3');
      expect(await apply(IN_PLACE, { targets, role: await userWith(EVERYTHING) })).toEqual(['privilege']);
      await sql('ALTER TABLE t ADD COLUMN p varchar(20)');
      expect(await apply(IN_PLACE, { targets })).toEqual(['new_column_exists']);
      // What a killed process may leave.
      await sql('ALTER TABLE t MODIFY p varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
      await sql("UPDATE t SET p = 'mine' WHERE k = 1");
      expect(await apply(IN_PLACE, { targets })).toEqual(['new_column_exists']);
      await sql('UPDATE t SET p = NULL');
      expect(await apply(IN_PLACE, { targets })).toEqual([]);
      expect(await read()).toEqual([
        ['1', '6', 'é'.repeat(5)],
        ['2', '400', 'é'.repeat(11)],
      ]);
      await undo('run-1', { targets });
      expect(await sql('SELECT * FROM t ORDER BY k')).toEqual([
        ['1', '5'],
        ['2', '11'],
      ]);
    },
  );

  it('refuses a pattern for integers', async () => {
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i integer)');
    const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern: 'doc:{id}' }] })];
    expect(await apply(IN_PLACE, { targets })).toEqual(['column_type']);
  });

  const rows = async () => (await sql('SELECT * FROM t')).map((row) => JSON.stringify(row)).sort();

  let users = 0;

  async function userWith(grants: readonly string[]): Promise<string> {
    users += 1;
    const [[database] = []] = await sql('SELECT DATABASE()');
    const user = `'user_${users}'@'127.0.0.1'`;
    await sql(`CREATE USER ${user} IDENTIFIED BY 'canary-password'`);
    await sql(`GRANT ${grants.join(', ')} ON ${database}.* TO ${user}`);
    return `user_${users}`;
  }
});
