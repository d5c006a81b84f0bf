import { toFindingHead } from '../store/finding.js';
import type { RemapRow } from '../store/remap.js';
import { escapeJson } from '../text/escape.js';
import type { Report } from './schema.js';

/** The rows that limits which do not pass have judged. */
export function* standingRows(report: Report, rows: Iterable<RemapRow>): Generator<RemapRow> {
  const failed = report.gate.limits.filter((limit) => !limit.pass);
  const keys = new Set(
    failed.flatMap(({ contributors }) => contributors.map(({ model, key }) => JSON.stringify([model, key]))),
  );
  for (const row of rows) {
    if (keys.has(JSON.stringify([row.model, `${row.status}/${row.reason}`]))) yield row;
  }
}

/** A baseline that accepts exactly these rows until the end of the day `expires`. */
export function* renderBaseline(rows: Iterable<RemapRow>, expires: string, note: string): Generator<string> {
  yield '{\n  "schemaVersion": 1,\n  "entries": [';
  let separator = '\n    ';
  for (const row of rows) {
    yield `${separator}${escapeJson(JSON.stringify(toEntry(row, expires, note)))}`;
    separator = ',\n    ';
  }
  yield '\n  ]\n}\n';
}

/** What is null is left out: an entry asks only for what it says. */
function toEntry(row: RemapRow, expires: string, note: string): object {
  const { matched_by: _, ...head } = toFindingHead(row);
  const given = Object.entries(head).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(given), note, expires };
}
