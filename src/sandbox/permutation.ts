import { Draw } from './random.js';

/** A one-to-one map of 0 … size − 1 onto itself that needs no table. */
export interface Permutation {
  readonly size: number;
  forward(index: number): number;
  backward(image: number): number;
}

/** Beyond it a product of two values is no longer exact. */
const LARGEST_SIZE = 94_000_000;

/**
 * Builds the permutation `factor × index + offset` modulo `size`, both from the hash.
 *
 * @throws RangeError for a size beyond 94 million
 */
export function createPermutation(size: number, hash: number): Permutation {
  if (size > LARGEST_SIZE) throw new RangeError(`The sandbox cannot number ${size} objects.`);
  if (size < 2) return { size, forward: (index) => index, backward: (image) => image };
  const draw = new Draw(hash);
  const factor = coprimeTo(size, draw);
  const inverse = inverseOf(factor, size);
  const offset = draw.below(size);
  return {
    size,
    forward: (index) => (factor * index + offset) % size,
    backward: (image) => (inverse * ((image - offset + size) % size)) % size,
  };
}

function coprimeTo(size: number, draw: Draw): number {
  for (;;) {
    const factor = 1 + draw.below(size - 1);
    if (greatestCommonDivisor(factor, size) === 1 && (factor > 1 || size < 4)) return factor;
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

function inverseOf(value: number, modulus: number): number {
  let [r, nextR, t, nextT] = [modulus, value, 0, 1];
  while (nextR !== 0) {
    const quotient = Math.floor(r / nextR);
    [r, nextR] = [nextR, r - quotient * nextR];
    [t, nextT] = [nextT, t - quotient * nextT];
  }
  return t < 0 ? t + modulus : t;
}
