import { randomUUID } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { columnLabel, type FileTarget, modelLabel, outputOf } from '../../config/apply-targets.js';
import type { OnProgress } from '../../domain.js';
import { describeFileError, SvcError } from '../../errors.js';
import { at } from '../../text/at.js';
import type { Obstacle } from '../db/database.js';
import { describeEmptyPaths, judgeValue } from '../judge.js';
import type { RemapIds } from '../remap-ids.js';
import { isUnmapped, NO_ID_AT_PATH, type OutcomeCount, sumOf, Tally, type Verdict } from '../verdict.js';
import type { FileFormat, OnNothing, RewriteCell } from './formats.js';
import { openCsv, openNdjson } from './formats.js';

/**
 * Files are a filter: records are read, their ids are mapped, and a new file is written beside. Every other byte stays:
 * texts here are bytes in Latin-1.
 */

export interface FilePlan {
  readonly rows: number;
  readonly columns: readonly {
    readonly column: string;
    readonly model: string;
    readonly counts: readonly OutcomeCount[];
    readonly notes: readonly Obstacle[];
  }[];
}

export interface WrittenFile extends FilePlan {
  readonly output: string;
}

export interface CheckedFile {
  readonly output: string;
  readonly exists: boolean;
  readonly checked: number;
  readonly wrongCount: number;
  readonly wrong: readonly string[];
  /** Records that the new file does not have. */
  readonly missing: number;
  readonly noIdAtPath: number;
}

const MOST_NAMED = 5;

export async function planFile(
  target: FileTarget,
  remap: RemapIds,
  onProgress: OnProgress,
): Promise<FilePlan> {
  const mapper = buildMapper(target, remap);
  let rows = 0;
  for await (const { format, record, row } of readRecords(target, target.file, onProgress)) {
    format.rewrite(record, row, mapper.rewrite, mapper.onNothing);
    rows = row;
  }
  return { rows, columns: mapper.count() };
}

/**
 * Writes the new file. Ids without a V4 id become empty.
 *
 * @throws SvcError `bad_input` if the new file is another program's, or ids have no V4 id and `partial` is not set;
 * `locked` if another process wrote it first or takes it back
 */
export async function writeFile(
  target: FileTarget,
  remap: RemapIds,
  { partial, onProgress }: { readonly partial: boolean; readonly onProgress: OnProgress },
): Promise<WrittenFile> {
  const output = outputOf(target);
  const isThere = await isWritten(target);
  const mapper = buildMapper(target, remap);
  const temporary = `${output}.${randomUUID()}.svc-migrate-tmp`;
  let rows = 0;
  await onDisk(output, async () => {
    const fd = openSync(temporary, 'w', statSync(target.file).mode & 0o777);
    try {
      for await (const { format, head, record, row } of readRecords(target, target.file, onProgress)) {
        writeText(
          fd,
          head + (row === 0 ? '' : format.rewrite(record, row, mapper.rewrite, mapper.onNothing)),
        );
        rows = row;
      }
      if (!partial && mapper.hasUnmapped())
        throw new SvcError('bad_input', `${target.file} has ids without a V4 id; nothing was written.`, {
          hint: 'Leave their cells empty with --partial.',
        });
      fsyncSync(fd);
      // A link never replaces a file that was created meanwhile.
      if (isThere) renameSync(temporary, output);
      else linkSync(temporary, output);
    } finally {
      closeSync(fd);
      rmSync(temporary, { force: true });
    }
  });
  return { output, rows, columns: mapper.count() };
}

export async function checkFile(
  target: FileTarget,
  remap: RemapIds,
  onProgress: OnProgress,
): Promise<CheckedFile> {
  const output = outputOf(target);
  if (!isFile(output))
    return { output, exists: false, checked: 0, wrongCount: 0, wrong: [], missing: 0, noIdAtPath: 0 };
  const mapper = buildMapper(target, remap);
  const written = readRecords(target, output, () => {});
  const wrong: string[] = [];
  let wrongCount = 0;
  let missing = 0;
  for await (const { format, head, record, row } of readRecords(target, target.file, onProgress)) {
    const expected = row === 0 ? head : format.rewrite(record, row, mapper.rewrite, mapper.onNothing);
    const { value, done } = await written.next();
    if (done === true) missing += 1;
    else if ((row === 0 ? value.head : value.record) !== expected) {
      wrongCount += 1;
      if (wrong.length < MOST_NAMED) wrong.push(row === 0 ? 'header' : `record ${row}`);
    }
  }
  for await (const { row } of written) {
    wrongCount += 1;
    if (wrong.length < MOST_NAMED) wrong.push(`record ${row}`);
  }
  const counts = mapper.count().flatMap((column) => column.counts);
  const rowsOf = (outcome: string) =>
    sumOf(
      counts.filter(({ name }) => name === outcome),
      'rows',
    );
  return {
    output,
    exists: true,
    checked: rowsOf('mapped'),
    wrongCount,
    wrong,
    missing,
    noIdAtPath: rowsOf(NO_ID_AT_PATH),
  };
}

/** Removes the new file. @throws SvcError `bad_input` if it is not made of the old one */
export async function undoFile(
  target: FileTarget,
): Promise<{ readonly output: string; readonly removed: boolean }> {
  const output = outputOf(target);
  const removed = await isWritten(target);
  await onDisk(output, async () => {
    // Another undo may remove it first.
    if (removed) rmSync(output, { force: true });
    const [folder, prefix] = [dirname(output), `${basename(output)}.`];
    const isOurs = (name: string) =>
      name.startsWith(prefix) && /^[0-9a-f-]{36}\.svc-migrate-tmp$/.test(name.slice(prefix.length));
    for (const name of readdirSync(folder).filter(isOurs)) rmSync(join(folder, name), { force: true });
  });
  return { output, removed };
}

/**
 * Whether the new file exists. It is recognized by its records, which differ from the old file only in their ids; the old
 * file may have got more since.
 */
async function isWritten(target: FileTarget): Promise<boolean> {
  const output = outputOf(target);
  if (resolve(output) === resolve(target.file))
    throw new SvcError('usage', `The new file of ${target.name} would replace ${target.file}.`, {
      hint: 'Name another "output".',
    });
  if (!isFile(output)) return false;
  const records = readRecords(target, target.file, () => {});
  const blank: RewriteCell = () => '';
  try {
    for await (const { format, head, record, row } of readRecords(target, output, () => {})) {
      const { value, done } = await records.next();
      if (done === true || value.head !== head) throw foreign(output, target);
      if (row > 0 && format.rewrite(record, row, blank) !== value.format.rewrite(value.record, row, blank))
        throw foreign(output, target);
    }
  } catch (error) {
    throw error instanceof SvcError && error.code === 'bad_input' ? foreign(output, target) : error;
  }
  return true;
}

function foreign(output: string, { file }: FileTarget): SvcError {
  return new SvcError(
    'bad_input',
    `${output} was not written from ${file}, or one of them was changed since.`,
    {
      hint: 'Move it away, or name another "output".',
    },
  );
}

interface JudgedId {
  readonly value: string;
  readonly verdict: Verdict;
  rows: number;
}

function buildMapper(target: FileTarget, remap: RemapIds) {
  const judged = target.ids.map(() => new Map<string, JudgedId>());
  const nothing = target.ids.map(() => ({ rows: 0, document: '' }));
  const onNothing: OnNothing = (index, document) => {
    const records = at(nothing, index);
    if (records.rows === 0) records.document = document;
    records.rows += 1;
  };
  const rewrite: RewriteCell = (index, value, scope) => {
    const ids = at(judged, index);
    const key = scope.model === null && scope.region === null ? value : JSON.stringify([value, scope]);
    let id = ids.get(key);
    if (id === undefined) {
      id = { value, verdict: judgeValue(remap, at(target.ids, index), value, scope), rows: 0 };
      ids.set(key, id);
    }
    id.rows += 1;
    if (isUnmapped(id.verdict.reason)) return '';
    return id.verdict.new === null ? null : String(id.verdict.new);
  };
  return {
    rewrite,
    onNothing,
    hasUnmapped: () =>
      judged.some((ids) => [...ids.values()].some(({ verdict }) => isUnmapped(verdict.reason))),
    count: () =>
      target.ids.map((ids, index) => {
        const tally = new Tally();
        for (const { value, verdict, rows } of at(judged, index).values()) tally.add(value, verdict, rows);
        const { rows, document } = at(nothing, index);
        if (rows > 0) tally.add(document, { new: null, reason: NO_ID_AT_PATH, isAccepted: true }, rows);
        const isWrong = rows > 0 && at(judged, index).size === 0;
        const notes = describeEmptyPaths(target.file, [ids], new Map(isWrong ? [[0, document]] : []));
        return { column: columnLabel(ids), model: modelLabel(ids), counts: tally.list(), notes };
      }),
  };
}

interface FileRecord {
  readonly format: FileFormat;
  /** What comes before the first record; '' from then on. */
  readonly head: string;
  readonly record: string;
  /** Counted from 1; 0 for the head. */
  readonly row: number;
}

const CHUNK_BYTES = 1024 * 1024;
const MAX_RECORD_CHARS = 64 * 1024 * 1024;

async function* readRecords(
  target: FileTarget,
  file: string,
  onProgress: OnProgress,
): AsyncGenerator<FileRecord, void> {
  const total = sizeOf(file);
  const head = readHead(file);
  const format = target.kind === 'csv' ? openCsv(target, head) : openNdjson(target, head);
  yield { format, head: head.slice(0, format.dataStart), record: '', row: 0 };
  const stream = createReadStream(file, {
    encoding: 'latin1',
    highWaterMark: CHUNK_BYTES,
    start: format.dataStart,
  });
  let rest = '';
  let row = 0;
  let done = 0;
  const take = function* (text: string, isLast: boolean): Generator<FileRecord> {
    let start = 0;
    while (start < text.length) {
      const end = format.split(text, start, isLast);
      if (end === null) break;
      row += 1;
      yield { format, head: '', record: text.slice(start, end), row };
      start = end;
    }
    rest = text.slice(start);
  };
  let tried = 0;
  for await (const chunk of stream) {
    const text = String(chunk);
    done += text.length;
    onProgress({ kind: 'step', name: `reading ${basename(file)}`, done, total });
    rest += text;
    // Search a long record again only when twice as much of it was read: the time stays linear.
    if (rest.length < 2 * tried) continue;
    yield* take(rest, false);
    tried = rest.length;
    if (rest.length <= MAX_RECORD_CHARS) continue;
    throw new SvcError(
      'bad_input',
      `${file} has a record of more than ${MAX_RECORD_CHARS / 1024 / 1024} MiB.`,
      {
        hint: 'Look for a quote that is never closed, or name the right delimiter.',
      },
    );
  }
  yield* take(rest, true);
}

function sizeOf(file: string): number {
  const stats = onInput(file, () => statSync(file));
  if (!stats.isFile()) throw new SvcError('bad_input', `${file} is not a regular file.`);
  return stats.size;
}

function readHead(file: string): string {
  return onInput(file, () => {
    const fd = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(CHUNK_BYTES);
      return buffer.toString('latin1', 0, readSync(fd, buffer, 0, CHUNK_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  });
}

function onInput<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { cause });
  }
}

async function onDisk(output: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SvcError || !(error instanceof Error) || !('code' in error)) throw error;
    // Another write has made the new file, or an undo has removed the temporary one.
    const isLate =
      error.code === 'ENOENT' && 'syscall' in error && /^(?:link|rename)$/.test(String(error.syscall));
    if (error.code === 'EEXIST' || isLate)
      throw new SvcError('locked', `Another process is working on ${output}.`, {
        hint: 'Wait until it has finished, then run the same command again.',
        cause: error,
      });
    throw new SvcError('disk', `${output} cannot be written: ${describeFileError(error)}.`, { cause: error });
  }
}

function writeText(fd: number, text: string): void {
  const bytes = Buffer.from(text, 'latin1');
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
