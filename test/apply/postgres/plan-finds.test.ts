import { beforeEach, describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import { campaignCases } from '../../support/campaign.js';
import { only } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW, pairs } from '../support/remap.js';
import { openScene } from '../support/scene.js';
import { rewritesTexts } from '../support/text-cells.js';

const PLAIN = 'CREATE TABLE t(k integer PRIMARY KEY, i bigint)';
const UNIQUE = 'CREATE TABLE t(k integer PRIMARY KEY, i bigint UNIQUE)';
const KEYLESS = 'CREATE TABLE t(k integer, i bigint)';
const EVERYTHING = ['GRANT ALL ON SCHEMA public TO app', 'ALTER TABLE t OWNER TO app'];
const CREATES = `DO 'BEGIN EXECUTE format(''GRANT CREATE ON DATABASE %I TO app'', current_database()); END'`;

interface Case {
  readonly name: string;
  readonly sql: readonly string[];
  readonly policy: Policy;
  /** Codes of what stands in the way; empty: it is written, and taken back. */
  readonly finds: readonly string[];
  readonly role?: string;
  readonly target?: object;
}

const PLATFORM = { ids: [{ column: 'i', model: INVOICES, platformIdColumn: 'p' }] };

/** Whatever stands in the way of a run is found before it begins; whatever is not found works. */
const CASES: readonly Case[] = [
  { name: 'a plain table', sql: [PLAIN], policy: IN_PLACE, finds: [] },
  {
    name: 'a read-only database',
    sql: [
      PLAIN,
      `DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET default_transaction_read_only = on'', current_database()); END'`,
    ],
    policy: IN_PLACE,
    finds: ['read_only_session'],
  },
  {
    name: 'a read-only database, new column',
    sql: [
      PLAIN,
      `DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET default_transaction_read_only = on'', current_database()); END'`,
    ],
    policy: NEW,
    finds: ['read_only_session'],
  },
  ...['in_place', 'new'].flatMap((mode): Case[] => {
    const policy = mode === 'new' ? NEW : IN_PLACE;
    const keyed = 'CREATE TABLE t(k integer NOT NULL UNIQUE, i bigint)';
    const publish = 'CREATE PUBLICATION p FOR TABLE t';
    return [
      {
        name: `${mode}: published without identity`,
        sql: [keyed, publish],
        policy,
        finds: ['replica_identity'],
      },
      {
        name: `${mode}: published by ALL TABLES`,
        sql: [keyed, 'CREATE PUBLICATION p FOR ALL TABLES'],
        policy,
        finds: ['replica_identity'],
      },
      {
        name: `${mode}: published with identity nothing`,
        sql: [PLAIN, 'ALTER TABLE t REPLICA IDENTITY NOTHING', publish],
        policy,
        finds: ['replica_identity'],
      },
      {
        name: `${mode}: published in full`,
        sql: [keyed, 'ALTER TABLE t REPLICA IDENTITY FULL', publish],
        policy,
        finds: [],
      },
      {
        name: `${mode}: published by an index`,
        sql: [keyed, 'ALTER TABLE t REPLICA IDENTITY USING INDEX t_k_key', publish],
        policy,
        finds: [],
      },
      {
        name: `${mode}: published with a primary key`,
        sql: [PLAIN, 'CREATE PUBLICATION p FOR ALL TABLES'],
        policy,
        finds: [],
      },
      {
        name: `${mode}: published for inserts only`,
        sql: [keyed, `${publish} WITH (publish = 'insert')`],
        policy,
        finds: [],
      },
      {
        name: `${mode}: a published partition without identity`,
        sql: [
          'CREATE TABLE t(k integer NOT NULL UNIQUE, i bigint) PARTITION BY RANGE (k)',
          'CREATE TABLE t1 PARTITION OF t DEFAULT',
          publish,
        ],
        policy,
        finds: ['replica_identity'],
      },
    ];
  }),
  {
    name: 'a key that is no column',
    sql: [PLAIN],
    policy: IN_PLACE,
    finds: ['unknown_column', 'no_key'],
    target: { key: ['nope'] },
  },
  {
    name: 'a key that is no column, new column',
    sql: [PLAIN],
    policy: NEW,
    finds: ['unknown_column'],
    target: { key: ['nope'] },
  },
  { name: 'no key', sql: [KEYLESS], policy: IN_PLACE, finds: ['no_key'] },
  { name: 'no key, new column', sql: [KEYLESS], policy: NEW, finds: [] },
  {
    name: 'a view',
    sql: ['CREATE TABLE b(k integer PRIMARY KEY, i bigint)', 'CREATE VIEW t AS TABLE b'],
    policy: IN_PLACE,
    finds: ['not_a_table'],
  },
  {
    name: 'a materialized view',
    sql: ['CREATE TABLE b(k integer PRIMARY KEY, i bigint)', 'CREATE MATERIALIZED VIEW t AS TABLE b'],
    policy: IN_PLACE,
    finds: ['not_a_table'],
  },
  {
    name: 'a generated column',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i bigint GENERATED ALWAYS AS (k + 4) STORED)'],
    policy: IN_PLACE,
    finds: ['generated_column'],
  },
  {
    name: 'an identity',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i bigint GENERATED ALWAYS AS IDENTITY)'],
    policy: IN_PLACE,
    finds: ['generated_column'],
  },
  {
    name: 'a check that the new ids meet',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i bigint UNIQUE CHECK (i > 0))'],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'a domain that fits',
    sql: [
      'CREATE DOMAIN d AS bigint CHECK (VALUE < 99)',
      'CREATE TABLE t(k integer PRIMARY KEY, i d UNIQUE)',
    ],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'smallint',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i smallint)', 'INSERT INTO t VALUES (9, 11)'],
    policy: IN_PLACE,
    finds: ['does_not_fit'],
  },
  {
    name: 'smallint, new column',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i smallint)', 'INSERT INTO t VALUES (9, 11)'],
    policy: NEW,
    finds: ['does_not_fit'],
  },
  {
    name: 'numeric(2)',
    sql: ['CREATE TABLE t(k integer PRIMARY KEY, i numeric(2))', 'INSERT INTO t VALUES (9, 11)'],
    policy: IN_PLACE,
    finds: ['does_not_fit'],
  },
  {
    name: 'a partitioned table',
    sql: [
      'CREATE TABLE t(k integer PRIMARY KEY, i bigint) PARTITION BY RANGE (k)',
      'CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (3)',
      'CREATE TABLE t2 PARTITION OF t DEFAULT',
    ],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'a partitioned table, new column',
    sql: [
      'CREATE TABLE t(k integer PRIMARY KEY, i bigint) PARTITION BY RANGE (k)',
      'CREATE TABLE t2 PARTITION OF t DEFAULT',
    ],
    policy: NEW,
    finds: [],
  },
  {
    name: 'partitions by id',
    sql: [
      'CREATE TABLE t(k integer, i bigint, PRIMARY KEY (k, i)) PARTITION BY RANGE (i)',
      'CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (6)',
      'CREATE TABLE t2 PARTITION OF t DEFAULT',
    ],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'one partition, new column',
    sql: [
      'CREATE TABLE p(k integer PRIMARY KEY, i bigint) PARTITION BY RANGE (k)',
      'CREATE TABLE t PARTITION OF p DEFAULT',
    ],
    policy: NEW,
    finds: ['partition'],
  },
  {
    name: 'one partition',
    sql: [
      'CREATE TABLE p(k integer PRIMARY KEY, i bigint) PARTITION BY RANGE (k)',
      'CREATE TABLE t PARTITION OF p DEFAULT',
    ],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'a typed table, new column',
    sql: ['CREATE TYPE y AS (k integer, i bigint)', 'CREATE TABLE t OF y (PRIMARY KEY (k))'],
    policy: NEW,
    finds: ['typed_table'],
  },
  {
    name: 'a user who may read',
    sql: [PLAIN, 'GRANT SELECT ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: ['privilege'],
    role: 'app',
  },
  {
    name: 'a user who may update the column',
    sql: [PLAIN, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: [],
    role: 'app',
  },
  {
    name: 'a user who may update the column, with platform_ids',
    sql: [PLAIN, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: ['privilege'],
    role: 'app',
    target: PLATFORM,
  },
  { name: 'platform_ids', sql: [UNIQUE], policy: IN_PLACE, finds: [], target: PLATFORM },
  ...[IN_PLACE, NEW].map(
    (policy): Case => ({
      name: `a platform_id with NUL, ${policy.mode}`,
      sql: [PLAIN, 'INSERT INTO t VALUES (99, 12)'],
      policy,
      finds: ['does_not_fit'],
      target: PLATFORM,
    }),
  ),
  {
    name: 'a typed table with platform_ids',
    sql: ['CREATE TYPE y AS (k integer, i bigint)', 'CREATE TABLE t OF y (PRIMARY KEY (k))'],
    policy: IN_PLACE,
    finds: ['typed_table'],
    target: PLATFORM,
  },
  {
    name: 'a user who may update the column only, under UNIQUE',
    sql: [UNIQUE, 'GRANT SELECT, UPDATE (i) ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: ['privilege'],
    role: 'app',
  },
  {
    name: 'a user who may update the table, under UNIQUE',
    sql: [UNIQUE, 'GRANT SELECT, UPDATE ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: [],
    role: 'app',
  },
  {
    name: 'a user who may read some columns',
    sql: [PLAIN, 'GRANT SELECT (i), UPDATE ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: ['no_select'],
    role: 'app',
  },
  {
    name: 'a user who may not make a schema',
    sql: [PLAIN, ...EVERYTHING],
    policy: IN_PLACE,
    finds: ['privilege'],
    role: 'app',
  },
  {
    name: 'a user with a schema of a DBA',
    sql: [PLAIN, ...EVERYTHING, 'CREATE SCHEMA svc_migrate', 'GRANT ALL ON SCHEMA svc_migrate TO app'],
    policy: IN_PLACE,
    finds: [],
    role: 'app',
  },
  {
    name: 'a user who does not own the table, new column',
    sql: [PLAIN, 'GRANT ALL ON t TO app', CREATES],
    policy: NEW,
    finds: ['privilege'],
    role: 'app',
  },
  {
    name: 'row security',
    sql: [PLAIN, 'ALTER TABLE t ENABLE ROW LEVEL SECURITY', 'GRANT ALL ON t TO app', CREATES],
    policy: IN_PLACE,
    finds: ['row_security'],
    role: 'app',
  },
  {
    name: 'row security that is forced on the owner',
    sql: [
      PLAIN,
      ...EVERYTHING,
      'ALTER TABLE t ENABLE ROW LEVEL SECURITY',
      'ALTER TABLE t FORCE ROW LEVEL SECURITY',
      CREATES,
    ],
    policy: IN_PLACE,
    finds: ['row_security'],
    role: 'app',
  },
  {
    name: 'short timeouts of the user',
    sql: [
      PLAIN,
      `DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET statement_timeout = 40'', current_database()); EXECUTE format(''ALTER DATABASE %I SET idle_in_transaction_session_timeout = 40'', current_database()); END'`,
    ],
    policy: IN_PLACE,
    finds: [],
  },
  {
    name: 'JSON under a unique index',
    sql: [`CREATE TABLE t(k integer PRIMARY KEY, i jsonb)`, `CREATE UNIQUE INDEX ON t((i->>'a'))`],
    policy: IN_PLACE,
    finds: [],
    target: { ids: [{ column: 'i', path: '$.a', model: INVOICES }] },
  },
];

describe.each(only('postgres'))('the plan for $product', (engine) => {
  const scene = openScene(
    engine,
    pairs([
      [5, 6],
      [6, 5],
      [7, 9],
      [11, 40_000],
      [12, 13],
    ]).map((row) => (row.v3 === 12 ? { ...row, platformId: 'a\0b' } : row)),
  );
  const { sql, look, apply, undo, tableOf } = scene;
  beforeEach(async () => {
    await sql("DO 'BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END'");
  });

  it.each(campaignCases(CASES, 8))(
    'finds what stands in the way: $name',
    async ({ sql: setUp, policy, finds, role, target }) => {
      const [isJson, isWritable] = [setUp[0]?.includes('jsonb'), !/VIEW t|GENERATED/.test(setUp.join())];
      for (const [at, statement] of setUp.entries()) {
        await sql(statement);
        if (
          at === 0 &&
          isWritable &&
          /CREATE TABLE t/.test(statement) &&
          !/PARTITION BY|UNIQUE, i/.test(statement)
        )
          await fill(isJson);
      }
      if (/PARTITION BY/.test(setUp.join()) || /CREATE DOMAIN|CREATE TYPE/.test(setUp[0] ?? ''))
        await fill(false);
      const options = { targets: [tableOf(target)], ...(role === undefined ? {} : { role }) };
      expect(await apply(policy, options)).toEqual(finds);
      if (finds.length > 0) {
        expect(await sql("SELECT count(*) FROM pg_class WHERE relname = 'entry'")).toEqual([['0']]);
        return;
      }
      const column = policy.mode === 'new' ? 'i_v4' : 'i';
      const term = isJson ? "i->>'a'" : column;
      if (await hasRows())
        expect(await sql(`SELECT ${term} FROM t ORDER BY k LIMIT 3`)).toEqual([['6'], ['5'], ['9']]);
      await undo('run-1', options);
      const back = isJson ? "i->>'a'" : 'i';
      if (await hasRows())
        expect(await sql(`SELECT ${back} FROM t ORDER BY k LIMIT 3`)).toEqual([['5'], ['6'], ['7']]);
    },
  );

  it.each(campaignCases(['text', 'varchar(40) UNIQUE', 'char(40)'], 2))('rewrites texts of type %s', (type) =>
    rewritesTexts(scene, type),
  );

  it('refuses a pattern for integers', async () => {
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i integer)');
    const targets = [tableOf({ ids: [{ column: 'i', model: INVOICES, pattern: 'doc:{id}' }] })];
    expect(await apply(IN_PLACE, { targets })).toEqual(['column_type']);
  });

  async function fill(isJson: boolean | undefined): Promise<void> {
    const cell = (id: number) => (isJson ? `'{"a":"${id}"}'` : String(id));
    await sql(`INSERT INTO t(k, i) VALUES (1, ${cell(5)}), (2, ${cell(6)}), (3, ${cell(7)})`);
  }

  async function hasRows(): Promise<boolean> {
    return (await sql('SELECT count(*) FROM t'))[0]?.[0] !== '0';
  }

  it('lists materialized views that keep V3 ids, also behind other views', async () => {
    for (const statement of [
      'CREATE TABLE t(k integer PRIMARY KEY, i bigint, other bigint)',
      'CREATE VIEW v AS SELECT i FROM t',
      'CREATE MATERIALIZED VIEW direct AS SELECT k, i FROM t',
      'CREATE MATERIALIZED VIEW behind AS SELECT i FROM v',
      'CREATE MATERIALIZED VIEW unrelated AS SELECT k, other FROM t',
    ])
      await sql(statement);
    const { warnings } = await look(IN_PLACE);
    expect(warnings.map((one) => one.split(' keeps')[0])).toEqual([
      'materialized_view: public.behind',
      'materialized_view: public.direct',
    ]);
    expect((await look(NEW)).warnings).toEqual([]);
  });
});
