import { type JsonScanner, LETTER_N, QUOTE } from './json-scan.js';
import type { KeyTable } from './key-table.js';

/** Walks the value at `at` of the member `slot` and tells where it ends. */
type ReadValue = (slot: number, at: number) => number;

/** Where the wanted members of one object lie; of a key that comes twice, the last, as `JSON.parse` has it. */
export class Members {
  readonly #table: KeyTable;
  readonly #scanner: JsonScanner;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #escaped: Uint8Array;

  constructor(table: KeyTable, scanner: JsonScanner) {
    this.#table = table;
    this.#scanner = scanner;
    this.#starts = new Int32Array(table.names.length);
    this.#ends = new Int32Array(table.names.length);
    this.#escaped = new Uint8Array(table.names.length);
  }

  /**
   * Walks the object whose brace is at `at` and tells where it ends. Values of the slots from `firstNested`
   * on are handed to `readValue`, once for each time the key comes.
   */
  read(at: number, firstNested: number, readValue: ReadValue | null): number {
    const scanner = this.#scanner;
    const bytes = scanner.bytes;
    this.#starts.fill(-1);
    let i = scanner.enter(at);
    while (scanner.more) {
      if (bytes[i] !== QUOTE) scanner.fail(i);
      const key = i + 1;
      i = scanner.skipString(key);
      const slot = scanner.escaped
        ? this.#table.findText(scanner.text(key, i - 1, true))
        : this.#table.find(bytes, key, i - 1);
      const start = scanner.skipColon(i);
      const wanted = readValue !== null && slot >= firstNested;
      i = wanted ? readValue(slot, start) : scanner.skipValue(start);
      if (slot >= 0) {
        this.#starts[slot] = start;
        this.#ends[slot] = i;
        this.#escaped[slot] = bytes[start] === QUOTE && scanner.escaped ? 1 : 0;
      }
      i = scanner.nextMember(i);
    }
    return i;
  }

  /** The first byte of the value, or 0 where the member is absent or null. */
  kind(slot: number): number {
    const start = this.start(slot);
    if (start < 0) return 0;
    const first = this.#scanner.bytes[start] ?? 0;
    return first === LETTER_N ? 0 : first;
  }

  isAbsent(slot: number): boolean {
    return this.start(slot) < 0;
  }

  /** First byte of the value, -1 where the member is absent. */
  start(slot: number): number {
    return this.#starts[slot] ?? -1;
  }

  /** Behind the value. */
  end(slot: number): number {
    return this.#ends[slot] ?? -1;
  }

  /** True for a string with a backslash in it. */
  isEscaped(slot: number): boolean {
    return this.#escaped[slot] === 1;
  }

  /** The value of a string member. */
  text(slot: number): string {
    return this.#scanner.text(this.start(slot) + 1, this.end(slot) - 1, this.isEscaped(slot));
  }
}
