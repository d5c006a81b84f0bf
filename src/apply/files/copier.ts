import { createHash } from 'node:crypto';

const BUFFER_BYTES = 1024 * 1024;
const LONGEST_TEXT = 64;

/** Gathers bytes, hands them on in large pieces, and knows their sha256. */
export class Copier {
  readonly #sink: (bytes: Buffer) => void;
  readonly #hash = createHash('sha256');
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #used = 0;
  #bytes = 0;
  #sha256: string | null = null;

  /** `sink` must be done with the bytes when it returns. */
  constructor(sink: (bytes: Buffer) => void) {
    this.#sink = sink;
  }

  get bytes(): number {
    return this.#bytes + this.#used;
  }

  /** After `finish`. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('the copy is not finished');
    return this.#sha256;
  }

  copy(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const size = Math.min(end - at, BUFFER_BYTES - this.#used);
      bytes.copy(this.#buffer, this.#used, at, at + size);
      this.#used += size;
      at += size;
      if (this.#used === BUFFER_BYTES) this.#flush();
    }
  }

  /** ASCII of at most 64 characters. */
  write(text: string): void {
    if (BUFFER_BYTES - this.#used < LONGEST_TEXT) this.#flush();
    this.#used += this.#buffer.write(text, this.#used, 'latin1');
  }

  finish(): void {
    this.#flush();
    this.#sha256 = this.#hash.digest('hex');
  }

  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#used);
    this.#hash.update(bytes);
    this.#sink(bytes);
    this.#bytes += this.#used;
    this.#used = 0;
  }
}
