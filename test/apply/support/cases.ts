import type { ApplyTarget } from '../../../src/config/apply-targets.js';
import { type RemapRow, seeded, shuffle, target } from './remap.js';

/** How a table of a case is made: what its ids are under, and how its rows are told apart. */
export type Shape =
  /** Ids under no constraint; rows by an integer key. */
  | 'plain'
  /** The same with an index that is not unique. */
  | 'indexed'
  /** Ids must be unique. */
  | 'unique'
  /** Ids are the primary key themselves. */
  | 'own_key'
  /** Ids are half of the primary key. */
  | 'half_key'
  /** Two id columns of one model, unique together. */
  | 'pair'
  /** Text ids, rows by a text key. */
  | 'text'
  /** Text ids that must be unique. */
  | 'unique_text'
  /** Ids inside JSON. */
  | 'json';

const SHAPES: readonly Shape[] = [
  'plain',
  'indexed',
  'unique',
  'own_key',
  'half_key',
  'pair',
  'text',
  'unique_text',
  'json',
];

/** A row as a test sees it: everything as text, null for NULL. */
export type Row = readonly (string | null)[];

/** One table with a mapping of its own. */
export interface Case {
  readonly name: string;
  readonly shape: Shape;
  readonly model: string;
  readonly map: ReadonlyMap<number, number>;
  /** Ids of the rows, in order; null is NULL. */
  readonly ids: readonly (number | null)[];
  /** The second id of `pair`. */
  readonly seconds: readonly number[];
}

/** Independent mappings in each case, each over ids of its own. */
export const MAPS_PER_CASE = 10;

function makeMaps(random: (max: number) => number): Map<number, number> {
  const maps = Array.from({ length: MAPS_PER_CASE }, (_, at) => [...makeMap(random, at * 1000)]);
  return new Map(maps.flat());
}

/** A random mapping over small integers that overlap: swaps, cycles, chains, permutations, shifts, mixtures. */
function makeMap(random: (max: number) => number, base: number): Map<number, number> {
  const size = 2 + random(12);
  const ids = Array.from({ length: size }, (_, at) => base + at + 1);
  switch (random(6)) {
    case 0:
      return new Map(ids.map((id, at) => [id, ids[at ^ 1] ?? id]));
    case 1:
      return new Map(ids.map((id, at) => [id, ids[(at + 1) % size] ?? id]));
    case 2:
      return new Map(ids.map((id) => [id, id + 1]));
    case 3:
      return new Map(ids.map((id) => [id, id - 1]));
    case 4: {
      const mixed = shuffle(ids, random);
      return new Map(ids.map((id, at) => [id, mixed[at] ?? id]));
    }
    default: {
      const mixed = shuffle(
        ids.map((id) => (random(3) === 0 ? id + 100 : id)),
        random,
      );
      return new Map(ids.map((id, at) => [id, mixed[at] ?? id]));
    }
  }
}

/** A case from its seed. */
export function makeCase(seed: number, shape = SHAPES[seed % SHAPES.length] ?? 'plain'): Case {
  const random = seeded(seed * 7919 + 17);
  const map = makeMaps(random);
  const known = [...map.keys()];
  const isUnique =
    shape === 'unique' || shape === 'own_key' || shape === 'unique_text' || shape === 'half_key';
  const count = isUnique ? 1 + random(known.length) : random(100);
  const pick = () => known[random(known.length)] ?? 1;
  const base = { name: `t${seed}`, shape, model: `test/m${seed}`, map };
  if (shape === 'pair') {
    const pairs = pairIds(known, count, random);
    return { ...base, ids: pairs.map(([a]) => a), seconds: pairs.map(([, b]) => b) };
  }
  const ids = isUnique
    ? shuffle(known, random).slice(0, count)
    : Array.from({ length: count }, () => (random(8) === 0 ? null : pick()));
  return { ...base, ids, seconds: [] };
}

function pairIds(
  known: readonly number[],
  count: number,
  random: (max: number) => number,
): [number, number][] {
  const seen = new Set<string>();
  const found: [number, number][] = [];
  for (let at = 0; at < count; at += 1) {
    const a = known[random(known.length)] ?? 1;
    const b = known[random(known.length)] ?? 1;
    if (seen.has(`${a} ${b}`)) continue;
    seen.add(`${a} ${b}`);
    found.push([a, b]);
  }
  return found;
}

export function remapRowsOf(one: Case): RemapRow[] {
  return [...one.map].map(([v3, v4]) => ({ v3, v4, model: one.model }));
}

/** The target of a case, for SQLite or PostgreSQL. */
export function targetOf(one: Case, where: object): ApplyTarget {
  const id = { column: 'svc_id', model: one.model };
  const ids =
    one.shape === 'pair'
      ? [id, { column: 'other_id', model: one.model }]
      : [one.shape === 'json' ? { ...id, path: '$.ref.ids[*]' } : id];
  return target({ ...where, name: one.name, table: one.name, ids });
}

/** The SQL that makes a case's table, in a form both databases take. */
export function createSql(one: Case, types: { readonly json: string }): string {
  const columns = {
    plain: 'k integer PRIMARY KEY, svc_id bigint, note text',
    indexed: 'k integer PRIMARY KEY, svc_id bigint, note text',
    unique: 'k integer PRIMARY KEY, svc_id bigint UNIQUE, note text',
    own_key: 'svc_id bigint PRIMARY KEY, note text',
    half_key: 'grp integer NOT NULL, svc_id bigint NOT NULL, note text, PRIMARY KEY (grp, svc_id)',
    pair: 'k integer PRIMARY KEY, svc_id bigint NOT NULL, other_id bigint NOT NULL, note text, UNIQUE (svc_id, other_id)',
    text: 'k varchar(40) PRIMARY KEY NOT NULL, svc_id text, note text',
    unique_text: 'k varchar(40) PRIMARY KEY NOT NULL, svc_id varchar(30) UNIQUE, note text',
    json: `k integer PRIMARY KEY, svc_id ${types.json}, note text`,
  }[one.shape];
  const index = one.shape === 'indexed' ? `; CREATE INDEX i_${one.name} ON ${one.name}(svc_id)` : '';
  return `CREATE TABLE ${one.name}(${columns})${index}`;
}

/** The rows as they are put in; with `isMapped` as they must be afterwards. */
export function rowsOf(one: Case, isMapped: boolean): Row[] {
  const to = (id: number | null | undefined) =>
    id === null || id === undefined ? null : isMapped ? (one.map.get(id) ?? id) : id;
  const text = (id: number | null | undefined) => (to(id) === null ? null : String(to(id)));
  return one.ids.map((id, at) => {
    const note = `note ${at} 'quoted'`;
    switch (one.shape) {
      case 'own_key':
        return [text(id), note];
      case 'half_key':
        return ['1', text(id), note];
      case 'pair':
        return [String(at + 1), text(id), text(one.seconds[at]), note];
      case 'text':
      case 'unique_text':
        return [`key ${at} é`, text(id), note];
      case 'json':
        return [
          String(at + 1),
          `{"ref": {"ids": [${text(id) ?? 'null'}, "${text(one.ids[0]) ?? ''}"], "n": 1.50}, "id": 1}`,
          note,
        ];
      default:
        return [String(at + 1), text(id), note];
    }
  });
}
