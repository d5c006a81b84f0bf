/**
 * 64-bit integers as two 32-bit halves (two's complement): exact like `bigint`, without its allocations.
 * `hi` and `lo` are unsigned.
 */

const TWO_32 = 4_294_967_296;
const MAX_SAFE_HI = 0x001f_ffff;

/** The upper half of an integer that a JavaScript number holds exactly. */
export function hiOf(value: number): number {
  return Math.floor(value / TWO_32) >>> 0;
}

/** The lower half of such an integer. */
export function loOf(value: number): number {
  return value >>> 0;
}

export function bigHiOf(value: bigint): number {
  return Number(BigInt.asUintN(32, value >> 32n));
}

export function bigLoOf(value: bigint): number {
  return Number(BigInt.asUintN(32, value));
}

export function joinHalves(hi: number, lo: number): bigint {
  return BigInt.asIntN(64, (BigInt(hi) << 32n) | BigInt(lo));
}

/** The halves as decimal digits, with `-` in front where negative. */
export function digitsOf(hi: number, lo: number): string {
  return hi <= MAX_SAFE_HI ? String(hi * TWO_32 + lo) : String(joinHalves(hi, lo));
}

/** The halves as a number where that is exact; null elsewhere. */
export function safeNumberOf(hi: number, lo: number): number | null {
  if (hi <= MAX_SAFE_HI) return hi * TWO_32 + lo;
  return hi >= 0xffe0_0000 && (hi !== 0xffe0_0000 || lo !== 0) ? (hi - TWO_32) * TWO_32 + lo : null;
}
