import { createPermutation } from './permutation.js';

/** One space of svc_ids: a number of objects, each with an id that tells nothing about its place. */
export interface IdSpace {
  idOf(index: number): bigint;
  /** Null where no object has the id. */
  indexOf(id: bigint): number | null;
}

const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** Of this many ids, three are large where large ids are wanted. */
const PERIOD = 37;

/**
 * Numbers `size` objects in a seeded order. Ids are the small integers 1 … size, so that all spaces overlap;
 * with `large`, some of them lie above 2^53, where neighbours differ only beyond a double's precision, and
 * some just below 2^63.
 */
export function createIdSpace(size: number, hash: number, large: boolean): IdSpace {
  const permutation = createPermutation(size, hash);
  return {
    idOf: (index) => toId(permutation.forward(index), large),
    indexOf: (id) => {
      const image = fromId(id, large);
      return image === null || image >= size ? null : permutation.backward(image);
    },
  };
}

function toId(image: number, large: boolean): bigint {
  const kind = large ? kindOf(image) : 'small';
  if (kind === 'huge') return LARGEST - BigInt(image);
  if (kind === 'unsafe') return UNSAFE + BigInt(image);
  return BigInt(image) + 1n;
}

function fromId(id: bigint, large: boolean): number | null {
  if (id < 1n || id > LARGEST) return null;
  const image = id > LARGEST / 2n ? LARGEST - id : id >= UNSAFE ? id - UNSAFE : id - 1n;
  if (image >= UNSAFE) return null;
  return toId(Number(image), large) === id ? Number(image) : null;
}

function kindOf(image: number): 'small' | 'unsafe' | 'huge' {
  const rest = image % PERIOD;
  if (rest === 5) return 'huge';
  return rest === 6 || rest === 7 ? 'unsafe' : 'small';
}
