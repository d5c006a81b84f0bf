import type { DUMP_FORMATS } from '../domain.js';
import { toFindingHead } from '../store/finding-rows.js';
import { REMAP_COLUMNS, type RemapRow } from '../store/remap-rows.js';
import { csvCell, escapeJson } from '../text/escape.js';
import { inBatches } from '../text/rows.js';

/** Renderers of the text formats of `dump`, all with exact values. */
export const DUMP_RENDERERS = {
  csv: renderCsv,
  ndjson: renderNdjson,
  sql: renderSql,
} as const satisfies Record<
  Exclude<(typeof DUMP_FORMATS)[number], 'parquet'>,
  (rows: Iterable<RemapRow>) => Iterable<string>
>;

/** RFC 4180 with a header; null is an empty cell, an empty text is `""`. */
function* renderCsv(rows: Iterable<RemapRow>): Generator<string> {
  const cellOf = (value: string | bigint | null) =>
    value === null ? '' : value === '' ? '""' : csvCell(String(value));
  yield `${REMAP_COLUMNS.join(',')}\r\n`;
  for (const row of rows) yield `${REMAP_COLUMNS.map((column) => cellOf(row[column])).join(',')}\r\n`;
}

/** One JSON object per row of the remap, with the members of `more`. Numbers in the evidence keep their original digits. */
export function* renderNdjson(
  rows: Iterable<RemapRow>,
  more: { readonly stale?: boolean } = {},
): Generator<string> {
  for (const row of rows) {
    const head = JSON.stringify({ ...toFindingHead(row), ...more });
    yield `${escapeJson(`${head.slice(0, -1)},"evidence":${evidenceOf(row.evidence)}}`)}\n`;
  }
}

/** The evidence on one line. Line breaks in JSON are white space: strings cannot contain them. */
function evidenceOf(text: string): string {
  try {
    JSON.parse(text);
    return text.replace(/[\r\n\t]/g, ' ');
  } catch {
    return JSON.stringify(text);
  }
}

const SQL_HEAD = `CREATE TABLE remap (
  model TEXT NOT NULL,
  path TEXT NOT NULL,
  region TEXT,
  v3_company_id BIGINT,
  v4_company_id BIGINT,
  platform_id TEXT,
  parent_platform_id TEXT,
  v3_svc_id BIGINT,
  v4_svc_id BIGINT,
  status TEXT NOT NULL,
  reason TEXT,
  matched_by TEXT,
  evidence TEXT NOT NULL
);
BEGIN;
`;

const SQL_TAIL = `COMMIT;
CREATE INDEX remap_v3 ON remap (model, v3_svc_id);
CREATE INDEX remap_v4 ON remap (model, v4_svc_id);
`;

const ROWS_PER_INSERT = 100;

/** Standard SQL for SQLite, PostgreSQL and DuckDB. */
function* renderSql(rows: Iterable<RemapRow>): Generator<string> {
  yield SQL_HEAD;
  for (const batch of inBatches(rows, ROWS_PER_INSERT)) {
    const values = batch.map((row) => `(${REMAP_COLUMNS.map((name) => sqlValue(row[name])).join(', ')})`);
    yield `INSERT INTO remap (${REMAP_COLUMNS.join(', ')}) VALUES\n${values.join(',\n')};\n`;
  }
  yield SQL_TAIL;
}

function sqlValue(value: string | bigint | null): string {
  if (value === null) return 'NULL';
  if (typeof value === 'bigint') return String(value);
  // A literal cannot hold NUL. PostgreSQL, which cannot store it, rejects this expression instead of altering the text.
  return value
    .split('\0')
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(' || char(0) || ');
}
