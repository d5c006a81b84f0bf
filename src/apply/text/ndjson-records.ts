import { JsonSyntaxError } from '../../json/json-scanner.js';
import type { ColumnWork } from '../column-work.js';
import { DefectLog, type OnEdit, type RecordScanner } from './records.js';
import { buildJsonRewriter, type Edit, findEdits } from './rewrite-json.js';

const LF = 0x0a;

/** Scans NDJSON: one value per line; blank lines are skipped. */
export function buildNdjsonScanner(works: readonly ColumnWork[], dataStart: number): RecordScanner {
  const rewriter = buildJsonRewriter(works, (work) => work.column.column, true);
  const log = new DefectLog();
  let rows = 0;
  let line = 0;
  const editsOf = (bytes: Buffer, start: number, end: number): readonly Edit[] => {
    rows += 1;
    try {
      return findEdits(rewriter, bytes, { start, end }).edits;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      log.add('not_json', `record ${rows} ${error.message} (byte ${error.at - start + 1} of it)`);
      return [];
    }
  };
  return {
    dialect: null,
    dataStart,
    position: () => ({ row: rows, line }),
    found: () => ({ rows, defects: log.list() }),
    scan: (bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit) => {
      let at = 0;
      while (at < length) {
        const found = bytes.indexOf(LF, at);
        const isComplete = found >= 0 && found < length;
        if (!isComplete && !isLast) return at;
        const end = isComplete ? found : length;
        line += 1;
        if (!isBlank(bytes, at, end)) {
          for (const edit of editsOf(bytes, at, end)) onEdit(edit.start, edit.end, edit.text);
        }
        at = isComplete ? end + 1 : length;
      }
      return at;
    },
  };
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}
