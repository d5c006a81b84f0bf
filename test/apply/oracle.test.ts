import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRight } from '../../src/apply/plan-and-check.js';
import type { IdColumn } from '../../src/config/apply-targets.js';
import { must } from '../../src/text/at.js';
import { campaignSize } from '../support/campaign.js';
import { committingDdl } from './support/dying.js';
import {
  type CommandOptions,
  commandsOn,
  dumpOf,
  type FakeMap,
  id,
  makeFile,
  openScene,
  type Shop,
  sqliteShop,
} from './support/scene.js';
import { PRODUCTS } from './support/server-programs.js';
import { serverShop, testServer } from './support/servers.js';

/** One table of a kind: how it is made, where its ids are, and what a row holds. */
interface Shape {
  readonly columns: string;
  /** On a server, where that differs; null: SQLite only. */
  readonly serverColumns?: string | null;
  readonly ids: readonly IdColumn[];
  readonly isUnique?: true;
  /** The cell that holds an id; `other`: an id beside it. */
  readonly cellOf?: (id: number, other: number) => number | string;
  readonly second?: true;
  readonly isScoped?: true;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  plain: { columns: 'k integer primary key, item integer, note text', ids: [id()] },
  untyped: { columns: 'k integer primary key, item, note text', serverColumns: null, ids: [id()] },
  unique: { columns: 'k integer primary key, item integer unique, note text', ids: [id()], isUnique: true },
  'own key': { columns: 'k integer, item integer primary key, note text', ids: [id()], isUnique: true },
  'half key': {
    columns: 'k integer, item integer not null, note text, primary key (note, item)) without rowid --',
    serverColumns: 'k integer, item integer not null, note varchar(9), primary key (note, item)',
    ids: [id()],
    isUnique: true,
  },
  pair: {
    columns: 'k integer primary key, item integer, note text, other integer, unique (item, other)',
    ids: [id(), id({ column: 'other' })],
    second: true,
    isUnique: true,
  },
  text: { columns: 'k integer primary key, item text, note text', ids: [id()], cellOf: String },
  json: {
    columns: 'k integer primary key, item json, note text',
    ids: [id({ path: '$.ref.ids[*]' })],
    cellOf: (a, b) => `{"ref": {"ids": [${a}, "${b}"], "n": 1.50}, "id": ${a}}`,
  },
  scoped: {
    columns: 'k integer primary key, item integer, note text, kind text, region text',
    ids: [id({ modelColumn: 'kind', models: { a: 't/a', b: 't/b', x: null }, regionColumn: 'region' })],
    isScoped: true,
  },
};

/** Swaps, cycles, chains, permutations and shifts over small integers that overlap; some ids have no V4 id. */
const mapping = fc
  .uniqueArray(fc.integer({ min: 1, max: 14 }), { minLength: 2, maxLength: 12 })
  .chain((ids) =>
    fc.record({
      ids: fc.constant(ids),
      to: fc.oneof(
        fc.constant([...ids.slice(1), ids[0] ?? 0]),
        fc.constant(ids.map((each) => each + 1)),
        fc.shuffledSubarray(ids, { minLength: ids.length, maxLength: ids.length }),
        fc.constant(ids.map((each) => each + 100)),
      ),
    }),
  )
  .map(({ ids, to }) => new Map(ids.map((each, at) => [each, to[at] ?? each])));

const scope = fc.record({ kind: fc.constantFrom('a', 'b', 'x'), region: fc.constantFrom('eu', 'us') });
const table = fc.record({
  maps: fc.tuple(mapping, mapping, mapping, mapping),
  rows: fc.array(fc.tuple(fc.nat(), fc.nat(), scope, fc.boolean()), { maxLength: 30 }),
});
type Table = typeof table extends fc.Arbitrary<infer T> ? T : never;

interface Row {
  readonly before: readonly (number | string | null)[];
  /** The new cells, null where the id is of something else. */
  readonly after: readonly (number | string | null)[];
}

function rowsIn(
  { columns: _, isUnique, cellOf = (a) => a, second, isScoped }: Shape,
  { maps, rows }: Table,
): Row[] {
  const seen = new Set<number>();
  return rows.flatMap(([a, b, { kind, region }, isNull]): Row[] => {
    const at = isScoped ? (kind === 'b' ? 2 : 0) + (region === 'us' ? 1 : 0) : 0;
    const map = maps[at] ?? maps[0];
    const keys = [...map.keys()];
    const one = keys[a % keys.length] ?? 1;
    const two = keys[b % keys.length] ?? 1;
    const to = (value: number) => map.get(value) ?? value;
    if (isUnique && seen.has(one)) return [];
    seen.add(one);
    const isEmpty = isNull && !isUnique;
    const cell = isEmpty ? null : cellOf(one, two);
    const mapped = isEmpty ? null : jsonOf(cellOf, one, two, to);
    if (second) return [{ before: [cell, 'n', two], after: [mapped, to(two)] }];
    if (isScoped) return [{ before: [cell, 'n', kind, region], after: [kind === 'x' ? null : mapped] }];
    return [{ before: [cell, 'n'], after: [mapped] }];
  });
}

/** Ids outside of the configured path stay. */
function jsonOf(cellOf: NonNullable<Shape['cellOf']>, a: number, b: number, to: (id: number) => number) {
  const cell = cellOf(to(a), to(b));
  return typeof cell === 'string' ? cell.replace(/"id": \d+/, `"id": ${a}`) : cell;
}

function fakeMapOf({ isScoped }: Shape, { maps }: Table): FakeMap {
  if (!isScoped) return Object.fromEntries(maps[0]);
  const names = ['t/a eu', 't/a us', 't/b eu', 't/b us'];
  return Object.fromEntries(
    maps.flatMap((map, at) => [...map].map(([v3, v4]) => [`${names[at]} ${v3}`, v4])),
  );
}

const literal = (value: number | string | null) =>
  value === null ? 'null' : typeof value === 'number' ? String(value) : `'${value}'`;

/** JSON as its values: servers write it in their own way. */
function comparable(value: number | string | null): unknown {
  if (value === null) return null;
  const text = String(value);
  return text.startsWith('{') ? JSON.parse(text) : text;
}

/** Writes, switches and takes back one random table, and compares all cells. */
async function assertAgrees(
  shape: Shape,
  drawn: Table,
  shop: Shop,
  wrap: CommandOptions['wrap'],
): Promise<void> {
  const rows = rowsIn(shape, drawn);
  const columns = shop.kind === 'sqlite' ? shape.columns : (shape.serverColumns ?? shape.columns);
  await shop.run(`create table o(${columns}\n)`.replace('--\n)', ''));
  const values = rows.map(({ before }, at) => `(${[at + 1, ...before].map(literal).join(', ')})`);
  if (values.length > 0) await shop.run(`insert into o values ${values.join(', ')}`);
  const commands = commandsOn(shop.open, {
    ids: shape.ids,
    map: fakeMapOf(shape, drawn),
    ...(wrap === undefined ? {} : { wrap }),
  });
  const start = await shop.dump();
  const names = shape.second ? ['item', 'other'] : ['item'];
  const read = async (suffix: string) => {
    const cells = await shop.run(
      `select ${names.map((name) => `${name}${suffix}`).join(', ')} from o order by k`,
    );
    return cells.map((row) => row.map(comparable));
  };
  for (let times = 0; times < 3; times += 1) {
    await commands.write();
    expect(await read('_v4')).toEqual(rows.map(({ after }) => after.map(comparable)));
  }
  expect((await commands.check()).every(isRight)).toBe(true);
  await commands.switch();
  const switched = rows.map(({ before, after }) =>
    after.map((value, at) => comparable(value ?? before[at === 0 ? 0 : 2] ?? null)),
  );
  expect(await read('')).toEqual(switched);
  expect((await commands.check()).every(isRight)).toBe(true);
  expect((await commands.undo()).every(({ changedSinceCount }) => changedSinceCount === 0)).toBe(true);
  expect(await shop.dump()).toBe(start);
}

describe('the oracle', () => {
  it.each(Object.entries(SHAPES))('agrees with write, switch and undo: %s', async (name, shape) => {
    const numRuns = campaignSize({ small: 4, full: 60, soak: 600 });
    const property = fc.asyncProperty(table, fc.boolean(), async (drawn, commits) => {
      await assertAgrees(shape, drawn, sqliteShop(makeFile('')), commits ? committingDdl : undefined);
    });
    await fc.assert(property, { numRuns, seed: 51 + name.length });
  });

  const onServers = Object.entries(SHAPES).filter(([, { serverColumns }]) => serverColumns !== null);
  const numRuns = campaignSize({ small: 0, full: 4, soak: 80 });

  describe.each(PRODUCTS)('on %s', (product) => {
    const server = campaignSize({ small: null, full: testServer(product) });
    it.skipIf(server === null).each(onServers)('agrees: %s', async (name, shape) => {
      const property = fc.asyncProperty(table, async (drawn) => {
        const found = must(server, 'server');
        await assertAgrees(shape, drawn, serverShop(found, await found.createDatabase()), undefined);
      });
      await fc.assert(property, { numRuns, seed: 51 + name.length });
    });
  });

  it('refuses to switch texts under a unique key, and changes nothing', async () => {
    const scene = openScene({
      sql: "create table o(id integer primary key, item text unique); insert into o values (1, '20'), (2, '30'), (3, '40')",
    });
    await scene.write();
    const before = dumpOf(scene.file);
    await expect(scene.switch()).rejects.toMatchObject({ code: 'bad_input' });
    expect(dumpOf(scene.file)).toBe(before);
  });
});
