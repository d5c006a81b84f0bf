import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { IN_PLACE, type RemapRow } from '../support/remap.js';
import { openScene } from '../support/scene.js';

const KEEP = { ...IN_PLACE, unknown: 'keep' } as const;
const [MIN, MAX] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Sets of V3 ids whose V4 ids are the same numbers in another order: swaps and cycles. */
const LARGE_IDS: Readonly<Record<string, readonly bigint[]>> = {
  'around 2^53': [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n],
  'from 10^15': [10n ** 15n, 10n ** 15n + 1n, 10n ** 15n + 2n],
  'that swap at 10^18': [10n ** 18n, 10n ** 18n + 1n],
  'up to 2^63 - 1': [MAX - 2n, MAX - 1n, MAX],
  small: [5n, 6n],
  'small and large': [1n, MAX - 7n, 10n ** 17n],
};

/** The next of its set, the first after the last. */
function nextOf(id: bigint): bigint {
  const own = Object.values(LARGE_IDS).find((ids) => ids.includes(id)) ?? [];
  return own[(own.indexOf(id) + 1) % own.length] ?? id;
}

const LARGE_REMAP: readonly RemapRow[] = Object.values(LARGE_IDS)
  .flat()
  .map((id) => ({ v3: id, v4: nextOf(id) }));

/** Values beside the ids that are none of them: the column is theirs too. */
const BESIDE: Readonly<Record<string, readonly bigint[]>> = {
  'nothing else': [],
  'negative numbers': [-1n, -(10n ** 15n), -(2n ** 53n) - 1n],
  'the smallest number': [-(2n ** 63n)],
};

/** Definitions of a table whose ids `i` must stay unique. */
const TABLES: Readonly<Record<Kind, readonly string[]>> = {
  sqlite: [
    'k INTEGER PRIMARY KEY, i INTEGER UNIQUE',
    'i INTEGER PRIMARY KEY, k',
    'k INTEGER PRIMARY KEY, i TEXT UNIQUE',
    'grp DEFAULT 1, i, k, PRIMARY KEY (grp, i)',
  ],
  postgres: [
    'k integer PRIMARY KEY, i bigint UNIQUE',
    'i bigint PRIMARY KEY, k integer',
    'k integer PRIMARY KEY, i numeric(20) UNIQUE',
    'k integer PRIMARY KEY, i numeric UNIQUE',
    'k integer PRIMARY KEY, i text UNIQUE',
    'i varchar(20) PRIMARY KEY, k integer',
    'grp integer NOT NULL DEFAULT 1, i bigint, k integer, PRIMARY KEY (grp, i)',
  ],
  mysql: [
    'k int PRIMARY KEY, i bigint UNIQUE',
    'k int PRIMARY KEY, i bigint unsigned UNIQUE',
    'i bigint PRIMARY KEY, k int',
    'k int PRIMARY KEY, i decimal(20) UNIQUE',
    'i varchar(20) PRIMARY KEY, k int',
    'grp int NOT NULL DEFAULT 1, i bigint, k int, PRIMARY KEY (grp, i)',
  ],
};

/** With both ends of the range taken no integer is left over to step aside to. */
function isFull(columns: string, ids: readonly bigint[], highest = MAX): boolean {
  const isBounded = !/TEXT|text|varchar|decimal|numeric\(20/.test(columns);
  return isBounded && ids.includes(MIN) && ids.some((id) => id >= highest);
}

/** Tables without room to step aside. */
const NO_ROOM: readonly (readonly [type: string, ids: readonly bigint[], kinds: readonly Kind[]])[] = [
  ['bigint UNIQUE', [MIN, MAX, MAX - 1n, MAX - 2n], ['sqlite', 'postgres', 'mysql']],
  [
    'numeric(19) UNIQUE',
    [-(10n ** 19n) + 1n, 10n ** 18n, 10n ** 18n + 1n, 10n ** 19n - 1n],
    ['postgres', 'mysql'],
  ],
  ['varchar(4) UNIQUE', [5n, 6n], ['postgres', 'mysql']],
];

const cases = ENGINES.map((engine) => {
  const all = TABLES[engine.kind].flatMap((columns) =>
    Object.entries(BESIDE)
      .filter(([, others]) => !columns.includes('unsigned') || others.length === 0)
      .map(([beside, others]) => ({ columns, beside, others })),
  );
  // A table of a server costs dozens of round trips: all ids stand in one.
  return { engine, all: engine.kind === 'sqlite' ? all : campaignCases(all, 4) };
});

describe.each(cases)('large ids under unique constraints in $engine.product', ({ engine, all }) => {
  const { sql, apply, undo, database } = openScene(engine, LARGE_REMAP);
  const insert = (ids: readonly bigint[]) =>
    sql(`INSERT INTO t(k, i) VALUES ${ids.map((id, at) => `(${at + 1}, ${id})`).join(', ')}`);

  async function itComesBack(columns: string, ids: readonly bigint[], others: readonly bigint[]) {
    await sql(`CREATE TABLE t(${columns})`);
    await insert([...ids, ...others]);
    const before = await database().dump();
    expect(await apply(KEEP)).toEqual([]);
    const after = (await sql('SELECT i FROM t ORDER BY k')).flat();
    expect(after).toEqual([...ids.map(nextOf), ...others].map(String));
    await undo();
    expect(await database().dump()).toBe(before);
  }

  it.each(all)('are rewritten and taken back to the byte: ($columns) beside $beside', ({ columns, others }) =>
    itComesBack(
      columns,
      Object.values(LARGE_IDS)
        .filter((ids) => !isFull(columns, [...ids, ...others], MAX - 100n))
        .flat(),
      others,
    ),
  );

  const alone = engine.kind === 'sqlite' ? all : [];
  const sets = alone.flatMap((one) =>
    Object.entries(LARGE_IDS).map(([name, ids]) => ({ ...one, name, ids })),
  );
  // Not a divisor of the number of sets: each set, each table and each neighbour is among the few.
  it.each(campaignCases(sets, 25))(
    '$name are rewritten alone: ($columns) beside $beside',
    async ({ columns, others, ids }) => {
      if (!isFull(columns, [...ids, ...others])) return itComesBack(columns, ids, others);
      await sql(`CREATE TABLE t(${columns})`);
      await insert([...ids, ...others]);
      expect(await apply(KEEP)).toEqual(['no_room']);
    },
  );

  it.each(NO_ROOM.filter(([, , kinds]) => kinds.includes(engine.kind)))(
    'without room to step aside in %s are refused by the plan',
    async (type, ids) => {
      await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type})`);
      await insert([...ids, ...Array.from({ length: 10 }, (_, at) => BigInt(at + 100))]);
      expect(await apply(KEEP)).toEqual(['no_room']);
    },
  );

  it.runIf(engine.kind === 'postgres')('are not put off by numbers that are no integers', async () => {
    await sql('CREATE TABLE t(k serial PRIMARY KEY, i numeric UNIQUE)');
    const others = ['NaN', 'Infinity', '-Infinity', '1000000000000000001.5', '-0.5'];
    const values = ['1000000000000000000', '1000000000000000001', ...others];
    await sql(`INSERT INTO t(i) VALUES ${values.map((one) => `('${one}')`).join(', ')}`);
    const read = async () => (await sql('SELECT i FROM t ORDER BY k')).flat();
    expect(await apply(KEEP)).toEqual([]);
    expect(await read()).toEqual(['1000000000000000001', '1000000000000000000', ...others]);
    await undo();
    expect(await read()).toEqual(values);
  });
});
