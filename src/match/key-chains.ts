/** Records by key: each key is the chain of its records, from the last to the first. */
export interface KeyChains {
  readonly count: number;
  /** The last record of each key. */
  readonly last: Int32Array;
  /** For each record, the one of its key before it; -1 for none. */
  readonly before: Int32Array;
}

/**
 * Groups records by key. Keys are in the order of their first records.
 *
 * @param length the records are numbered from 0 to `length` - 1
 * @param hashOf the hash of a record's key, 32 bits; null if it has no key
 * @param isSame whether two records with equal hashes have the same key
 */
export function chainByKey(
  length: number,
  hashOf: (at: number) => number | null,
  isSame: (a: number, b: number) => boolean,
): KeyChains {
  const mask = 2 ** Math.ceil(Math.log2(2 * length + 1)) - 1;
  /** By hash, 1 + the number of a key; 0 for none. */
  const table = new Int32Array(mask + 1);
  const hashes = new Int32Array(length);
  const last = new Int32Array(length);
  const before = new Int32Array(length);
  let count = 0;
  for (let at = 0; at < length; at++) {
    const hash = hashOf(at);
    if (hash === null) continue;
    let slot = hash & mask;
    let key = (table[slot] ?? 0) - 1;
    while (key >= 0 && !(hashes[key] === hash && isSame(last[key] ?? 0, at))) {
      slot = (slot + 1) & mask;
      key = (table[slot] ?? 0) - 1;
    }
    if (key < 0) {
      key = count++;
      table[slot] = count;
      hashes[key] = hash;
      before[at] = -1;
    } else before[at] = last[key] ?? -1;
    last[key] = at;
  }
  return { count, last, before };
}
