import { JsonScanner, OPEN_OBJECT, QUOTE } from '../json/json-scan.js';

/**
 * Whether two JSON objects are seen to be the same without parsing them: the same members in the same order, each with
 * the same bytes or of a name that is not compared. False says nothing: then they must be compared as values.
 */
export function haveSameMembers(
  a: Uint8Array,
  b: Uint8Array,
  isCompared: (name: string) => boolean,
): boolean {
  const [inA, inB] = [new JsonScanner(a), new JsonScanner(b)];
  let atA = inA.skipSpace(0);
  let atB = inB.skipSpace(0);
  if (a[atA] !== OPEN_OBJECT || b[atB] !== OPEN_OBJECT) return false;
  atA = inA.enter(atA);
  atB = inB.enter(atB);
  while (inA.more && inB.more) {
    if (a[atA] !== QUOTE || b[atB] !== QUOTE) return false;
    const keyA = inA.skipString(atA + 1);
    const keyB = inB.skipString(atB + 1);
    if (!isSame(a, atA, keyA, b, atB, keyB)) return false;
    const valueA = inA.skipColon(keyA);
    const valueB = inB.skipColon(keyB);
    const endA = inA.skipValue(valueA);
    const endB = inB.skipValue(valueB);
    if (!isSame(a, valueA, endA, b, valueB, endB) && isCompared(inA.ascii(atA + 1, keyA - 1))) return false;
    atA = inA.nextMember(endA);
    atB = inB.nextMember(endB);
  }
  return !inA.more && !inB.more;
}

/** Longer stretches are compared by a call, which costs as much as so many bytes. */
const SHORT = 48;

function isSame(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): boolean {
  const length = endA - startA;
  if (length !== endB - startB) return false;
  if (length > SHORT) return Buffer.compare(a.subarray(startA, endA), b.subarray(startB, endB)) === 0;
  for (let i = 0; i < length; i++) if (a[startA + i] !== b[startB + i]) return false;
  return true;
}
