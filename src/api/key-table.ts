/** A set of member names, found by their bytes without making a string. */
export class KeyTable {
  readonly names: readonly string[];
  readonly #bytes: readonly Uint8Array[];
  /** Per hash: one more than the first slot with it, 0 for none. */
  readonly #heads = new Uint8Array(256);
  /** Per slot: one more than the next slot with the same hash. */
  readonly #followers: Uint8Array;
  readonly #slots: ReadonlyMap<string, number>;

  /** Names must be distinct and at most 254; a name's place in the list is its slot. */
  constructor(names: readonly string[]) {
    if (names.length > 254) throw new RangeError('too many names for one table');
    this.names = names;
    this.#bytes = names.map((name) => Buffer.from(name, 'utf8'));
    this.#followers = new Uint8Array(names.length);
    this.#slots = new Map(names.map((name, slot) => [name, slot]));
    for (const [slot, bytes] of this.#bytes.entries()) {
      const hash = hashOf(bytes, 0, bytes.length);
      this.#followers[slot] = this.#heads[hash] ?? 0;
      this.#heads[hash] = slot + 1;
    }
  }

  /** The slot of the name whose bytes are `bytes[start, end)`, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    let next = this.#heads[hashOf(bytes, start, end)] ?? 0;
    while (next !== 0) {
      const slot = next - 1;
      const name = this.#bytes[slot];
      if (name !== undefined && sameBytes(name, bytes, start, end)) return slot;
      next = this.#followers[slot] ?? 0;
    }
    return -1;
  }

  /** The slot of a name that had to be unescaped, or -1. */
  findText(name: string): number {
    return this.#slots.get(name) ?? -1;
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const first = bytes[start] ?? 0;
  const middle = bytes[(start + end) >> 1] ?? 0;
  const last = bytes[end - 1] ?? 0;
  return (first * 3 + middle * 7 + last * 31 + (end - start) * 67) & 255;
}

function sameBytes(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}
