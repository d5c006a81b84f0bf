import { fateAt, ORDINARY_FATE } from './fates.js';
import { badParameter } from './list-query.js';
import { createRequestCounter, Draw, happens, hashOf, mix, mixText } from './seeded-random.js';
import { addRecord, type StoredRecord, type Table } from './tables.js';
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
  readonly rate: number;
}

export function parseFault(text: string): FaultSetting {
  const [word, rateText] = text.split(':', 2);
  const name = FAULTS.find((known) => known === word);
  if (name === undefined) throw new TypeError(`${word} is not a fault.`);
  const rate = rateText === undefined ? 0.05 : Number(rateText);
  if (!(rate >= 0 && rate <= 1) || rateText === '') {
    throw new TypeError(`The rate of ${name} is not a number from 0 to 1: ${rateText}`);
  }
  return { name, rate };
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
  const countRequests = createRequestCounter();
  return (address) => {
    const hash = mixText(hashOf(seed, 'fault'), address);
    const attemptHash = mix(hash, countRequests(hash));
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

/** What V4 may ignore or refuse: parameters by name, filters by operator. */
const WORDS = ['include_deleted_records', 'select', 'sort', 'expand', 'eq', 'gte'];

export const NO_QUIRKS = {
  ignore: [] as readonly string[],
  refuse: [] as readonly string[],
  pageCap: null as number | null,
  pageLimit: null as number | null,
  clockSkew: 0,
  absentV3: [] as readonly string[],
  malformed: 0,
  gzip: false,
  totalCount: null as number | null,
  /** V4 answers an unknown model with an empty list instead of 404. */
  anyModel: false,
};
export type Quirks = Readonly<typeof NO_QUIRKS>;

const BY_NAME: Readonly<
  Record<
    string,
    { readonly takes: string; readonly read: (value: string, before: Quirks) => Partial<Quirks> }
  >
> = {
  ignore: { takes: '=PARAMETER', read: (value, { ignore }) => ({ ignore: [...ignore, parseWord(value)] }) },
  refuse: { takes: '=PARAMETER', read: (value, { refuse }) => ({ refuse: [...refuse, parseWord(value)] }) },
  'page-cap': { takes: '=N', read: (value) => ({ pageCap: parseNumber(value, 1) }) },
  'page-limit': { takes: '=N', read: (value) => ({ pageLimit: parseNumber(value, 1) }) },
  'clock-skew': { takes: '=SECONDS', read: (value) => ({ clockSkew: parseNumber(value, -1e9) }) },
  'absent-v3': { takes: '=PATH', read: (value, { absentV3 }) => ({ absentV3: [...absentV3, value] }) },
  malformed: { takes: '=RATE', read: (value) => ({ malformed: parseNumber(value, 0) }) },
  gzip: { takes: '', read: () => ({ gzip: true }) },
  'total-count': { takes: '=N', read: (value) => ({ totalCount: parseNumber(value, 0) }) },
  'any-model': { takes: '', read: () => ({ anyModel: true }) },
};

export const QUIRKS: readonly string[] = Object.entries(BY_NAME).map(([name, { takes }]) => name + takes);

export function addQuirk(quirks: Quirks, text: string): Quirks {
  const [name = '', ...rest] = text.split('=');
  const quirk = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (quirk === undefined) throw new TypeError('there is no such quirk.');
  if (quirk.takes === '' && rest.length > 0) throw new TypeError(`${name} takes no value.`);
  return { ...quirks, ...quirk.read(rest.join('='), quirks) };
}

function parseWord(value: string): string {
  if (WORDS.some((word) => word === value)) return value;
  throw new TypeError(`it takes one of ${WORDS.join(', ')}.`);
}

function parseNumber(value: string, least: number): number {
  const number = Number(value);
  if (value !== '' && Number.isFinite(number) && number >= least) return number;
  throw new TypeError(`its value is not a number from ${least} up.`);
}

/**
 * The parameters of a V4 list that the service does not ignore.
 *
 * @throws RequestError 400 for refused parameters
 */
export function dropIgnoredParameters(
  { ignore, refuse }: Quirks,
  parameters: URLSearchParams,
): URLSearchParams {
  const honoured = new URLSearchParams();
  for (const [name, value] of parameters) {
    const [, field, operator] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    const word = field === undefined || field === 'sort' ? (field ?? name) : (operator ?? '');
    if (refuse.includes(word)) throw badParameter(name, 'not supported');
    if (!ignore.includes(word)) honoured.append(name, value);
  }
  return honoured;
}

/** @throws RequestError 400 for a limit that is refused */
export function capLimit({ pageCap, pageLimit }: Quirks, limit: number): number {
  if (pageLimit !== null && limit > pageLimit) throw badParameter('limit', `at most ${pageLimit}`);
  return Math.min(limit, pageCap ?? limit);
}

const MALFORMED = [
  'null',
  '"a text"',
  '[]',
  '{}',
  '{"svc_id":"17","svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":1.5,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":99999999999999999999,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":17,"platform_id":"x"}',
] as const;

/** A malformed object to insert before the record with this hash, or null. */
export function malformedBefore({ malformed }: Quirks, hash: number): string | null {
  if (malformed === 0 || !happens(mix(hash, 0xbad), malformed)) return null;
  return MALFORMED[mix(hash, 0xbae) % MALFORMED.length] ?? null;
}
