import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { SvcError } from '../../errors.js';
import type { RecordScanner } from '../text/records.js';
import type { Copier } from './copier.js';

const CHUNK_BYTES = 1024 * 1024;
/** A record that does not end within this is taken for an unfinished quote. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const CHUNKS_PER_BREATH = 16;

export interface PassOptions {
  readonly file: string;
  /** Makes the scanner from the file's first bytes (up to 1 MiB). */
  readonly buildScanner: (head: Buffer) => RecordScanner;
  /** Where the rewritten bytes go; null: nowhere, the file is only looked at. */
  readonly copier: Copier | null;
  /** Bytes read at a time; default 1 MiB. */
  readonly chunkBytes?: number;
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

export interface Pass {
  readonly sha256: string;
  readonly bytes: number;
  readonly edits: number;
  readonly scanner: RecordScanner;
}

/**
 * Reads a file once, from its first byte to its last, with constant memory.
 *
 * @throws SvcError `bad_input` where it cannot be read, `interrupted`
 */
export async function passThrough(options: PassOptions): Promise<Pass> {
  const fd = openInput(options.file);
  try {
    return await new Reading(options, fd).run();
  } finally {
    closeSync(fd);
  }
}

function openInput(file: string): number {
  try {
    const fd = openSync(file, 'r');
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new SvcError('bad_input', `${file} cannot be read (${code}).`, { facts: { error: code }, cause });
  }
  throw new SvcError('bad_input', `${file} is not a file.`, { hint: 'Name a regular file.' });
}

class Reading {
  readonly #options: PassOptions;
  readonly #fd: number;
  readonly #total: number;
  readonly #hash = createHash('sha256');
  readonly #chunkBytes: number;
  #bytes: Buffer;
  #length = 0;
  #done = 0;
  #edits = 0;

  constructor(options: PassOptions, fd: number) {
    this.#options = options;
    this.#fd = fd;
    this.#total = fstatSync(fd).size;
    this.#chunkBytes = options.chunkBytes ?? CHUNK_BYTES;
    this.#bytes = Buffer.allocUnsafe(2 * this.#chunkBytes);
  }

  async run(): Promise<Pass> {
    let isLast = this.#fill();
    const scanner = this.#options.buildScanner(this.#bytes.subarray(0, this.#length));
    this.#pass(scanner.dataStart);
    for (let chunk = 1; ; chunk += 1) {
      this.#scan(scanner, isLast);
      if (isLast) break;
      isLast = this.#fill();
      if (chunk % CHUNKS_PER_BREATH === 0) await this.#breathe();
    }
    this.#options.copier?.finish();
    this.#options.onBytes(this.#done, this.#total);
    return { sha256: this.#hash.digest('hex'), bytes: this.#done, edits: this.#edits, scanner };
  }

  /** Lets signals in. */
  async #breathe(): Promise<void> {
    await setImmediate();
    if (this.#options.signal.aborted) {
      throw new SvcError('interrupted', 'Stopped while reading; nothing was changed.');
    }
    this.#options.onBytes(this.#done, this.#total);
  }

  /** Reads until a chunk more is there; true at the end of the file. */
  #fill(): boolean {
    this.#assertRecordEnds();
    // What is left over is one unfinished record: reading as much again keeps rescanning it linear.
    const until = Math.min(this.#length + Math.max(this.#chunkBytes, this.#length), MAX_RECORD_BYTES);
    while (this.#bytes.length < until) this.#grow();
    while (this.#length < until) {
      const got = readSync(this.#fd, this.#bytes, this.#length, until - this.#length, null);
      if (got === 0) return true;
      this.#hash.update(this.#bytes.subarray(this.#length, this.#length + got));
      this.#length += got;
      this.#done += got;
    }
    return false;
  }

  #assertRecordEnds(): void {
    if (this.#length < MAX_RECORD_BYTES) return;
    const mib = MAX_RECORD_BYTES / 1024 / 1024;
    throw new SvcError('bad_input', `${this.#options.file} has a record of more than ${mib} MiB.`, {
      hint: 'Look for a quote that is never closed, or name the right delimiter.',
    });
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  #scan(scanner: RecordScanner, isLast: boolean): void {
    const { copier } = this.#options;
    const bytes = this.#bytes;
    let from = 0;
    const consumed = scanner.scan(bytes, this.#length, isLast, (start, end, text) => {
      this.#edits += 1;
      if (copier === null) return;
      copier.copy(bytes, from, start);
      copier.write(text);
      from = end;
    });
    copier?.copy(bytes, from, consumed);
    this.#drop(consumed);
  }

  /** Hands the first bytes on as they are. */
  #pass(count: number): void {
    this.#options.copier?.copy(this.#bytes, 0, count);
    this.#drop(count);
  }

  #drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }
}
