import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { FileTarget, IdColumn } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';
import { parseJsonPath } from '../../json/json-path.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { detectDialect } from '../text/csv-dialect.js';
import { buildCsvScanner } from '../text/csv-records.js';
import { buildNdjsonScanner, type RecordScanner } from '../text/record-scanner.js';

const CHUNK_BYTES = 1024 * 1024;
/** A longer record is assumed to be an unclosed quote. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const CHUNKS_PER_YIELD = 16;

export interface PassOptions {
  readonly file: string;
  /** Builds the scanner from the first bytes of the file (up to 1 MiB). */
  readonly buildScanner: (head: Buffer) => RecordScanner;
  /** Receives the rewritten bytes; null if the file is only read. */
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
 * Reads a file once, from start to end, in constant memory.
 *
 * @throws SvcError `bad_input` if it cannot be read, `interrupted`
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
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { cause });
  }
  throw new SvcError('bad_input', `${file} is not a regular file.`);
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
      if (chunk % CHUNKS_PER_YIELD === 0) await this.#yieldToSignals();
    }
    this.#options.copier?.finish();
    this.#options.onBytes(this.#done, this.#total);
    return { sha256: this.#hash.digest('hex'), bytes: this.#done, edits: this.#edits, scanner };
  }

  /** Yields to the event loop, so that signals are handled. */
  async #yieldToSignals(): Promise<void> {
    await setImmediate();
    if (this.#options.signal.aborted) {
      throw new SvcError('interrupted', 'Stopped while reading; nothing was changed.');
    }
    this.#options.onBytes(this.#done, this.#total);
  }

  /** Reads at least one more chunk; true at the end of the file. */
  #fill(): boolean {
    this.#assertRecordEnds();
    // The bytes left are one unfinished record. Reading at least as many again keeps the cost of rescanning it linear.
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

  /** Copies the first bytes unchanged. */
  #pass(count: number): void {
    this.#options.copier?.copy(this.#bytes, 0, count);
    this.#drop(count);
  }

  #drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#length);
    this.#length -= count;
  }
}

const COPY_BYTES = 1024 * 1024;

/** Buffers bytes, passes them on in large pieces, and computes their SHA-256. */
export class Copier {
  readonly #sink: (bytes: Buffer) => void;
  readonly #hash = createHash('sha256');
  readonly #buffer = Buffer.allocUnsafe(COPY_BYTES);
  #used = 0;
  #bytes = 0;
  #sha256: string | null = null;

  /** `sink` must not use the bytes after it returns. */
  constructor(sink: (bytes: Buffer) => void) {
    this.#sink = sink;
  }

  get bytes(): number {
    return this.#bytes + this.#used;
  }

  /** Available after `finish`. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('the copy is not finished');
    return this.#sha256;
  }

  copy(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const size = Math.min(end - at, COPY_BYTES - this.#used);
      bytes.copy(this.#buffer, this.#used, at, at + size);
      this.#used += size;
      at += size;
      if (this.#used === COPY_BYTES) this.#flush();
    }
  }

  /** Writes a text in Latin-1. */
  write(text: string): void {
    this.copy(Buffer.from(text, 'latin1'), 0, text.length);
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

/** Prepares to process the columns of a target. */
export function openColumns(context: ApplyContext, target: FileTarget): ColumnWork[] {
  const { policy } = context;
  // A new file holds V4 ids only, unless the V3 ids were asked for.
  const missing = policy.missing === 'keep' ? 'null' : policy.missing;
  return target.ids.map((column) => openColumn(context, column, { ...policy, missing }));
}

interface StreamOptions {
  /** The verb for the progress line, such as `reading`. */
  readonly step: string;
  readonly copier?: Copier;
  readonly onScanner?: (scanner: RecordScanner) => void;
}

/** Reads a target's file with the scanner that fits it. */
export function streamTarget(
  { signal, onProgress }: ApplyContext,
  target: FileTarget,
  works: readonly ColumnWork[],
  { step, copier, onScanner }: StreamOptions,
): Promise<Pass> {
  const build = scannerOf(target, works);
  return passThrough({
    file: target.file,
    buildScanner: (head) => {
      const scanner = build(head);
      onScanner?.(scanner);
      return scanner;
    },
    copier: copier ?? null,
    signal,
    onBytes: (done, total) => onProgress({ kind: 'step', name: `${step} ${target.name}`, done, total }),
  });
}

function scannerOf(target: FileTarget, works: readonly ColumnWork[]): (head: Buffer) => RecordScanner {
  if (target.kind === 'ndjson') {
    assertPaths(target);
    const bom = (head: Buffer) => (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0);
    return (head) => buildNdjsonScanner(works, bom(head));
  }
  const { file, delimiter, header } = target;
  const columns = target.ids.flatMap(namesOf);
  return (head) => buildCsvScanner(detectDialect(head, { file, delimiter, header, columns }), works);
}

function namesOf({ column, modelColumn, regionColumn, companyColumn }: IdColumn): string[] {
  return [column, modelColumn, regionColumn, companyColumn].filter((name) => name !== undefined);
}

function assertPaths(target: FileTarget): void {
  for (const path of target.ids.flatMap(namesOf)) {
    if (parseJsonPath(path) !== null) continue;
    throw new SvcError('config', `"${path}" in target ${target.name} is not a JSON path.`, {
      hint: 'Write it like "$.invoice.id" or "$.lines[*].invoice_id".',
    });
  }
}
