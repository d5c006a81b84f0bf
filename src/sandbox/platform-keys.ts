import type { Scenario } from './fates.js';
import type { Json } from './json.js';
import { Draw, happens, hexOf, mix } from './seeded-random.js';

/** How a platform numbers its records. */
type KeyScheme = 'sequence' | 'uuid' | 'prefixed' | 'composed';

const SCHEMES: readonly KeyScheme[] = ['sequence', 'prefixed', 'uuid', 'composed', 'sequence'];

/** Chooses the scheme of a model, the same for every company. */
export function chooseScheme(hash: number): KeyScheme {
  return SCHEMES[hash % SCHEMES.length] ?? 'sequence';
}

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2015, 0, 1);
/** Ranges of one length start on this many different days. */
const RANGE_STARTS = 3000;

function plainKey(scheme: KeyScheme, group: number, hash: number): string {
  switch (scheme) {
    case 'sequence':
      return String(group + 1);
    case 'prefixed':
      return `INV-${String(group + 1).padStart(6, '0')}`;
    case 'composed': {
      const isoDay = (day: number) => new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10);
      const start = group % RANGE_STARTS;
      return `${isoDay(start)}_${isoDay(start + 30 + Math.floor(group / RANGE_STARTS))}`;
    }
    case 'uuid': {
      const hex = hexOf(hash) + hexOf(mix(hash, 7));
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    }
  }
}

/** Words that often break programs; each is the key of one record per list. */
const WORDS = ['__proto__', 'constructor', 'null', 'NaN', '-1', 'true', '[object Object]', 'toString'];
const FIRST_WORD_GROUP = 7;

/** Keys that often break programs; all contain the record's number, so that they differ even after folding. */
const HOSTILE: readonly ((group: number) => string)[] = [
  (group) => `O'Brien "q" ${group}`,
  (group) => `café-${group}`,
  (group) => `cafe\u0301-${group}-nfd`,
  (group) => `nul\u0000-${group}`,
  (group) => `=SUM(A${group})`,
  (group) => `<b>&amp;${group}</b>`,
  (group) => `\u202e${group}-rtl`,
  (group) => `日本語-${group}`,
  (group) => `💶-${group}`,
  (group) => `a,b;${group}\n"c"`,
  (group) => `../../etc/${group}`,
  (group) => `${group}.0`,
  (group) => `1e${group}`,
  (group) => `0x${group}`,
  (group) => ` padded ${group} `,
  (group) => `\u001b[31m-${group}`,
  (group) => `9007199254740993${group}`,
  (group) => `1234567890123456789012345${group}`,
  (group) => `${'x'.repeat(10_000)}${group}`,
];
const HOSTILE_RATE = 0.12;

/** The key of a platform record, unique in its list even after folding. */
export function keyText(scheme: KeyScheme, scenario: Scenario, group: number, hash: number): string {
  if (scenario === 'clean') return plainKey(scheme, group, hash);
  const word = WORDS[group - FIRST_WORD_GROUP];
  if (word !== undefined && (hash & 1) === 0) return word;
  const draw = mix(hash, 11);
  if (!happens(draw, HOSTILE_RATE)) return plainKey(scheme, group, hash);
  return HOSTILE[mix(draw, 1) % HOSTILE.length]?.(group) ?? plainKey(scheme, group, hash);
}

/** Another text that becomes equal by trimming, case folding, NFC and dropping leading zeros. */
export function variantOf(key: string, hash: number): string {
  const otherForm = key.normalize('NFD') === key ? key.normalize('NFC') : key.normalize('NFD');
  if (otherForm !== key) return otherForm;
  const recased = key.replace(/[a-z]+|[A-Z]+/g, (run) => (run < 'a' ? run.toLowerCase() : run.toUpperCase()));
  if (recased !== key && (hash & 1) === 0) return recased;
  if (key.startsWith(' ')) return key.trim();
  return (hash & 2) === 0 ? `00${recased}` : `  0${key} `;
}

/** A different key, as after the platform renumbered its records. */
export function otherKey(hash: number): string {
  return `moved/${hexOf(hash)}`;
}

/** A unique id of the platform. */
export function uniqueIdText(hash: number): string {
  return `u-${hexOf(hash)}`;
}

/** Values of `platform_id` that are not keys. */
const NO_KEYS: readonly Json[] = [null, '', null, 1.5, {}, [], true, '\ud800', 'lone \udc00 half'];

/** A `platform_id` that is not a key. */
export function noKey(hash: number): Json {
  return NO_KEYS[hash % NO_KEYS.length] ?? null;
}

/** Share of all-digit keys that are written as an integer literal in the ugly scenario. */
const LITERAL_RATE = 0.2;

/** The key as written by the service: some services write digits as a number. */
export function writtenKey(key: string, scenario: Scenario, hash: number): Json {
  if (scenario === 'clean' || !happens(hash, LITERAL_RATE) || !/^(0|[1-9]\d*)$/.test(key)) return key;
  return BigInt(key);
}

/** A permutation of 0 … size − 1 that needs no table. */
export interface Permutation {
  forward(index: number): number;
  backward(image: number): number;
}

/** Largest size for which the product of two values is exact. */
const LARGEST_SIZE = 94_000_000;

/**
 * Builds the permutation `factor × index + offset` modulo `size`, both from the hash.
 *
 * @throws RangeError for a size beyond 94 million
 */
export function createPermutation(size: number, hash: number): Permutation {
  if (size > LARGEST_SIZE) throw new RangeError(`The sandbox cannot number ${size} objects.`);
  if (size < 2) return { forward: (index) => index, backward: (image) => image };
  const draw = new Draw(hash);
  let factor = 1 + draw.below(size - 1);
  while (inverseOf(factor, size) === null || (factor === 1 && size >= 4)) factor = 1 + draw.below(size - 1);
  const inverse = inverseOf(factor, size) ?? 1;
  const offset = draw.below(size);
  return {
    forward: (index) => (factor * index + offset) % size,
    backward: (image) => (inverse * ((image - offset + size) % size)) % size,
  };
}

/** The modular inverse, by the extended Euclidean algorithm; null if there is a common divisor. */
function inverseOf(value: number, modulus: number): number | null {
  let [r, nextR, t, nextT] = [modulus, value, 0, 1];
  while (nextR !== 0) {
    const quotient = Math.floor(r / nextR);
    [r, nextR] = [nextR, r - quotient * nextR];
    [t, nextT] = [nextT, t - quotient * nextT];
  }
  if (r !== 1) return null;
  return t < 0 ? t + modulus : t;
}

/** Maps the indexes of objects to svc_ids that reveal nothing about the index, and back. */
export interface IdSpace {
  idOf(index: number): bigint;
  /** Null if no object has the id. */
  indexOf(id: bigint): number | null;
}

const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** With large ids, three of this many ids are large. */
const PERIOD = 37;

/**
 * Numbers `size` objects in a seeded order. Ids are the small integers 1 … size, so that all id spaces overlap; with
 * `large`, some are above 2^53, where neighbouring ids are equal as doubles, and some just below 2^63.
 */
export function createIdSpace(size: number, hash: number, large: boolean): IdSpace {
  const permutation = createPermutation(size, hash);
  const toId = (image: number): bigint => {
    const rest = large ? image % PERIOD : 0;
    if (rest === 5) return LARGEST - BigInt(image);
    return BigInt(image) + (rest === 6 || rest === 7 ? UNSAFE : 1n);
  };
  return {
    idOf: (index) => toId(permutation.forward(index)),
    indexOf: (id) => {
      if (id < 1n || id > LARGEST) return null;
      const image = id > LARGEST / 2n ? LARGEST - id : id >= UNSAFE ? id - UNSAFE : id - 1n;
      if (image >= BigInt(size) || toId(Number(image)) !== id) return null;
      return permutation.backward(Number(image));
    },
  };
}
