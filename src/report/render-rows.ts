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

/** Text of any length: in MySQL and MariaDB, TEXT alone holds 64 KiB. */
const TEXT = 'TEXT/*!40101 (4294967295)*/';

const SQL_HEAD = `-- The remap for SQLite, PostgreSQL, MySQL and MariaDB. Load it into a database that has no table "remap":
--   sqlite3 -bail FILE < remap.sql    psql -v ON_ERROR_STOP=1 -f remap.sql    mariadb DATABASE < remap.sql
/*!40101 SET NAMES utf8mb4 */;
/*!40101 SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES' */;
CREATE TABLE remap (
  model ${TEXT} NOT NULL,
  path ${TEXT} NOT NULL,
  region ${TEXT},
  v3_company_id BIGINT,
  v4_company_id BIGINT,
  platform_id ${TEXT},
  parent_platform_id ${TEXT},
  v3_svc_id BIGINT,
  v4_svc_id BIGINT,
  status ${TEXT} NOT NULL,
  reason ${TEXT},
  matched_by ${TEXT},
  evidence ${TEXT} NOT NULL
)/*!40101 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */;
BEGIN;
-- Fails where this file is not read as UTF-8; for psql, set PGCLIENTENCODING=UTF8.
INSERT INTO remap (model, path, status, evidence) VALUES ('', '', CASE WHEN substr('é', 2) = '' THEN '' END, '');
DELETE FROM remap WHERE model = '';
`;

const SQL_TAIL = `COMMIT;
CREATE INDEX remap_v3 ON remap (v3_svc_id);
CREATE INDEX remap_v4 ON remap (v4_svc_id);
`;

const ROWS_PER_INSERT = 100;

/**
 * Characters that the databases or their clients read differently inside a literal: each is written as a code and put in
 * by an UPDATE after the last row. Beside it stands how SQL spells it. The percent sign, with which the codes begin, is
 * the last. PostgreSQL, which cannot store NUL, refuses its spelling, and with it the whole file.
 */
const CODES: readonly (readonly [character: string, sql: string])[] = [
  ['\\', "'\\'"],
  ['\r', "'\r'"],
  ['\n', "'\n'"],
  ['\0', 'char(0/*! USING utf8mb4*/)'],
  ['%', "'%'"],
];
const CODED = /[\\\r\n\0%]/g;

/** Text that SQLite, PostgreSQL, MySQL and MariaDB read alike. Only the last two run comments that begin with `!`. */
function* renderSql(rows: Iterable<RemapRow>): Generator<string> {
  const coded = new Map<string, Set<number>>();
  const spell = (name: string, value: string | bigint | null) => {
    if (value === null) return 'NULL';
    if (typeof value === 'bigint') return String(value);
    const text = value.replace(CODED, (found) => {
      const code = CODES.findIndex(([character]) => character === found);
      coded.set(name, (coded.get(name) ?? new Set()).add(code));
      return `%${code}`;
    });
    return `'${text.replaceAll("'", "''")}'`;
  };
  yield SQL_HEAD;
  for (const batch of inBatches(rows, ROWS_PER_INSERT)) {
    const values = batch.map((row) => `(${REMAP_COLUMNS.map((name) => spell(name, row[name])).join(', ')})`);
    yield `INSERT INTO remap (${REMAP_COLUMNS.join(', ')}) VALUES\n${values.join(',\n')};\n`;
  }
  for (const [column, codes] of coded) yield decodeColumn(column, codes);
  yield SQL_TAIL;
}

function decodeColumn(column: string, codes: ReadonlySet<number>): string {
  const decoded = CODES.reduce(
    (sql, [, character], code) => (codes.has(code) ? `replace(${sql}, '%${code}', ${character})` : sql),
    column,
  );
  return `UPDATE remap SET ${column} = ${decoded} WHERE ${column} LIKE '%!%%' ESCAPE '!';\n`;
}
