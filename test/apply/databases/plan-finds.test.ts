import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import { campaignCases } from '../../support/campaign.js';
import { type Engine, type Kind, only } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { ledgerTables } from '../support/ledger.js';
import { IN_PLACE, INVOICES, NEW, pairs } from '../support/remap.js';
import { openScene, type Scene } from '../support/scene.js';

interface More {
  /** Default: in place. */
  readonly policy?: Policy;
  readonly target?: object;
  /** The ids of its rows; by default 5, 6, 7. */
  readonly ids?: readonly string[];
  /** Who applies on PostgreSQL, by default the owner of everything. */
  readonly role?: string;
  /** Privileges on the database of whoever applies on MySQL, by default all. */
  readonly grants?: readonly string[];
}

/** Statements, and codes of what stands in the way; none: it is written, and taken back. */
type Case = readonly [sql: string | readonly string[], finds: string, more?: More];

/** In the place of a statement: rows are inserted, by default after all statements. */
const FILL = 'FILL';
/** In the place of a statement: a ledger, whole or as a killed run leaves it. */
const [MADE, HALF] = ['MADE', 'HALF'];

const KEY = 'k integer PRIMARY KEY';
const PLAIN = `CREATE TABLE t(${KEY}, i bigint)`;
const UNIQUE = `CREATE TABLE t(${KEY}, i bigint UNIQUE)`;
const KEYLESS = 'CREATE TABLE t(k integer NOT NULL, i bigint)';
const OTHER = `CREATE TABLE b(${KEY}, i bigint)`;
const INTO_NEW = { policy: NEW };
const PLATFORM = { ids: [{ column: 'i', model: INVOICES, platformIdColumn: 'p' }] };
const JSON_IDS = { ids: [{ column: 'i', path: '$.a', model: INVOICES }] };
const intoColumn = (newColumn: string) => ({ ids: [{ column: 'i', model: INVOICES, newColumn }] });
const NO_SUCH_KEY = { key: ['nope'] };
const APP = { role: 'app' };

/** A table with ids of a type. */
const ids = (type: string) => `CREATE TABLE t(${KEY}, i ${type})`;
/** The same in place and into a new column. */
const both = (sql: Case[0], finds: string, more: More = {}): Case[] =>
  [IN_PLACE, NEW].map((policy) => [sql, finds, { ...more, policy }]);

/** Unique ids that swap under a foreign key to a table that has the new ids too. */
const heldBy = (key: string, parent = 'i') => [
  `CREATE TABLE p(i bigint, g integer, PRIMARY KEY (${parent}))`,
  'INSERT INTO p VALUES (5, 1), (6, 1), (7, 1), (9, 1)',
  `CREATE TABLE t(${KEY}, i bigint UNIQUE, g integer, FOREIGN KEY (${parent}) REFERENCES p(${parent}) ${key})`,
];

const COMMON: readonly Case[] = [
  ...both(PLAIN, ''),
  ['CREATE TABLE t(k integer, i bigint)', 'no_key'],
  ['CREATE TABLE t(k integer, i bigint)', '', INTO_NEW],
  ['CREATE TABLE t(k integer UNIQUE, i bigint)', 'no_key'],
  [[KEYLESS, 'CREATE INDEX x ON t(k)'], 'no_key'],
  [PLAIN, 'unknown_column no_key', { target: NO_SUCH_KEY }],
  [PLAIN, 'unknown_column', { ...INTO_NEW, target: NO_SUCH_KEY }],
  [[OTHER, 'CREATE VIEW t AS SELECT * FROM b'], 'not_a_table'],
  [ids('bigint GENERATED ALWAYS AS (k + 4) STORED'), 'generated_column'],
  [ids('bigint UNIQUE CHECK (i > 0)'), ''],
  [`CREATE TABLE t(${KEY}, i bigint UNIQUE, p bigint, FOREIGN KEY (p) REFERENCES t(i))`, 'foreign_key'],
  // The key does not look at a row without g.
  [heldBy('', 'i, g'), ''],
  [ids('bigint CHECK (i > 0), g bigint GENERATED ALWAYS AS (i * 2) STORED'), ''],
];

/** Unique indexes on some rows, and on expressions. */
const INDEXED: readonly Case[] = [
  [[KEYLESS, 'CREATE UNIQUE INDEX x ON t(k) WHERE k < 9'], 'no_key'],
  [[KEYLESS, 'CREATE UNIQUE INDEX x ON t(k, (i + 0))'], 'no_key'],
  [[PLAIN, 'CREATE UNIQUE INDEX x ON t(i) WHERE k < 9'], ''],
  [[PLAIN, 'CREATE UNIQUE INDEX x ON t((i + 0))'], ''],
];

/** Names that the ledger takes in the user's own database. */
const foreignLedger = (kind: Kind): Case[] =>
  ledgerTables(kind).flatMap((own): Case[] => [
    [[PLAIN, `CREATE TABLE ${own}(a int)`], 'foreign_ledger', INTO_NEW],
    [[PLAIN, `CREATE VIEW ${own} AS SELECT 1 AS unit`], 'foreign_ledger'],
  ]);

const SQLITE: readonly Case[] = [
  ['CREATE TABLE t(k PRIMARY KEY, i UNIQUE) WITHOUT ROWID', ''],
  ['CREATE TABLE t(k PRIMARY KEY, i) WITHOUT ROWID', '', INTO_NEW],
  [`${ids('INT UNIQUE')} STRICT`, ''],
  [`${ids('TEXT UNIQUE')} STRICT`, ''],
  [`${ids('REAL')} STRICT`, 'column_type unknown'],
  [heldBy(''), ''],
  ...INDEXED,
  [['CREATE TABLE t(k text PRIMARY KEY, i bigint)', FILL, 'INSERT INTO t VALUES (NULL, 5)'], 'no_key'],
  ...foreignLedger('sqlite'),
];

const KEYED = 'CREATE TABLE t(k integer NOT NULL UNIQUE, i bigint)';
const BY_KEY = `${PLAIN} PARTITION BY RANGE (k)`;
const TYPED = ['CREATE TYPE y AS (k integer, i bigint)', 'CREATE TABLE t OF y (PRIMARY KEY (k))'];
const PARTITION = [`${OTHER} PARTITION BY RANGE (k)`, 'CREATE TABLE t PARTITION OF b DEFAULT'];
const PUBLISHED = 'CREATE PUBLICATION p FOR TABLE t';
const OWNED = [PLAIN, 'GRANT ALL ON SCHEMA public TO app', 'ALTER TABLE t OWNER TO app'];
const ROW_SECURITY = 'ALTER TABLE t ENABLE ROW LEVEL SECURITY';
const onDatabase = (statement: string) =>
  `DO 'BEGIN EXECUTE format(''${statement}'', current_database()); END'`;
const CREATES = onDatabase('GRANT CREATE ON DATABASE %I TO app');
const setDatabase = (setting: string) => onDatabase(`ALTER DATABASE %I SET ${setting}`);

const POSTGRES: readonly Case[] = [
  ...INDEXED,
  [[KEYLESS, 'CREATE UNIQUE INDEX x ON t(k) INCLUDE (i)'], ''],
  [[KEYED, "UPDATE pg_index SET indisvalid = false WHERE indrelid = 't'::regclass"], 'no_key'],
  [ids('bigint, EXCLUDE USING btree (i WITH =)'), ''],
  ...both([PLAIN, 'CREATE TABLE heir() INHERITS (t)'], 'inheritance'),
  ...both([PLAIN, 'CREATE RULE r AS ON UPDATE TO t DO INSTEAD NOTHING'], 'rules'),
  [[PLAIN, FILL, 'CREATE SCHEMA off', 'ALTER TABLE t SET SCHEMA off'], 'unknown_table'],
  [PLAIN, 'new_column_name', { ...INTO_NEW, target: intoColumn('é'.repeat(32)) }],
  [
    [
      `CREATE TABLE t(${KEY}, i bigint, j serial CONSTRAINT x UNIQUE)`,
      'ALTER TABLE t REPLICA IDENTITY USING INDEX x',
      'ALTER TABLE t DROP CONSTRAINT x',
      PUBLISHED,
    ],
    'replica_identity',
  ],
  ...both([PLAIN, setDatabase('default_transaction_read_only = on')], 'read_only_session'),
  ...both([KEYED, PUBLISHED], 'replica_identity'),
  ...both([KEYED, 'CREATE PUBLICATION p FOR ALL TABLES'], 'replica_identity'),
  ...both([PLAIN, 'ALTER TABLE t REPLICA IDENTITY NOTHING', PUBLISHED], 'replica_identity'),
  ...both([KEYED, 'ALTER TABLE t REPLICA IDENTITY FULL', PUBLISHED], ''),
  ...both([KEYED, 'ALTER TABLE t REPLICA IDENTITY USING INDEX t_k_key', PUBLISHED], ''),
  ...both([PLAIN, 'CREATE PUBLICATION p FOR ALL TABLES'], ''),
  ...both([KEYED, `${PUBLISHED} WITH (publish = 'insert')`], ''),
  ...both(
    [`${KEYED} PARTITION BY RANGE (k)`, 'CREATE TABLE t1 PARTITION OF t DEFAULT', FILL, PUBLISHED],
    'replica_identity',
  ),
  // A platform_id with NUL.
  ...both(PLAIN, 'does_not_fit', { target: PLATFORM, ids: ['5', '12'] }),
  [[OTHER, 'CREATE MATERIALIZED VIEW t AS TABLE b'], 'not_a_table'],
  [ids('bigint GENERATED ALWAYS AS IDENTITY'), 'generated_column'],
  [heldBy(''), 'foreign_key'],
  [heldBy('DEFERRABLE'), ''],
  [['CREATE DOMAIN d AS bigint CHECK (VALUE < 99)', ids('d UNIQUE')], ''],
  ...both(ids('smallint'), 'does_not_fit', { ids: ['5', '11'] }),
  ...both(ids('integer'), 'does_not_fit', { ids: ['5', '14'] }),
  [ids('numeric(2)'), 'does_not_fit', { ids: ['5', '11'] }],
  ...['char(1)', 'varchar(1)'].map((type): Case => [ids(type), 'does_not_fit', { ids: ['8'] }]),
  [
    [
      BY_KEY,
      'CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (3)',
      'CREATE TABLE t2 PARTITION OF t DEFAULT',
    ],
    '',
  ],
  [[BY_KEY, 'CREATE TABLE t2 PARTITION OF t DEFAULT'], '', INTO_NEW],
  [
    [
      'CREATE TABLE t(k integer, i bigint, PRIMARY KEY (k, i)) PARTITION BY RANGE (i)',
      'CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (6)',
      'CREATE TABLE t2 PARTITION OF t DEFAULT',
    ],
    '',
  ],
  [PARTITION, ''],
  [
    [
      'CREATE TABLE p(k integer, i bigint, PRIMARY KEY (k, i)) PARTITION BY RANGE (k)',
      'CREATE TABLE t PARTITION OF p DEFAULT',
      'CREATE TABLE c(k integer, i bigint, FOREIGN KEY (k, i) REFERENCES p)',
    ],
    'foreign_key',
  ],
  [PARTITION, 'partition', INTO_NEW],
  [TYPED, 'typed_table', INTO_NEW],
  [TYPED, 'typed_table', { target: PLATFORM }],
  [UNIQUE, '', { target: PLATFORM }],
  // What the user may do.
  [[PLAIN, 'GRANT SELECT ON t TO app', CREATES], 'privilege', APP],
  [[PLAIN, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES], '', APP],
  [[PLAIN, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES], 'privilege', { ...APP, target: PLATFORM }],
  [[UNIQUE, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES], 'privilege', APP],
  [[UNIQUE, 'GRANT SELECT, UPDATE ON t TO app', CREATES], '', APP],
  [[PLAIN, 'GRANT SELECT (i), UPDATE ON t TO app', CREATES], 'no_select', APP],
  [OWNED, 'privilege', APP],
  [[...OWNED, 'CREATE SCHEMA svc_migrate', 'GRANT USAGE ON SCHEMA svc_migrate TO app'], 'privilege', APP],
  [[...OWNED, 'CREATE SCHEMA svc_migrate', 'GRANT CREATE ON SCHEMA svc_migrate TO app'], 'privilege', APP],
  [
    [
      PLAIN,
      FILL,
      MADE,
      ...['t', 'ALL TABLES IN SCHEMA svc_migrate', 'SCHEMA svc_migrate'].map(
        (what) => `GRANT ALL ON ${what} TO app`,
      ),
    ],
    'privilege',
    APP,
  ],
  [[...OWNED, CREATES, onDatabase('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC')], 'privilege', APP],
  // A schema that a DBA made.
  [[...OWNED, 'CREATE SCHEMA svc_migrate', 'GRANT ALL ON SCHEMA svc_migrate TO app'], '', APP],
  [[PLAIN, 'GRANT ALL ON t TO app', CREATES], 'privilege', { ...APP, ...INTO_NEW }],
  [[PLAIN, ROW_SECURITY, 'GRANT ALL ON t TO app', CREATES], 'row_security', APP],
  [[...OWNED, ROW_SECURITY, 'ALTER TABLE t FORCE ROW LEVEL SECURITY', CREATES], 'row_security', APP],
  // Short timeouts of the user.
  [
    [PLAIN, setDatabase('statement_timeout = 40'), setDatabase('idle_in_transaction_session_timeout = 40')],
    '',
  ],
  [[ids('jsonb'), `CREATE UNIQUE INDEX ON t((i->>'a'))`], '', { target: JSON_IDS }],
];

const GRANTED = 'SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW, CREATE TEMPORARY TABLES, DROP'.split(
  ', ',
);
const without = (lacking: string) => GRANTED.filter((one) => one !== lacking);
const STAMP = 'ON UPDATE current_timestamp';

const MYSQL: readonly Case[] = [
  ...[
    'tinyint',
    'smallint unsigned',
    'mediumint',
    'int',
    'int unsigned',
    'bigint unsigned',
    'decimal(20,0)',
    'varchar(20)',
    'char(20)',
    'text',
    'varchar(20) CHARACTER SET latin1',
    'varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
    'varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin',
    'varchar(20) CHARACTER SET utf16',
  ].flatMap((type): Case[] => [
    ...both(ids(type), ''),
    [`CREATE TABLE t(${KEY}, i ${type}, UNIQUE (i${type === 'text' ? '(10)' : ''}))`, ''],
  ]),
  [ids('varchar(16000)'), ''],
  [ids('tinyint'), 'does_not_fit', { ids: ['5', '6', '11'] }],
  [ids('smallint unsigned'), 'does_not_fit', { ids: ['12'] }],
  [ids('int unsigned'), 'does_not_fit', { ids: ['13'] }],
  [ids('int'), 'does_not_fit', { ids: ['14'] }],
  [ids('tinyint'), 'does_not_fit', { ...INTO_NEW, ids: ['11'] }],
  [ids('decimal(2)'), 'does_not_fit', { ids: ['11'] }],
  [ids('varchar(1)'), 'does_not_fit', { ids: ['8'] }],
  [ids('varchar(1) UNIQUE'), 'no_room'],
  [ids('int zerofill'), 'column_type unknown'],
  [ids('double'), 'column_type'],
  [ids('varbinary(20)'), 'column_type'],
  [ids("enum('5','6','7')"), 'column_type'],
  ...both(ids('json'), '', { target: JSON_IDS }),
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
  ].map((type): Case => [`CREATE TABLE t(k ${type} NOT NULL PRIMARY KEY, i bigint)`, '']),
  [
    'CREATE TABLE t(k varchar(60) NOT NULL, b bigint unsigned NOT NULL DEFAULT 18446744073709551615, d date NOT NULL DEFAULT 0, i bigint, PRIMARY KEY (k, b, d))',
    '',
  ],
  [
    'CREATE TABLE t(k varchar(60) NOT NULL, b bigint unsigned NOT NULL DEFAULT 7, i bigint, PRIMARY KEY (k, b))',
    '',
    INTO_NEW,
  ],
  ['CREATE TABLE t(k varbinary(16) PRIMARY KEY, i bigint)', 'no_key'],
  ['CREATE TABLE t(k varbinary(16) PRIMARY KEY, i bigint)', '', INTO_NEW],
  ['CREATE TABLE t(k double PRIMARY KEY, i bigint)', 'no_key'],
  ['CREATE TABLE t(k int NOT NULL UNIQUE, i bigint)', ''],
  ['CREATE TABLE t(k varchar(20) NOT NULL, i bigint, UNIQUE (k(9)))', 'no_key'],
  [`CREATE TABLE t(k timestamp(6) NOT NULL DEFAULT 0 ${STAMP}(6) PRIMARY KEY, i bigint)`, 'no_key'],
  ['CREATE TABLE t(k varchar(768) PRIMARY KEY, i bigint)', ''],
  ['CREATE TABLE t(k varchar(3000) CHARACTER SET latin1 PRIMARY KEY, i bigint)', ''],
  // kinds of tables and columns
  ...both(`${PLAIN} ENGINE=MyISAM`, 'engine'),
  [`${PLAIN} ENGINE=MEMORY`, 'engine'],
  [`${PLAIN} WITH SYSTEM VERSIONING`, 'system_versioned'],
  [`${PLAIN} PARTITION BY HASH (k) PARTITIONS 3`, ''],
  ['CREATE TABLE t(k int, i bigint, PRIMARY KEY (k, i)) PARTITION BY HASH (i) PARTITIONS 3', ''],
  [ids('bigint AS (k + 4) VIRTUAL'), 'generated_column'],
  [ids('bigint, j bigint AS (i * 2) STORED UNIQUE'), ''],
  ['CREATE TABLE t(k int NOT NULL UNIQUE, i bigint AUTO_INCREMENT PRIMARY KEY)', ''],
  [
    "CREATE TABLE t(`a``b?$1` int PRIMARY KEY, `i` bigint) COMMENT '\\\\'",
    '',
    { target: { key: ['a`b?$1'] } },
  ],
  [ids(`bigint, at timestamp(6) NOT NULL DEFAULT '2026-01-01' ${STAMP}(6)`), ''],
  [ids(`bigint UNIQUE, at datetime DEFAULT '2026-01-01' ${STAMP}`), ''],
  [ids(`bigint, at timestamp NOT NULL DEFAULT '2026-01-01' ${STAMP}`), '', INTO_NEW],
  // constraints
  [
    [UNIQUE, FILL, 'CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i) ON UPDATE SET NULL)'],
    'foreign_key',
  ],
  [[UNIQUE, FILL, 'CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i))'], 'foreign_key'],
  [
    [
      UNIQUE,
      FILL,
      'CREATE TABLE c(i bigint, FOREIGN KEY (i) REFERENCES t(i) ON UPDATE CASCADE)',
      'INSERT INTO c SELECT i FROM t',
    ],
    '',
  ],
  [heldBy(''), 'foreign_key'],
  // the ledger
  ...foreignLedger('mysql'),
  [[PLAIN, FILL, HALF], ''],
  [[PLAIN, FILL, 'RENAME TABLE t TO u'], 'unknown_table'],
  [PLAIN, 'new_column_name', { ...INTO_NEW, target: intoColumn('é'.repeat(65)) }],
  [[PLAIN, 'SET GLOBAL read_only = 1'], 'read_only_server'],
  // privileges
  [PLAIN, '', { grants: GRANTED }],
  [PLAIN, '', { ...INTO_NEW, grants: [...GRANTED, 'ALTER'] }],
  [PLAIN, 'privilege', { grants: GRANTED, target: PLATFORM }],
  [PLAIN, 'privilege', { ...INTO_NEW, grants: GRANTED }],
  [[PLAIN, FILL, MADE], 'privilege', { ...INTO_NEW, grants: [...without('CREATE'), 'ALTER'] }],
  ...['UPDATE', 'CREATE', 'CREATE VIEW', 'CREATE TEMPORARY TABLES', 'DELETE', 'DROP'].map(
    (lacking): Case => [PLAIN, 'privilege', { grants: without(lacking) }],
  ),
  [PLAIN, 'no_select privilege', { grants: without('SELECT') }],
];

/** SQL that MySQL does not take. */
const MARIADB_ONLY = /nopad|SYSTEM VERSIONING|DEFAULT 0\b/;
const OWN = { sqlite: SQLITE, postgres: POSTGRES, mysql: MYSQL };
const NO_ROWS = new Set(['not_a_table', 'generated_column']);

/** The text of the id in a cell. */
const ID_IN_JSON: Readonly<Record<Kind, string>> = {
  sqlite: "i->>'a'",
  postgres: "i->>'a'",
  mysql: "JSON_VALUE(i, '$.a')",
};

/** The platform_id of V3 id 12 fits into no column. */
function sceneOf(engine: Engine) {
  const remap = pairs([
    [5, 6],
    [6, 5],
    [7, 9],
    [8, 88],
    [11, 40_000],
    [12, 70_000],
    [13, -4],
    [14, 3_000_000_000],
  ]);
  const tooLong = engine.kind === 'postgres' ? 'a\0b' : 'é'.repeat(256);
  return openScene(
    engine,
    remap.map((row) => ({ ...row, platformId: row.v3 === 12 ? tooLong : 'é'.repeat(Number(row.v3)) })),
  );
}

describe.each(only('sqlite', 'postgres', 'mysql'))('the plan for $product', (engine) => {
  const scene = sceneOf(engine);
  const { sql, apply, undo, tableOf, database } = scene;
  const rows = async () => (await sql('SELECT * FROM t')).map((row) => JSON.stringify(row)).sort();
  beforeEach(async () => {
    if (engine.kind === 'postgres')
      await sql("DO 'BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END'");
  });
  afterEach(async () => {
    if (engine.kind === 'mysql') await sql('SET GLOBAL read_only = 0');
  });

  async function fill(table: string, ids: readonly string[], isJson: boolean): Promise<void> {
    const [, name = 'k', type = ''] = /^CREATE TABLE t\((`.*`(?= int)|\w+) ?(\w*)/.exec(table) ?? [];
    for (const [at, id] of ids.entries()) {
      const key = /date|timestamp/.test(type) ? `'2026-01-0${at + 1}'` : `'${at + 1}'`;
      await sql(`INSERT INTO t(${name}, i) VALUES (${key}, ${isJson ? `'{"a": "${id}"}'` : `'${id}'`})`);
    }
  }

  async function prepare([given, finds, { target = {}, ids = ['5', '6', '7'] } = {}]: Case): Promise<void> {
    const statements = [given].flat();
    const table = statements.find((one) => one.startsWith('CREATE TABLE t')) ?? '';
    const isFilled = statements.includes(FILL) || NO_ROWS.has(finds);
    for (const statement of isFilled ? statements : [...statements, FILL]) {
      if (statement === FILL) await fill(table, ids, target === JSON_IDS);
      else if (statement === MADE || statement === HALF) {
        await apply(NEW);
        await undo();
        if (statement === HALF) await database().ledger.halve();
      } else await sql(statement);
    }
  }

  /** Whatever stands in the way of a run is found before it begins; whatever is not found works, both ways. */
  const own = OWN[engine.kind].filter(
    ([sql]) => engine.product !== 'MySQL' || !MARIADB_ONLY.test(String(sql)),
  );
  const cases = campaignCases([...COMMON, ...own], 10);
  it.each(
    cases.map((one) => ({
      one,
      says: one[1] === '' ? 'writes and takes back' : `finds ${one[1]}`,
      sql: String(one[0]),
    })),
  )('$says: $sql', async ({ one }) => {
    const [, found, { policy = IN_PLACE, target = {}, role, grants } = {}] = one;
    const finds = found.split(' ').filter((code) => code !== '');
    await prepare(one);
    const user = grants === undefined ? role : await userWith(grants);
    const options = { targets: [tableOf(target)], ...(user === undefined ? {} : { role: user }) };
    const ledger = await database().ledger.tables();
    const before = finds.length > 0 ? [] : await rows();
    expect(await apply(policy, options)).toEqual(finds);
    if (finds.length > 0) {
      expect(await database().ledger.tables()).toEqual(ledger);
      return;
    }
    const column = policy.mode === 'new' ? 'i_v4' : 'i';
    const term = target === JSON_IDS ? ID_IN_JSON[engine.kind].replace('i', column) : column;
    const text = engine.kind === 'mysql' ? 'char' : 'text';
    expect((await sql(`SELECT CAST(${term} AS ${text}) FROM t`)).flat().sort()).toEqual(['5', '6', '9']);
    await undo('run-1', options);
    expect(await rows()).toEqual(before);
  });

  let users = 0;

  async function userWith(grants: readonly string[]): Promise<string> {
    users += 1;
    const user = `'user_${users}'@'127.0.0.1'`;
    await sql(`CREATE USER ${user} IDENTIFIED BY 'canary-password'`);
    await sql(`GRANT ${grants.join(', ')} ON ${database().name}.* TO ${user}`);
    return `user_${users}`;
  }
});

/** Rewrites ids in texts of a type, long ones among them, into a new column and in place, and takes both back. */
async function rewritesTexts({ sql, apply, undo, tableOf }: Scene, type: string): Promise<void> {
  // Too long for an index, and not to be compressed.
  const words = Array.from({ length: /text/.test(type) ? 2000 : 1 }, (_, at) =>
    ((at * 7919 + 1) ** 3 % 1e9).toString(36),
  );
  const long = `é${words.join('/')}/doc/7`;
  const pattern = ['doc:{id}', '*/doc/{id}'];
  const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern }] })];
  await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type})`);
  await sql(`INSERT INTO t VALUES (1, 'doc:5'), (2, 'doc:6'), (3, '${long}')`);
  const expected = [['doc:6'], ['doc:5'], [long.replace('doc/7', 'doc/9')]];
  for (const [policy, column] of [
    [NEW, 'i_v4'],
    [IN_PLACE, 'i'],
  ] as const) {
    expect(await apply(policy, { targets })).toEqual([]);
    // PostgreSQL pads a char.
    expect(await sql(`SELECT rtrim(${column}) FROM t ORDER BY k`)).toEqual(expected);
    await undo('run-1', { targets });
    expect(await sql('SELECT rtrim(i) FROM t ORDER BY k')).toEqual([['doc:5'], ['doc:6'], [long]]);
  }
}

const TEXTS = {
  postgres: ['text', 'varchar(40) UNIQUE', 'char(40)'],
  mysql: [
    'text',
    'varchar(40) CHARACTER SET latin1',
    'varchar(40) CHARACTER SET utf16 UNIQUE',
    'char(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  ],
  sqlite: [],
};

describe.each(only('postgres', 'mysql'))('columns of $product', (engine) => {
  const scene = sceneOf(engine);
  const { sql, apply, undo, tableOf } = scene;

  it.each(campaignCases(TEXTS[engine.kind], 2))('rewrites texts of type %s', (type) =>
    rewritesTexts(scene, type),
  );

  it('refuses a pattern for integers', async () => {
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i integer)');
    const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern: 'doc:{id}' }] })];
    expect(await apply(IN_PLACE, { targets })).toEqual(['column_type']);
  });

  const types =
    engine.kind === 'mysql' ? ['bigint', 'bigint UNIQUE', 'varchar(20) CHARACTER SET latin1'] : [];
  it.each(campaignCases(types, 2))('stores platform_ids beside ids of type %s', async (type) => {
    const targets = [tableOf(PLATFORM)];
    const read = () => sql('SELECT k, i, p FROM t ORDER BY k');
    await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type}) DEFAULT CHARSET=latin1`);
    await sql('INSERT INTO t VALUES (1, 5), (2, 11), (3, 12)');
    expect(await apply(IN_PLACE, { targets })).toEqual(['does_not_fit']);
    await sql('DELETE FROM t WHERE k = 3');
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
      ['2', '40000', 'é'.repeat(11)],
    ]);
    await undo('run-1', { targets });
    expect(await sql('SELECT * FROM t ORDER BY k')).toEqual([
      ['1', '5'],
      ['2', '11'],
    ]);
  });
});

describe.each(only('postgres', 'mysql'))('a foreign key of $product', (engine) => {
  const { sql, apply, tableOf } = sceneOf(engine);

  it.runIf(engine.kind === 'postgres').each([
    ['RESTRICT', ['foreign_key']],
    ['NO ACTION', []],
  ])('that can be deferred is checked at once or at the end: ON UPDATE %s', async (action, finds) => {
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i bigint UNIQUE)');
    await sql(
      `CREATE TABLE c(k integer PRIMARY KEY, i bigint REFERENCES t(i) ON UPDATE ${action} DEFERRABLE) PARTITION BY RANGE (k)`,
    );
    await sql('CREATE TABLE c1 PARTITION OF c DEFAULT');
    await sql('INSERT INTO t VALUES (1, 5), (2, 6); INSERT INTO c SELECT k, i FROM t');
    const targets = [tableOf(), tableOf({ name: 'c', table: 'c' })];
    expect(await apply(IN_PLACE, { targets })).toEqual(finds);
  });

  it('refuses no unique ids that do not swap', async () => {
    for (const statement of heldBy('')) await sql(statement);
    await sql('INSERT INTO t VALUES (1, 7, 1)');
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await sql('SELECT i FROM t')).toEqual([['9']]);
  });

  it('of several columns refuses ids that swap if it looks at a row that changes', async () => {
    for (const statement of heldBy('', 'i, g')) await sql(statement);
    await sql('INSERT INTO t VALUES (1, 5, NULL), (2, 6, 1)');
    expect(await apply(IN_PLACE)).toEqual(['foreign_key']);
    await sql('UPDATE t SET g = NULL');
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await sql('SELECT i FROM t ORDER BY k')).toEqual([['6'], ['5']]);
  });
});

describe.each(only('postgres'))('materialized views of $product', (engine) => {
  const { sql, look } = sceneOf(engine);

  it('are listed that keep V3 ids, also behind other views', async () => {
    for (const statement of [
      'CREATE TABLE t(k integer PRIMARY KEY, i bigint, other bigint)',
      'CREATE VIEW v AS SELECT i FROM t',
      'CREATE MATERIALIZED VIEW direct AS SELECT k, i FROM t',
      'CREATE MATERIALIZED VIEW behind AS SELECT i FROM v',
      'CREATE MATERIALIZED VIEW whole AS SELECT t FROM t',
      'CREATE MATERIALIZED VIEW unrelated AS SELECT k, other FROM t',
    ])
      await sql(statement);
    const { warnings } = await look(IN_PLACE);
    expect(warnings.map((one) => one.split(' keeps')[0])).toEqual([
      'materialized_view: public.behind',
      'materialized_view: public.direct',
      'materialized_view: public.whole',
    ]);
    expect((await look(NEW)).warnings).toEqual([]);
  });
});

describe.each(only('sqlite'))('a file of $product', (engine) => {
  const { sql, database } = sceneOf(engine);

  it('that takes no writes is found, and so is its folder', async () => {
    const folder = makeFolder();
    const file = join(folder, 'read', 'user.db');
    mkdirSync(join(folder, 'read'));
    await sql(PLAIN);
    execFileSync('cp', [database().url, file]);
    chmodSync(file, 0o444);
    chmodSync(join(folder, 'read'), 0o555);
    chmodSync(folder, 0o755);
    const script = join(folder, 'access.mjs');
    const trial = new URL('../../../dist/apply/dialects/sqlite-dialect.js', import.meta.url);
    // Root may write everything: as somebody else, who need not be able to read the program.
    writeFileSync(
      script,
      `const { readOnlyNotes } = await import(${JSON.stringify(trial.href)});
       if (process.getuid() === 0) process.setuid(65534);
       console.log(readOnlyNotes(${JSON.stringify(file)}).map(({ code }) => code).join());`,
    );
    expect(execFileSync(process.execPath, [script], { encoding: 'utf8' })).toBe(
      'read_only_file,read_only_file\n',
    );
    chmodSync(join(folder, 'read'), 0o755);
  });
});
