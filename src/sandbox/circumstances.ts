import type { Block } from './blocks.js';
import type { Connection } from './connections.js';
import type { Fate, FateRow } from './fate.js';
import type { World } from './world.js';

export type RowsOf = (fate: Fate) => readonly FateRow[];

/** What becomes of each fate of a block in its company's circumstances. */
export function rowsFor(world: World, connection: Connection, block: Block): RowsOf {
  const absent = world.isAbsent(world.connections.indexOf(connection), block.shape);
  switch (connection.kind) {
    case 'normal':
      return absent ? (fate) => rowsWithoutPlace(fate, 'model_not_in_v4') : (fate) => fate.rows;
    case 'inert':
      return absent ? (fate) => rowsWithoutPlace(fate, 'model_not_in_v4') : rowsWhenInert;
    case 'missing_in_v4':
      return (fate) => rowsWithoutPlace(fate, 'company_not_in_v4');
    case 'missing_in_v3':
      return (fate) => rowsOnlyInV4(fate, 'company_not_in_v3');
    case 'ambiguous':
      return (fate) => [
        ...rowsWithoutPlace(fate, 'company_ambiguous'),
        ...rowsOnlyInV4(fate, 'company_ambiguous'),
      ];
  }
}

/** V3 records whose company or model has no place in V4. */
function rowsWithoutPlace(fate: Fate, reason: string): readonly FateRow[] {
  return fate.v3.map((slot, v3) => ({
    v3,
    v4: null,
    status: slot.deleted ? 'deleted' : 'unmatched',
    reason: slot.key === 'none' ? 'no_platform_id' : reason,
  }));
}

/** V3 records of a connection that V4 lists and holds nothing of. */
function rowsWhenInert(fate: Fate): readonly FateRow[] {
  return fate.v3.map((slot, v3) => {
    const replaced = fate.v3.some((other) => !other.deleted && other.key === slot.key);
    const deletion = replaced ? 'superseded_in_v3' : 'deleted_not_in_v4';
    const reason = slot.deleted ? deletion : 'connection_inert';
    return {
      v3,
      v4: null,
      status: slot.deleted ? 'deleted' : 'unmatched',
      reason: slot.key === 'none' ? 'no_platform_id' : reason,
    };
  });
}

/** V4 records whose company has no V3 pair. */
function rowsOnlyInV4(fate: Fate, reason: string): readonly FateRow[] {
  return fate.v4.map((slot, v4) => {
    const keyless = slot.key === 'none';
    const replaced = !keyless && fate.v4.some((other) => !other.deleted && other.key === slot.key);
    if (slot.deleted) {
      return { v3: null, v4, status: 'deleted', reason: replaced ? 'superseded_in_v4' : 'deleted_v4_only' };
    }
    return { v3: null, v4, status: 'v4_only', reason: keyless ? 'no_platform_id' : reason };
  });
}
