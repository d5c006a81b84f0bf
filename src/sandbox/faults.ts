import { fateAt, ORDINARY_FATE } from './fates.js';
import { Draw, happens, hashOf, mix, mixText } from './seeded-random.js';
import { addRecord, type StoredRecord, type Table, type World } from './world.js';

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
  readonly rate: number;
}

export function parseFault(text: string): FaultSetting | null {
  const [, word, rateText = '0.05'] = /^([\w-]+)(?::([\d.]+))?$/.exec(text) ?? [];
  const name = FAULTS.find((known) => known === word);
  const rate = Number(rateText);
  return name === undefined || !(rate <= 1) ? null : { name, rate };
}

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
  const requests = new Map<string, number>();
  return (address) => {
    const earlier = requests.get(address) ?? 0;
    requests.set(address, earlier + 1);
    const attemptHash = mix(mixText(hashOf(seed, 'fault'), address), earlier);
    return { strikes: (name) => happens(mixText(attemptHash, name), rates.get(name) ?? 0) };
  };
}

/**
 * Makes the function that changes V3 while it is being read. Each call adds, updates or deletes a record of the table at
 * the time `now`, or does nothing; updates and deletions end once the table has 40 changes, or a quarter as many as
 * records. Only ordinary pairs are updated or deleted, so that what is expected of all others stays valid.
 */
export function createMutator(world: World): (table: Table, now: number) => void {
  const draws = new Map<Table, Draw>();
  return (table, now) => {
    const draw = draws.get(table) ?? new Draw(hashOf(world.seed, 'mutate', table.hash));
    draws.set(table, draw);
    const [late] = table.arriving;
    const dates = { createdMs: now, updatedMs: now };
    if (draw.chance(0.3) && late !== undefined) {
      table.arriving.shift();
      late.change = { dates, deleted: false };
      addRecord(late);
    } else if (countChanges(table) < Math.min(40, table.present / 4)) {
      const record = findOrdinary(world, table, draw);
      if (record === null) return;
      record.change = { dates: { ...record.dates, updatedMs: now }, deleted: draw.chance(0.4) };
    }
  };
}

function countChanges({ records }: Table): number {
  return records.reduce((sum, { change }) => (change === null ? sum : sum + 1), 0);
}

function findOrdinary(world: World, { records }: Table, draw: Draw): StoredRecord | null {
  for (let attempt = 0; attempt < 8; attempt++) {
    const record = records[draw.below(records.length)];
    if (record === undefined) return null;
    const { block, company } = record.member;
    const isPaired =
      world.connections[company.connection]?.kind === 'normal' && block.generations.includes('v4');
    if (isPaired && record.fate === fateAt(ORDINARY_FATE) && record.change === null) return record;
  }
  return null;
}
