import type { StreamRow } from '../../src/store/streams.js';
import {
  type Action,
  initialState,
  movesFrom,
  type State,
  type Subject,
  type Variant,
} from './export-model.js';

export interface Exploration {
  readonly states: number;
  readonly moves: number;
  /** Every different sequence of client actions on a shortest way to a state in which nothing more can happen. */
  readonly behaviours: readonly Behaviour[];
  /** The first promise found broken, with what the client did. */
  readonly violation: { readonly text: string; readonly actions: readonly Action[] } | null;
}

/** What the client did, with the answers it had, and where that ended. */
export interface Behaviour {
  readonly actions: readonly Action[];
  readonly end: State;
}

interface Node {
  readonly state: State;
  readonly parent: Node | null;
  readonly action: Action | null;
}

/** Every state that can be reached, breadth first. */
export function explore(variant: Variant, row: StreamRow, subject: Subject): Exploration {
  let level: Node[] = [{ state: initialState(variant, row), parent: null, action: null }];
  const known = new Set(level.map(({ state }) => keyOf(state)));
  const ends: Node[] = [];
  let moves = 0;
  while (level.length > 0) {
    const next: Node[] = [];
    for (const node of level) {
      const found = movesFrom(node.state, variant, subject);
      if (found.length === 0) ends.push(node);
      for (const { state, action, violation } of found) {
        moves += 1;
        const after = { state, parent: node, action };
        if (violation !== null) {
          return {
            states: known.size,
            moves,
            behaviours: [],
            violation: { text: violation, actions: actionsOf(after) },
          };
        }
        const key = keyOf(state);
        if (known.has(key)) continue;
        known.add(key);
        next.push(after);
      }
    }
    level = next;
  }
  return { states: known.size, moves, behaviours: distinct(ends), violation: null };
}

/** Ends that differ only in what the service did unseen are one behaviour. */
function distinct(ends: readonly Node[]): Behaviour[] {
  const found = new Map<string, Behaviour>();
  for (const node of ends) {
    const actions = actionsOf(node);
    const seen = JSON.stringify(actions, (name, value) => (name === 'snapshot' ? undefined : value));
    found.set(seen, { actions, end: node.state });
  }
  return [...found.values()];
}

function actionsOf(node: Node): Action[] {
  const actions: Action[] = [];
  for (let at: Node | null = node; at !== null; at = at.parent)
    if (at.action !== null) actions.push(at.action);
  return actions.reverse();
}

/** What tells states apart: times that decide nothing are left out. */
function keyOf({ row, stored, cursors, ...rest }: State): string {
  const {
    startedAt: _started,
    finishedAt: _finished,
    readAt: _read,
    walkStartedAt: _walk,
    id: _id,
    ...decisive
  } = row;
  return JSON.stringify([rest, decisive, [...stored], [...cursors]], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
