import { closeSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CsvTarget } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import { findOutput, type SideCar } from '../files/side-car.js';
import { detectDialect, readRecord } from '../text/csv-dialect.js';
import {
  addJsonLeaves,
  bounded,
  type ColumnSample,
  PathValues,
  type PlaceSample,
  SAMPLED_BYTES,
  SAMPLED_VALUES,
} from './column-sample.js';

const LF = 0x0a;

/**
 * Samples the start of a CSV file.
 *
 * @throws SvcError `bad_input`
 */
export async function sampleCsv({ file, header: hasHeader }: CsvTarget): Promise<PlaceSample> {
  const { bytes, isWhole } = readHead(file);
  const written = findOutput(dirname(file), await sha256OfFile(file));
  const dialect = detectDialect(bytes, { file, delimiter: 'auto', header: hasHeader, columns: [] });
  const names = hasHeader ? dialect.header : Array.from({ length: dialect.width }, (_, at) => `#${at + 1}`);
  const values = names.map(() => new Set<string>());
  for (let at = dialect.dataStart; at < bytes.length; ) {
    const { cells, end } = readRecord(bytes, at, dialect);
    if (end >= bytes.length && !isWhole) break;
    for (const [place, cell] of cells.entries()) addTo(values[place], cell);
    at = end;
  }
  const columns = names.map((column, at): ColumnSample => {
    const { values: seen, isWhole: all } = bounded(values[at] ?? new Set());
    return {
      table: null,
      column,
      path: null,
      values: seen,
      isWhole: all && isWhole,
      isKey: false,
      run: runOf(written, column),
    };
  });
  return { columns, unseen: [] };
}

function addTo(values: Set<string> | undefined, cell: string): void {
  if (values !== undefined && cell !== '' && values.size <= SAMPLED_VALUES) values.add(cell);
}

/**
 * Samples the start of an NDJSON file.
 *
 * @throws SvcError `bad_input`
 */
export async function sampleNdjson(file: string): Promise<PlaceSample> {
  const { bytes, isWhole } = readHead(file);
  const written = findOutput(dirname(file), await sha256OfFile(file));
  const end = isWhole ? bytes.length : bytes.lastIndexOf(LF);
  const leaves = new PathValues();
  for (const line of bytes.toString('utf8', 0, Math.max(0, end)).split('\n')) {
    if (line.trim() !== '') addJsonLeaves(line, leaves);
  }
  const columns = leaves.list((column) => ({ table: null, column, path: null, run: runOf(written, column) }));
  return { columns: columns.map((one) => ({ ...one, isWhole: one.isWhole && isWhole })), unseen: [] };
}

function runOf(written: SideCar | null, column: string): string | null {
  return written?.columns.some((one) => one.column === column) === true ? written.run : null;
}

function readHead(file: string): { readonly bytes: Buffer; readonly isWhole: boolean } {
  try {
    const fd = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(SAMPLED_BYTES + 1);
      let length = 0;
      for (let got = -1; got !== 0 && length < bytes.length; length += got) {
        got = readSync(fd, bytes, length, bytes.length - length, null);
      }
      return { bytes: bytes.subarray(0, Math.min(length, SAMPLED_BYTES)), isWhole: length <= SAMPLED_BYTES };
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { cause });
  }
}
