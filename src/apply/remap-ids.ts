import { type ModelRef, parseModelRef } from '../config/apply-targets.js';
import { isAccepted, type Limits } from '../limits.js';
import type { Status } from '../reasons.js';
import { readRemapRun } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { at, must } from '../text/at.js';

/** What becomes of a value: its V4 id, or why there is none (`status/reason`, or `unknown/…`). */
export type Judgement =
  | { readonly v4: bigint; readonly reason: null }
  | {
      readonly v4: null;
      readonly reason: string;
      /** Whether the limits of the gate accept that it has none. */
      readonly isAccepted: boolean;
    };

export interface RemapIds {
  readonly sha256: string;
  readonly builtAt: string;
  /** As the configuration names them: `accounting/invoices#line_items`. */
  readonly models: readonly string[];
  readonly regions: readonly string[];
  /** `region`: null if it is not known; ids that differ between regions are then ambiguous. */
  judge(model: string, region: string | null, id: bigint): Judgement;
}

interface IdRow {
  readonly region: string | null;
  readonly v4: bigint | null;
  readonly reason: string;
  readonly isAccepted: boolean;
}

type Group = Omit<IdRow, 'v4'>;

interface GroupedRow {
  readonly group: Group;
  readonly v4: bigint | null;
}

/** Ids of a model that are looked up one by one before all of them are loaded. */
const SINGLE_LOOKUPS = 2_000;

/** The remap of a database, whose digest was verified. */
export function openRemapIds(db: Db, limits: Limits): RemapIds {
  const { sha256, builtAt } = must(readRemapRun(db), 'remap');
  const opened = new Map<string, ModelIds>();
  const idsOf = (model: string): ModelIds => {
    const before = opened.get(model);
    if (before !== undefined) return before;
    const ids = new ModelIds(db, parseModelRef(model), limits);
    opened.set(model, ids);
    return ids;
  };
  return {
    sha256,
    builtAt,
    models: db
      .prepare<[], string>(
        `select distinct model || iif(path = '', '', '#' || path) from remap_group where v3_count > 0 order by model, path`,
      )
      .pluck()
      .all(),
    regions: db
      .prepare<[], string>('select distinct region from remap_group where v3_count > 0 order by 1')
      .pluck()
      .all(),
    judge: (model, region, id) => {
      const ids = idsOf(model);
      const rows = ids.find(id);
      const [first] = rows;
      const isPlain =
        rows.length === 1 && first !== undefined && (region === null || first.group.region === region);
      if (isPlain && first.v4 !== null) return { v4: first.v4, reason: null };
      const described = rows.map(({ group, v4 }) => ({ ...group, v4 }));
      return decide(described, region, () => ids.isV4(id));
    },
  };
}

/** Decides by all remap rows of a V3 id. Pure, but for `isV4`. */
function decide(rows: readonly IdRow[], region: string | null, isV4: () => boolean): Judgement {
  const unknown = (why: string): Judgement => ({ v4: null, reason: `unknown/${why}`, isAccepted: false });
  if (rows.length === 0) return unknown(isV4() ? 'known_as_v4_only' : 'not_in_remap');
  const named = region === null ? rows : rows.filter((row) => row.region === region);
  const [first] = named;
  if (first === undefined) return unknown('other_scope');
  const isAlike = named.every(
    ({ v4, reason }) => v4 === first.v4 && (v4 !== null || reason === first.reason),
  );
  if (!isAlike) return unknown('several_scopes');
  if (first.v4 !== null) return { v4: first.v4, reason: null };
  return { v4: null, reason: first.reason, isAccepted: named.every((row) => row.isAccepted) };
}

/** The V3 ids of a model: looked up one by one, or, if many are wanted, by binary search in sorted arrays. */
class ModelIds {
  readonly #groups: ReadonlyMap<number, Group>;
  readonly #db: Db;
  readonly #ref: ModelRef;
  readonly #rowsOf;
  readonly #v4Of;
  readonly #isExact: boolean;
  #lookups = 0;
  #loaded: LoadedIds | null = null;

  constructor(db: Db, ref: ModelRef, limits: Limits) {
    this.#db = db;
    this.#ref = ref;
    this.#groups = readGroups(db, ref, limits);
    this.#isExact = hasSafeIds(db);
    const select = (column: string) =>
      `select r.group_id, r.v4_svc_id from remap_row as r cross join remap_group as g on g.id = r.group_id
       where r.${column} = ? and g.model = ? and g.path = ?`;
    const prepare = (sql: string) =>
      db.prepare<[bigint, string, string], [bigint, bigint | null]>(sql).raw().safeIntegers();
    this.#rowsOf = prepare(select('v3_svc_id'));
    this.#v4Of = prepare(select('v4_svc_id'));
  }

  find(id: bigint): GroupedRow[] {
    this.#lookups += 1;
    if (this.#lookups > SINGLE_LOOKUPS && this.#isExact) {
      this.#loaded ??= loadIds(this.#db, this.#ref);
      return this.#search(this.#loaded, Number(id));
    }
    const rows = this.#rowsOf.all(id, this.#ref.model, this.#ref.path);
    return rows.map(([group, v4]) => this.#describe(Number(group), v4));
  }

  isV4(id: bigint): boolean {
    return this.#v4Of.get(id, this.#ref.model, this.#ref.path) !== undefined;
  }

  #search({ v3, v4, group }: LoadedIds, id: number): GroupedRow[] {
    if (!Number.isSafeInteger(id)) return [];
    let low = 0;
    let high = v3.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at(v3, middle) < id) low = middle + 1;
      else high = middle;
    }
    const rows: GroupedRow[] = [];
    for (let slot = low; v3[slot] === id; slot += 1) {
      const target = at(v4, slot);
      rows.push(this.#describe(at(group, slot), Number.isNaN(target) ? null : BigInt(target)));
    }
    return rows;
  }

  #describe(group: number, v4: bigint | null): GroupedRow {
    return { group: must(this.#groups.get(group), 'group of the remap'), v4 };
  }
}

function readGroups(db: Db, { model, path }: ModelRef, limits: Limits): Map<number, Group> {
  interface Row {
    readonly id: bigint;
    readonly region: string | null;
    readonly status: Status;
    readonly reason: string | null;
  }
  const rows = db
    .prepare<[string, string], Row>(
      'select id, region, status, reason from remap_group where model = ? and path = ? and v3_count > 0',
    )
    .all(model, path);
  return new Map(
    rows.map(({ id, region, status, reason }) => [
      Number(id),
      {
        region,
        reason: `${status}/${reason ?? ''}`,
        isAccepted: isAccepted(limits, { model, status, reason }),
      },
    ]),
  );
}

/** Sorted by V3 id; a missing V4 id is NaN. */
interface LoadedIds {
  readonly v3: Float64Array;
  readonly v4: Float64Array;
  readonly group: Uint32Array;
}

function hasSafeIds(db: Db): boolean {
  const sql = `select (select min(v3_svc_id) from remap_row), (select max(v3_svc_id) from remap_row),
    (select min(v4_svc_id) from remap_row), (select max(v4_svc_id) from remap_row)`;
  const ids = db.prepare<[], (bigint | null)[]>(sql).raw().safeIntegers().get() ?? [];
  return ids.every((id) => id === null || Number.isSafeInteger(Number(id)));
}

function loadIds(db: Db, { model, path }: ModelRef): LoadedIds {
  const count = db
    .prepare<[string, string], bigint>(
      'select coalesce(sum(v3_count), 0) from remap_group where model = ? and path = ?',
    )
    .pluck()
    .get(model, path);
  const size = Number(must(count));
  const ids = { v3: new Float64Array(size), v4: new Float64Array(size), group: new Uint32Array(size) };
  const rows = db
    .prepare<[string, string], [number, number | null, number]>(
      `select r.v3_svc_id, r.v4_svc_id, r.group_id from remap_row as r cross join remap_group as g on g.id = r.group_id
       where r.v3_svc_id is not null and g.model = ? and g.path = ? order by r.v3_svc_id`,
    )
    .raw()
    .safeIntegers(false)
    .iterate(model, path);
  let slot = 0;
  for (const [v3, v4, group] of rows) {
    ids.v3[slot] = v3;
    ids.v4[slot] = v4 ?? Number.NaN;
    ids.group[slot] = group;
    slot += 1;
  }
  return ids;
}
