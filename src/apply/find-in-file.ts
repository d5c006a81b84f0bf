import { closeSync, openSync, readSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { type FindResult, type Proposal, propose } from './find.js';
import type { RemapIds } from './remap-ids.js';

/** Bytes at the start of a file that are looked at. */
const SAMPLE_BYTES = 2 ** 21;

export function findInFile(file: string, kind: 'csv' | 'ndjson', remap: RemapIds): FindResult {
  const lines = readStart(file).split('\n');
  // The last line may be cut.
  const text = lines.length > 2 ? lines.slice(0, -1).join('\n') : lines.join('\n');
  const columns = kind === 'csv' ? findInCsv(text, remap) : findInLines(text.split('\n'), remap);
  return { columns, unseen: [] };
}

function readStart(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(SAMPLE_BYTES);
    return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, 0)).toString();
  } finally {
    closeSync(handle);
  }
}

function findInCsv(text: string, remap: RemapIds): Proposal[] {
  const [head = []] = parse(text, {
    to: 1,
    bom: true,
    relaxColumnCount: true,
    delimiter: [',', ';', '\t', '|'],
  });
  const rows = parse(text, {
    bom: true,
    relaxColumnCount: true,
    relaxQuotes: true,
    skipRecordsWithError: true,
    delimiter: [',', ';', '\t', '|'],
    fromLine: 2,
  });
  return head.flatMap((column, at) => {
    const values = new Set(rows.map((row) => row[at] ?? '').filter((value) => value !== ''));
    return propose({ table: null, column }, [...values], remap);
  });
}

function findInLines(lines: readonly string[], remap: RemapIds): Proposal[] {
  const values = lines.map((line) => line.trim()).filter((line) => line !== '');
  return propose({ table: null, column: '' }, values, remap).flatMap((proposal) =>
    proposal.path === null ? [] : [{ ...proposal, column: proposal.path, path: null }],
  );
}
