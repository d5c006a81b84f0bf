/** Longer pieces are copied by the runtime, shorter ones byte by byte: that is where the two cost the same. */
const LONG_PIECE = 96;

/** So much memory waits for other pieces, bytes. */
const MOST_KEPT = 65_536;

/** UTF-8 bytes, one piece behind the other. */
export class Texts {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Forgets every piece, and memory that only a rare one needed. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > MOST_KEPT) this.bytes = new Uint8Array(MOST_KEPT);
  }

  /** Bytes `start` to `end` of `source`. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    if (end - start > LONG_PIECE) {
      this.bytes.set(source.subarray(start, end), this.length);
      this.length += end - start;
      return;
    }
    const { bytes } = this;
    let at = this.length;
    for (let i = start; i < end; i++) bytes[at++] = source[i] ?? 0;
    this.length = at;
  }

  /** Makes room for `count` bytes to be written from the place that is told. */
  extend(count: number): number {
    this.#reserve(count);
    const at = this.length;
    this.length = at + count;
    return at;
  }

  byte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.length++] = byte;
  }

  text(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    this.copy(bytes, 0, bytes.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const wider = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count));
    wider.set(this.bytes.subarray(0, this.length));
    this.bytes = wider;
  }
}
