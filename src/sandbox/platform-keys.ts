import type { Scenario } from './fates.js';
import type { Json } from './fields.js';
import { happens, hexOf, mix } from './seeded-random.js';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2015, 0, 1);
/** Ranges of one length start on this many different days. */
const RANGE_STARTS = 3000;

/** How platforms number their records. */
const SCHEMES: readonly ((group: number, hash: number) => string)[] = [
  (group) => String(group + 1),
  (group) => `INV-${String(group + 1).padStart(6, '0')}`,
  (_, hash) => {
    const hex = hexOf(hash) + hexOf(mix(hash, 7));
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  },
  (group) => {
    const isoDay = (day: number) => new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10);
    const start = group % RANGE_STARTS;
    return `${isoDay(start)}_${isoDay(start + 30 + Math.floor(group / RANGE_STARTS))}`;
  },
  (group) => String(group + 1),
];

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

/** The key of a platform record, unique in its list even after folding. `scheme`: a hash, the same for every company. */
export function keyText(scheme: number, scenario: Scenario, group: number, hash: number): string {
  const plain = SCHEMES[scheme % SCHEMES.length]?.(group, hash) ?? '';
  if (scenario === 'clean') return plain;
  const word = WORDS[group - FIRST_WORD_GROUP];
  if (word !== undefined && (hash & 1) === 0) return word;
  const draw = mix(hash, 11);
  return (happens(draw, HOSTILE_RATE) ? HOSTILE[mix(draw, 1) % HOSTILE.length]?.(group) : null) ?? plain;
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
