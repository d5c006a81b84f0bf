import { ORDINARY_FATE } from './fates.js';
import type { Table } from './record-tables.js';
import { createAskCounter, Draw, happens, hashOf, mix, mixText } from './seeded-random.js';
import { recordAt } from './stored-records.js';
import type { World } from './world.js';

/**
 * Faults to inject. `429` (with Retry-After), `500`, `reset`, `truncate` and `hang` affect one attempt; `cursor-expiry`
 * refuses a cursor once; `cursor-loop` returns the cursor of the same page again; `duplicate-pages` sends a page twice;
 * `mutate` changes V3 while it is being read.
 */
export const FAULTS = [
  '429',
  '500',
  'reset',
  'truncate',
  'hang',
  'cursor-expiry',
  'cursor-loop',
  'duplicate-pages',
  'mutate',
] as const;
type FaultName = (typeof FAULTS)[number];

export interface FaultSetting {
  readonly name: FaultName;
  /** Share of the possible requests that it affects. */
  readonly rate: number;
}

const DEFAULT_RATE = 0.05;

/**
 * Reads `NAME` or `NAME:RATE`.
 *
 * @throws TypeError for an unknown name or a rate outside 0 to 1
 */
export function parseFault(text: string): FaultSetting {
  const [word, rateText] = text.split(':', 2);
  const name = FAULTS.find((known) => known === word);
  if (name === undefined) throw new TypeError(`${word} is not a fault.`);
  const rate = rateText === undefined ? DEFAULT_RATE : Number(rateText);
  if (!(rate >= 0 && rate <= 1) || rateText === '') {
    throw new TypeError(`The rate of ${name} is not a number from 0 to 1: ${rateText}`);
  }
  return { name, rate };
}

/** Decides which faults affect one attempt of one request. */
export interface AttemptFaults {
  strikes(name: FaultName): boolean;
}

/**
 * Decides at random from the seed, the address and the number of earlier requests to it, so that a retry may have
 * another result and the order of different requests does not matter.
 */
export function createFaults(
  seed: number,
  settings: readonly FaultSetting[],
): (address: string) => AttemptFaults {
  const rates = new Map(settings.map(({ name, rate }) => [name, rate]));
  const countAsks = createAskCounter();
  return (address) => {
    const hash = mixText(hashOf(seed, 'fault'), address);
    const attemptHash = mix(hash, countAsks(hash));
    return { strikes: (name) => happens(mixText(attemptHash, name), rates.get(name) ?? 0) };
  };
}

const MOST_CHANGES = 40;
const TRIES = 8;

/**
 * Changes V3 while it is being read: each call adds, changes or deletes a record of the table, at the time `now`, until
 * about a quarter of the table was changed. Only ordinary pairs change, so that the truth of all others stays valid.
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

/** Adds a record; its position is after all others. */
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
