/**
 * Everything in the sandbox is a pure function of the seed: hashes for random access, a generator for the fields of one
 * record.
 */

export function mix(state: number, value: number): number {
  let hash = Math.imul(state ^ Math.imul(value, 0xcc9e2d51), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39) + 0x7f4a7c15;
  return (hash ^ (hash >>> 15)) >>> 0;
}

export function mixText(state: number, text: string): number {
  let hash = state ^ 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mix(hash >>> 0, text.length);
}

export function hashOf(seed: number, ...parts: readonly (number | string)[]): number {
  let hash = mix(0x5eed, seed);
  for (const part of parts) hash = typeof part === 'number' ? mix(hash, part) : mixText(hash, part);
  return hash;
}

/** True for a share `rate` (0 to 1) of all hashes. */
export function happens(hash: number, rate: number): boolean {
  return hash < rate * 0x1_0000_0000;
}

export function hexOf(hash: number): string {
  const word = (salt: number): string => mix(hash, salt).toString(16).padStart(8, '0');
  return word(1) + word(2);
}

export class Draw {
  #state: number;

  constructor(hash: number) {
    this.#state = hash >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    return mix(0x2545f491, this.#state);
  }

  below(count: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * count);
  }

  chance(rate: number): boolean {
    return happens(this.next(), rate);
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }

  /** Null for a share of the draws, otherwise the result of `make`. The number of draws is the same either way. */
  maybe<T>(nullRate: number, make: () => T): T | null {
    const isNull = this.chance(nullRate);
    const value = make();
    return isNull ? null : value;
  }
}

export function shuffle<T>(list: T[], hash: number): T[] {
  const draw = new Draw(hash);
  for (let last = list.length - 1; last > 0; last--) {
    const other = draw.below(last + 1);
    const [a, b] = [list[last], list[other]];
    if (a === undefined || b === undefined) continue;
    list[last] = b;
    list[other] = a;
  }
  return list;
}
