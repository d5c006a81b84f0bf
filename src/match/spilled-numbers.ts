import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodeOf, SvcError } from '../errors.js';

/** Ids whose numbers are in memory at once. */
const SPAN = 2 ** 17;

/** Numbers that wait in memory until they are written together. */
const WAITING = 2 ** 15;

/** Bytes of an entry in the file: the id and its number. */
const ENTRY = 16;

/** What the system says of a disk, or a share of one, that is full. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** Entries of one span that lie together in the file. */
interface Part {
  /** Bytes from the file's start. */
  readonly at: number;
  readonly entries: number;
}

/**
 * A number for each of any count of ids, set in any order and then asked for in rising order of the ids. They wait in a
 * file, by spans of ids, so that memory does not grow with them. Another order of asking is right too, but slow.
 */
export class SpilledNumbers {
  readonly #folder: string;
  readonly #file: number;
  #end = 0;
  readonly #parts = new Map<number, Part[]>();
  /** Entries in the order they were set, and the same by span. */
  readonly #waiting = new Float64Array(WAITING * 2);
  readonly #sorted = new Float64Array(WAITING * 2);
  #count = 0;
  /** Whose numbers are in memory; -1: none. */
  #span = -1;
  readonly #numbers = new Float64Array(SPAN);

  /**
   * `folder`: of the file, which has no name for longer than its making takes: nothing of it is left after a kill.
   *
   * @throws SvcError `disk`
   */
  constructor(folder: string) {
    this.#folder = folder;
    const name = join(folder, `svc-migrate-${randomUUID()}`);
    this.#file = this.#guard(() => openSync(name, 'wx+', 0o600));
    this.#guard(() => rmSync(name));
  }

  /**
   * `value`: not 0, which stands for ids that have none.
   *
   * @throws SvcError `disk`
   */
  set(id: number, value: number): void {
    this.#waiting[this.#count * 2] = id;
    this.#waiting[this.#count * 2 + 1] = value;
    this.#count += 1;
    if (this.#count === WAITING) this.#spill();
  }

  /**
   * 0 where none was set.
   *
   * @throws SvcError `disk`
   */
  get(id: number): number {
    const span = Math.floor(id / SPAN);
    if (span !== this.#span || this.#count > 0) this.#load(span);
    return this.#numbers[id - span * SPAN] ?? 0;
  }

  close(): void {
    closeSync(this.#file);
  }

  #load(span: number): void {
    this.#spill();
    this.#numbers.fill(0);
    for (const { at, entries } of this.#parts.get(span) ?? []) {
      const bytes = bytesOf(this.#sorted, entries);
      if (this.#guard(() => readSync(this.#file, bytes, 0, bytes.length, at)) !== bytes.length) {
        throw new Error(`The temporary file ends before its part at ${at}.`);
      }
      for (let entry = 0; entry < entries * 2; entry += 2) {
        this.#numbers[(this.#sorted[entry] ?? 0) - span * SPAN] = this.#sorted[entry + 1] ?? 0;
      }
    }
    this.#span = span;
  }

  /** Writes what waits, by span. */
  #spill(): void {
    if (this.#count === 0) return;
    const starts = this.#countBySpan();
    for (let entry = 0; entry < this.#count * 2; entry += 2) {
      const id = this.#waiting[entry] ?? 0;
      const span = Math.floor(id / SPAN);
      const at = starts.get(span) ?? 0;
      starts.set(span, at + 1);
      this.#sorted[at * 2] = id;
      this.#sorted[at * 2 + 1] = this.#waiting[entry + 1] ?? 0;
    }
    const bytes = bytesOf(this.#sorted, this.#count);
    for (let done = 0; done < bytes.length; ) {
      done += this.#guard(() => writeSync(this.#file, bytes, done, bytes.length - done, this.#end + done));
    }
    this.#end += bytes.length;
    this.#count = 0;
    this.#span = -1;
  }

  /** Notes the parts of what is about to be written; returns the first entry of each span. */
  #countBySpan(): Map<number, number> {
    const counts = new Map<number, number>();
    for (let entry = 0; entry < this.#count * 2; entry += 2) {
      const span = Math.floor((this.#waiting[entry] ?? 0) / SPAN);
      counts.set(span, (counts.get(span) ?? 0) + 1);
    }
    let start = 0;
    for (const [span, entries] of counts) {
      const parts = this.#parts.get(span) ?? [];
      parts.push({ at: this.#end + start * ENTRY, entries });
      this.#parts.set(span, parts);
      counts.set(span, start);
      start += entries;
    }
    return counts;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      const error = errorCodeOf(cause);
      const choices = FULL.has(error) ? 'Free space there, or name' : 'Name';
      throw new SvcError('disk', `Cannot use a temporary file in ${this.#folder}.`, {
        hint: `${choices} another folder in TMPDIR, then run the same command again.`,
        facts: { error },
        cause,
      });
    }
  }
}

const bytesOf = (numbers: Float64Array, entries: number) =>
  new Uint8Array(numbers.buffer, 0, entries * ENTRY);
