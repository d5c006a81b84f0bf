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
  | 'json'
  /** Ids inside longer texts. */
  | 'in_text'
  /** Two ids in each text, which must be unique. */
  | 'unique_in_text'
  /** Ids inside texts inside JSON. */
  | 'json_in_text'
  /** Rows that say of which model, region and company their ids are, and rows of something else. */
  | 'scoped';

export const SHAPES: readonly Shape[] = [
  'plain',
  'indexed',
  'unique',
  'own_key',
  'half_key',
  'pair',
  'text',
  'unique_text',
  'json',
  'in_text',
  'unique_in_text',
  'json_in_text',
  'scoped',
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
  /** Of `scoped`: what each row says of itself. */
  readonly scopes: readonly Scope[];
  /** Of `scoped`: everything the remap holds. */
  readonly allScopes: readonly Scope[];
  /** Whether the target stores the platform_ids of the first id column. */
  readonly storesPlatformIds: boolean;
}

/** What a row says of its id: the same id is another one elsewhere. */
interface Scope {
  /** `a` and `b` stand for models, `x` for none of ours. */
  readonly kind: 'a' | 'b' | 'x';
  readonly region: string;
  readonly company: number;
  readonly map: ReadonlyMap<number, number>;
}

/** Independent mappings in each case, each over ids of its own, but for `scoped`. */
const MAPS_PER_CASE = 10;

function makeMaps(random: (max: number) => number, count: number): Map<number, number> {
  const maps = Array.from({ length: count }, (_, at) => [...makeMap(random, at * 1000)]);
  return new Map(maps.flat());
}

/** A mapping for every model, region and company, all over the same ids. */
function makeScopes(random: (max: number) => number, count: number): Scope[] {
  return Array.from({ length: count }, (_, at) => ({
    kind: at % 2 === 0 ? 'a' : 'b',
    region: at % 4 < 2 ? 'eu' : 'us',
    company: 1 + Math.floor(at / 4),
    map: makeMap(random, 0),
  }));
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
export function makeCase(
  seed: number,
  shape = SHAPES[seed % SHAPES.length] ?? 'plain',
  maps = MAPS_PER_CASE,
): Case {
  const random = seeded(seed * 7919 + 17);
  const name = `t${seed}`;
  const model = `test/m${seed}`;
  const most = 10 * maps;
  if (shape === 'scoped') return makeScopedCase({ name, model, shape }, random, maps);
  const map = makeMaps(random, maps);
  const known = [...map.keys()];
  const isUnique =
    shape === 'unique' ||
    shape === 'own_key' ||
    shape === 'unique_text' ||
    shape === 'unique_in_text' ||
    shape === 'half_key';
  const count = isUnique ? 1 + random(known.length) : random(most);
  const pick = () => known[random(known.length)] ?? 1;
  const base = { name, shape, model, map, storesPlatformIds: false, scopes: [], allScopes: [] };
  if (shape === 'pair') {
    const pairs = pairIds(known, count, random);
    return { ...base, ids: pairs.map(([a]) => a), seconds: pairs.map(([, b]) => b) };
  }
  const ids = isUnique
    ? shuffle(known, random).slice(0, count)
    : Array.from({ length: count }, () => (random(8) === 0 ? null : pick()));
  return { ...base, ids, seconds: [] };
}

/** Lets every second target store platform_ids, if its cells are ids. */
export function storePlatformIds(one: Case, at: number): Case {
  return { ...one, storesPlatformIds: at % 2 === 0 && INSIDE[one.shape] === undefined };
}

function makeScopedCase(
  base: Pick<Case, 'name' | 'model' | 'shape'>,
  random: (max: number) => number,
  maps: number,
): Case {
  const all = makeScopes(random, maps);
  const rows = Array.from({ length: random(10 * maps) }, () => {
    const scope = all[random(all.length)] ?? makeScopes(random, 1)[0];
    if (scope === undefined) throw new Error('no scope');
    const known = [...scope.map.keys()];
    const id = random(8) === 0 ? null : (known[random(known.length)] ?? null);
    // Rows of something else hold ids that look like ours.
    return { id, scope: random(6) === 0 ? { ...scope, kind: 'x' as const, map: new Map() } : scope };
  });
  const ids = rows.map(({ id }) => id);
  return {
    ...base,
    map: new Map(),
    ids,
    seconds: [],
    scopes: rows.map(({ scope }) => scope),
    allScopes: all,
    storesPlatformIds: false,
  };
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
  const { model } = one;
  const scoped = one.allScopes.flatMap((scope) =>
    [...scope.map].map(([v3, v4]) => {
      const { kind, region, company } = scope;
      return { v3, v4, platformId: platformIdOf(v3, scope), model: modelOf(one, kind), region, company };
    }),
  );
  return [...[...one.map].map(([v3, v4]) => ({ v3, v4, platformId: platformIdOf(v3), model })), ...scoped];
}

function platformIdOf(v3: number, scope?: Scope): string {
  return `é'${v3}${scope === undefined ? '' : `-${scope.kind}${scope.region}${scope.company}`}`;
}

/** The platform_id that a row gets, as a list; empty where the target stores none. */
function platformIdsOf(one: Case, at: number): (string | null)[] {
  if (!one.storesPlatformIds) return [];
  const id = one.ids[at] ?? null;
  const scope = one.scopes[at];
  return [id === null || scope?.kind === 'x' ? null : platformIdOf(id, scope)];
}

function modelOf({ model }: Case, kind: Scope['kind']): string {
  return kind === 'b' ? `${model}b` : model;
}

/** The target of a case, for SQLite or PostgreSQL. */
export function targetOf(one: Case, where: object): ApplyTarget {
  const stored = one.storesPlatformIds ? { platformIdColumn: 'platform' } : {};
  const id = { column: 'svc_id', model: one.model, ...stored };
  if (one.shape === 'scoped')
    return target({ ...where, name: one.name, table: one.name, ids: [{ ...scopedId(one), ...stored }] });
  const ids =
    one.shape === 'pair' ? [id, { column: 'other_id', model: one.model }] : [{ ...id, ...INSIDE[one.shape] }];
  return target({ ...where, name: one.name, table: one.name, ids });
}

/** Where the ids stand in a cell. */
const INSIDE: Partial<Record<Shape, object>> = {
  json: { path: '$.ref.ids[*]' },
  in_text: { pattern: ['doc:{id} é', '*/doc/{id}?*'] },
  unique_in_text: { pattern: '{id}:{id}' },
  json_in_text: { path: '$.ref', pattern: 'a/{id}"é' },
};

function scopedId(one: Case): object {
  const models = { a: modelOf(one, 'a'), b: modelOf(one, 'b'), x: null };
  return {
    column: 'svc_id',
    modelColumn: 'kind',
    models,
    regionColumn: 'region',
    companyColumn: 'company',
  };
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
    in_text: 'k integer PRIMARY KEY, svc_id text, note text',
    unique_in_text: 'k integer PRIMARY KEY, svc_id varchar(30) UNIQUE, note text',
    json_in_text: `k integer PRIMARY KEY, svc_id ${types.json}, note text`,
    scoped:
      'k integer PRIMARY KEY, svc_id bigint, kind text NOT NULL, region varchar(9), company bigint, note text',
    json: `k integer PRIMARY KEY, svc_id ${types.json}, note text`,
  }[one.shape];
  const index = one.shape === 'indexed' ? `; CREATE INDEX i_${one.name} ON ${one.name}(svc_id)` : '';
  return `CREATE TABLE ${one.name}(${columns})${index}`;
}

/** The rows as they are put in; with `isMapped` as they must be afterwards, with their platform_ids at the end. */
export function rowsOf(one: Case, isMapped: boolean): Row[] {
  const rows = userRowsOf(one, isMapped);
  return isMapped ? rows.map((row, at) => [...row, ...platformIdsOf(one, at)]) : rows;
}

function userRowsOf(one: Case, isMapped: boolean): Row[] {
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
      case 'in_text': {
        const forms = [`doc:${text(id)} é`, `https://é.test/5/doc/${text(id)}?n=${at}&doc=${at}`];
        return [String(at + 1), id === null ? null : (forms[at % 2] ?? null), note];
      }
      case 'unique_in_text':
        return [String(at + 1), `${text(id)}:${text(one.ids[0])}`, note];
      case 'json_in_text':
        return [
          String(at + 1),
          `{"ref": ${id === null ? 'null' : `"a\\/${text(id)}\\"é"`}, "n": 1.50}`,
          note,
        ];
      case 'scoped':
        return scopedRow(one, at, isMapped);
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

function scopedRow(one: Case, at: number, isMapped: boolean): Row {
  const id = one.ids[at] ?? null;
  const scope = one.scopes[at];
  const now = id !== null && isMapped ? (scope?.map.get(id) ?? id) : id;
  const text = now === null ? null : String(now);
  const { kind, region, company } = scope ?? { kind: 'x', region: '', company: 0 };
  return [String(at + 1), text, kind, region, String(company), `note ${at} 'quoted'`];
}

/** The rows with the new columns of their ids at the end, as they must be when those were filled. */
export function rowsBeside(one: Case): Row[] {
  const places = one.shape === 'pair' ? [1, 2] : [one.shape === 'own_key' ? 0 : 1];
  const mapped = rowsOf(one, true);
  return rowsOf(one, false).map((row, at) => {
    const isOurs = one.scopes[at]?.kind !== 'x';
    const [first = null, ...others] = places.map((place) => (isOurs ? (mapped[at]?.[place] ?? null) : null));
    return [...row, first, ...platformIdsOf(one, at), ...others];
  });
}
