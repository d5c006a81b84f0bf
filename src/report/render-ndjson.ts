import { toFindingHead } from '../store/finding.js';
import type { RemapRow } from '../store/remap.js';
import { escapeJson } from '../text/escape.js';

/** Rows of the remap, one JSON object a line, with its columns. The evidence keeps its own number texts. */
export function* renderNdjson(rows: Iterable<RemapRow>): Generator<string> {
  for (const row of rows) {
    const head = JSON.stringify(toFindingHead(row));
    yield `${escapeJson(`${head.slice(0, -1)},"evidence":${evidenceOf(row.evidence)}}`)}\n`;
  }
}

/** Between tokens a line break is only white space; inside strings JSON has none. */
function evidenceOf(text: string): string {
  try {
    JSON.parse(text);
    return text.replace(/[\r\n\t]/g, ' ');
  } catch {
    return JSON.stringify(text);
  }
}
