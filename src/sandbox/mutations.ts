import { Draw, hashOf } from './random.js';
import { ORDINARY_FATE } from './record-fates.js';
import { recordAt } from './records.js';
import type { Table } from './tables.js';
import type { World } from './world.js';

const MOST_CHANGES = 40;
const TRIES = 8;

/**
 * Changes V3 while it is being read: each call lets a record of the table arrive, change or go, at the time
 * `now`, until about a quarter of the table was touched. Only ordinary pairs are touched, so that the truth of
 * all others stands.
 */
export function createMutator(world: World): (table: Table, now: number) => void {
  const draws = new Map<Table, Draw>();
  return (table, now) => {
    const draw = draws.get(table) ?? new Draw(hashOf(world.seed, 'mutate', table.hash));
    draws.set(table, draw);
    if (draw.chance(0.3) && arrive(table, now)) return;
    if (table.changes.size >= Math.min(MOST_CHANGES, table.present / 4)) return;
    const position = findOrdinary(world, table, draw);
    if (position !== null) table.changes.set(position, { updatedMs: now, deleted: draw.chance(0.4) });
  };
}

/** Arrivals are numbered behind all others, in the order of their creation. */
function arrive(table: Table, now: number): boolean {
  let position = table.present;
  while (table.changes.has(position)) position++;
  if (position >= table.memberOf.length) return false;
  table.changes.set(position, { createdMs: now, updatedMs: now, deleted: false });
  return true;
}

function findOrdinary(world: World, table: Table, draw: Draw): number | null {
  for (let attempt = 0; attempt < TRIES && table.present > 0; attempt++) {
    const position = draw.below(table.present);
    const { member, group } = recordAt(world, table, position);
    const { block, company } = member;
    const isPaired = world.connections[company.connection]?.kind === 'normal' && block.v4.count > 0;
    if (isPaired && block.fates[group] === ORDINARY_FATE && !table.changes.has(position)) return position;
  }
  return null;
}
