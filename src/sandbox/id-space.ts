import { Draw } from './seeded-random.js';

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
