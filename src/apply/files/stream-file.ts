import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { FileTarget, IdColumn } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { detectDialect } from '../text/csv-dialect.js';
import { buildCsvScanner, buildNdjsonScanner, type RecordScanner } from '../text/record-scanner.js';
import { readFully } from './file-snapshot.js';

const CHUNK_BYTES = 1024 * 1024;
/** A longer record is assumed to be an unclosed quote. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

export interface PassOptions {
  readonly file: string;
  /** Builds the scanner from the first chunk of the file. */
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
  const { file, buildScanner, copier, chunkBytes = CHUNK_BYTES, signal, onBytes } = options;
  const fd = openInput(file);
  try {
    const total = fstatSync(fd).size;
    const hash = createHash('sha256');
    let buffer = Buffer.allocUnsafe(chunkBytes);
    /** How much of the buffer is in use: from one pass of the loop to the next, the beginning of a record. */
    let length = 0;
    let done = 0;
    const fill = (): boolean => {
      const got = readFully(fd, buffer, length);
      hash.update(buffer.subarray(length, length + got));
      length += got;
      done += got;
      return length < buffer.length;
    };
    const drop = (count: number): void => {
      buffer.copyWithin(0, count, length);
      length -= count;
    };
    let isLast = fill();
    const scanner = buildScanner(buffer.subarray(0, length));
    copier?.copy(buffer, 0, scanner.dataStart);
    drop(scanner.dataStart);
    for (let edits = 0; ; isLast = fill()) {
      const bytes = buffer.subarray(0, length);
      let from = 0;
      const consumed = scanner.scan(bytes, isLast, (start, end, text) => {
        edits += 1;
        copier?.copy(bytes, from, start);
        copier?.write(text);
        from = end;
      });
      copier?.copy(bytes, from, consumed);
      drop(consumed);
      onBytes(done, total);
      if (isLast) {
        copier?.finish();
        return { sha256: hash.digest('hex'), bytes: done, edits, scanner };
      }
      if (length >= MAX_RECORD_BYTES) throw endlessRecord(file);
      // Scanning a long record again only when the buffer has doubled keeps the cost linear.
      if (length > buffer.length / 2) buffer = Buffer.concat([buffer], 2 * buffer.length);
      await setImmediate();
      if (signal.aborted) throw new SvcError('interrupted', 'Stopped while reading; nothing was changed.');
    }
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

function endlessRecord(file: string): SvcError {
  const mib = MAX_RECORD_BYTES / 1024 / 1024;
  return new SvcError('bad_input', `${file} has a record of more than ${mib} MiB.`, {
    hint: 'Look for a quote that is never closed, or name the right delimiter.',
  });
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
