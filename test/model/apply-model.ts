/**
 * A model of apply on one column: what each transaction does to the rows, and what an application does between them.
 * The ids of the records swap places, so a V4 id always looks like a V3 id.
 */

export interface ModelRow {
  /** The record that the row means, as its application knows. */
  readonly record: number;
  readonly c: number;
  readonly v3: number | null;
  readonly v4: number | null;
  /** A V4 id that an undo left in a column of V3 ids, and named. */
  readonly isStray: boolean;
}

export interface World {
  readonly rows: readonly ModelRow[];
  readonly state: 'none' | 'writing' | 'written' | 'switching' | 'switched' | 'undoing' | 'dropping';
  readonly hasV4: boolean;
  readonly hasV3: boolean;
  /** Loaded values; null: there is no crosswalk. */
  readonly crosswalk: readonly number[] | null;
}

/** Guards that a test takes away. */
export type Fault = 'write after switch' | 'switch what came since' | 'switch twice' | 'switch back twice';

export type Action =
  /** Commands that are killed after some of their transactions. */
  | { readonly kind: 'write' | 'switch' | 'undo'; readonly steps: number }
  | { readonly kind: 'insert'; readonly record: number }
  | { readonly kind: 'change'; readonly row: number; readonly record: number };

export const STEPS = { write: 4, switch: 2, undo: 5 } as const;

/** Records by number: V3 id, V4 id. */
export type Ids = readonly (readonly [v3: number, v4: number])[];

function idOf(ids: Ids, record: number, generation: 'v3' | 'v4'): number {
  const pair = ids[record];
  if (pair === undefined) throw new Error(`There is no record ${record}.`);
  return generation === 'v3' ? pair[0] : pair[1];
}

function v4Of(ids: Ids, v3: number): number | null {
  return ids.find(([id]) => id === v3)?.[1] ?? null;
}

/** What the column of a world holds, and what its application writes. */
function generationOf({ state }: World): 'v3' | 'v4' {
  return state === 'switched' ? 'v4' : 'v3';
}

/** The world after an action; null if it is refused or impossible. */
export function act(world: World, action: Action, ids: Ids, fault: Fault | null = null): World | null {
  switch (action.kind) {
    case 'write':
      return write(world, action.steps, ids, fault);
    case 'switch':
      return switchColumn(world, action.steps, ids, fault);
    case 'undo':
      return undo(world, action.steps, fault);
    case 'insert': {
      const c = idOf(ids, action.record, generationOf(world));
      return {
        ...world,
        rows: [...world.rows, { record: action.record, c, v3: null, v4: null, isStray: false }],
      };
    }
    case 'change': {
      if (world.rows[action.row] === undefined) return null;
      const c = idOf(ids, action.record, generationOf(world));
      const change = (row: ModelRow) => ({ ...row, record: action.record, c, isStray: false });
      return { ...world, rows: world.rows.map((row, at) => (at === action.row ? change(row) : row)) };
    }
  }
}

function write(world: World, steps: number, ids: Ids, fault: Fault | null): World | null {
  const isRefused = world.state === 'switched' && fault !== 'write after switch';
  // An undo named the strays: nobody writes before they are repaired.
  if (
    isRefused ||
    world.state === 'undoing' ||
    world.state === 'dropping' ||
    world.rows.some(({ isStray }) => isStray)
  )
    return null;
  let now: World = { ...world, state: world.state === 'none' ? 'writing' : world.state };
  if (steps >= 2) {
    const values = new Set([...(now.crosswalk ?? []), ...now.rows.map(({ c }) => c)]);
    now = { ...now, crosswalk: [...values].sort((a, b) => a - b) };
  }
  if (steps >= 3) now = { ...now, hasV4: true };
  if (steps >= 4) {
    const state = now.state === 'switching' ? 'switching' : 'written';
    now = { ...now, state, rows: now.rows.map((row) => ({ ...row, v4: v4Of(ids, row.c) })) };
  }
  return now;
}

function switchColumn(world: World, steps: number, ids: Ids, fault: Fault | null): World | null {
  const { state, rows } = world;
  const canRun =
    state === 'written' || state === 'switching' || (state === 'switched' && fault === 'switch twice');
  if (!canRun) return null;
  const prepared: World = { ...world, state: 'switching', hasV3: true };
  if (steps === 1) return prepared;
  const isRight = rows.every(({ c, v4 }) => v4 === v4Of(ids, c) && world.crosswalk?.includes(c) === true);
  if (!isRight && fault === null) return null;
  const move = (row: ModelRow): ModelRow =>
    row.v4 !== null && (row.v3 === null || fault === 'switch twice') ? { ...row, v3: row.c, c: row.v4 } : row;
  return { ...prepared, state: 'switched', rows: rows.map(move) };
}

function undo(world: World, steps: number, fault: Fault | null): World | null {
  const { state } = world;
  if (state === 'none') return null;
  const isSwitched = state === 'switched' || (state === 'undoing' && fault === 'switch back twice');
  const back = (row: ModelRow): ModelRow => {
    if (row.v3 !== null && row.c === row.v4) return { ...row, c: row.v3, v3: null, isStray: false };
    return state === 'switched' ? { ...row, isStray: true } : row;
  };
  const hasV3 = state === 'switched' || state === 'switching' || state === 'undoing';
  let now: World = {
    ...world,
    state: hasV3 ? 'undoing' : 'dropping',
    rows: isSwitched && world.hasV3 && world.hasV4 ? world.rows.map(back) : world.rows,
  };
  if (steps >= 2) now = { ...now, hasV4: false, rows: now.rows.map((row) => ({ ...row, v4: null })) };
  if (steps >= 3 && hasV3)
    now = { ...now, hasV3: false, rows: now.rows.map((row) => ({ ...row, v3: null })) };
  if (steps >= 4) now = { ...now, crosswalk: null };
  if (steps >= 5) now = { ...now, state: 'none' };
  return now;
}

/** The first row whose cell is not the id of its record. */
export function findWrong(world: World, ids: Ids): ModelRow | undefined {
  const generation = generationOf(world);
  return world.rows.find(({ record, c, isStray }) => !isStray && c !== idOf(ids, record, generation));
}

export interface Path {
  readonly world: World;
  readonly actions: readonly Action[];
}

/** Every world that can be reached with at most `depth` actions and `mostRows` rows, each by a shortest path. */
export function explore(
  start: World,
  ids: Ids,
  {
    depth,
    mostRows,
    fault = null,
  }: { readonly depth: number; readonly mostRows: number; readonly fault?: Fault | null },
): Path[] {
  const seen = new Set([JSON.stringify(start)]);
  const paths: Path[] = [{ world: start, actions: [] }];
  for (const { world, actions } of paths) {
    if (actions.length === depth) continue;
    for (const action of actionsIn(world, ids, mostRows)) {
      const next = act(world, action, ids, fault);
      if (next === null) continue;
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      paths.push({ world: next, actions: [...actions, action] });
    }
  }
  return paths;
}

function actionsIn({ rows }: World, ids: Ids, mostRows: number): Action[] {
  const commands = (['write', 'switch', 'undo'] as const).flatMap((kind) =>
    Array.from({ length: STEPS[kind] }, (_, at): Action => ({ kind, steps: at + 1 })),
  );
  const records = ids.map((_, record) => record);
  const inserts = rows.length < mostRows ? records.map((record): Action => ({ kind: 'insert', record })) : [];
  const changes = rows.flatMap((_, row) =>
    records.map((record): Action => ({ kind: 'change', row, record })),
  );
  return [...commands, ...inserts, ...changes];
}
