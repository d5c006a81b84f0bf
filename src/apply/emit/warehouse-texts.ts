import { quoteIdentifier, quoteLiteral } from '../sql-names.js';
import type { Warehouse } from './emit-request.js';

/** A table as SQL: with its schema, and its name alone, which is all that some RENAMEs take. */
export interface SqlName {
  readonly full: string;
  readonly last: string;
}

interface ParquetSource {
  readonly load: readonly string[];
  readonly from: string;
  readonly clear: readonly string[];
}

/** The SQL of one warehouse. */
export interface WarehouseText {
  readonly title: string;
  /** Begins the transaction; null: the warehouse has none for tables. */
  readonly begin: string | null;
  readonly types: { readonly integer: string; readonly text: string };
  /** After the columns of CREATE TABLE. */
  readonly tableOptions: string;
  quote(name: string): string;
  literal(text: string): string;
  /** A condition: a cell of `t` is not of the type the target says. Null: the warehouse refuses such comparisons itself. */
  isOtherType: ((cell: string, idType: 'integer' | 'text') => string) | null;
  /** Fails with the problem as its message if a query does not return the number 0. */
  assertNone(count: string, problem: string): string;
  /** An empty table like another. */
  createLike(table: string, like: string): string;
  addColumn(table: string, column: string, type: string): string;
  /** A SELECT list of all columns of `t`, some with other values; null: each column must be named. */
  replace: ((changes: readonly (readonly [column: string, term: string])[]) => string) | null;
  /** `from`: the rows of the Parquet files in a folder, as a table; `load` and `clear` go before and after its use. */
  readParquet(folder: string, table: string): ParquetSource;
  /** Gives `table` the name `aside`, and `fresh` the name `table`. */
  swap(table: SqlName, aside: SqlName, fresh: SqlName): readonly string[];
}

const backticks = (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
const escaped = (text: string) =>
  quoteLiteral(text.replaceAll('\\', '\\\\')).replaceAll(/(?!^)''(?!$)/g, "\\'");
const renames =
  (form: keyof SqlName): WarehouseText['swap'] =>
  (table, aside, fresh) => [
    `ALTER TABLE ${table.full} RENAME TO ${aside[form]}`,
    `ALTER TABLE ${fresh.full} RENAME TO ${table[form]}`,
  ];

const inPlace = (from: string): ParquetSource => ({ load: [], from, clear: [] });
const loaded = (table: string, load: readonly string[]): ParquetSource => ({
  load,
  from: table,
  clear: [`DROP TABLE IF EXISTS ${table}`],
});

/** What most warehouses have in common. */
const usual = (quote: WarehouseText['quote'], literal: WarehouseText['literal']) => ({
  begin: null,
  tableOptions: '',
  quote,
  literal,
  createLike: (table: string, like: string) => `CREATE TABLE ${table} LIKE ${like}`,
  addColumn: (table: string, column: string, type: string) =>
    `ALTER TABLE ${table} ADD COLUMN ${quote(column)} ${type}`,
  replace: (changes: readonly (readonly [column: string, term: string])[]) =>
    `t.* REPLACE (${changes.map(([column, term]) => `${term} AS ${quote(column)}`).join(', ')})`,
  swap: renames('full'),
});

/** `--emit-sql` by the name of its warehouse. */
export const WAREHOUSE_TEXTS: Readonly<Record<Warehouse, WarehouseText>> = {
  duckdb: {
    ...usual(quoteIdentifier, quoteLiteral),
    title: 'DuckDB',
    begin: 'BEGIN',
    types: { integer: 'BIGINT', text: 'VARCHAR' },
    isOtherType: (cell, idType) =>
      `typeof(${cell}) NOT IN (${idType === 'text' ? "'VARCHAR'" : "'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'"})`,
    assertNone: (count, problem) =>
      `SELECT CASE WHEN n > 0 THEN error(concat(${quoteLiteral(problem)}, ' (', n, ')')) END FROM (SELECT (${count}) AS n) AS c`,
    createLike: (table, like) => `CREATE TABLE ${table} AS SELECT * FROM ${like} LIMIT 0`,
    readParquet: (folder) =>
      inPlace(`read_parquet(${quoteLiteral(`${folder}/*.parquet`)}, hive_partitioning = false)`),
    swap: renames('last'),
  },
  clickhouse: {
    ...usual(backticks, escaped),
    title: 'ClickHouse',
    types: { integer: 'Nullable(Int64)', text: 'Nullable(String)' },
    tableOptions: ' ENGINE = MergeTree ORDER BY tuple()',
    isOtherType: (cell, idType) =>
      `NOT match(toTypeName(${cell}), '^(LowCardinality\\\\()?(Nullable\\\\()?${idType === 'text' ? 'String' : 'U?Int(8|16|32|64)'}\\\\)*$')`,
    assertNone: (count, problem) => `SELECT throwIf((${count}) > 0, ${escaped(problem)})`,
    createLike: (table, like) => `CREATE TABLE ${table} AS ${like}`,
    readParquet: (folder) => inPlace(`file(${escaped(`${folder}/*.parquet`)}, 'Parquet')`),
    swap: (table, aside, fresh) => [
      `RENAME TABLE ${table.full} TO ${aside.full}, ${fresh.full} TO ${table.full}`,
    ],
  },
  spark: {
    ...usual(backticks, escaped),
    title: 'Spark SQL',
    types: { integer: 'BIGINT', text: 'STRING' },
    isOtherType: (cell, idType) =>
      `typeof(${cell}) NOT IN (${idType === 'text' ? "'string'" : "'tinyint', 'smallint', 'int', 'bigint'"})`,
    assertNone: (count, problem) => `SELECT assert_true((${count}) = 0, ${escaped(problem)})`,
    addColumn: (table, column, type) => `ALTER TABLE ${table} ADD COLUMNS (${backticks(column)} ${type})`,
    replace: null,
    readParquet: (folder) => inPlace(`parquet.${backticks(folder)}`),
  },
  bigquery: {
    ...usual(backticks, escaped),
    title: 'BigQuery',
    types: { integer: 'INT64', text: 'STRING' },
    isOtherType: null,
    assertNone: (count, problem) =>
      `SELECT IF(n > 0, ERROR(${escaped(problem)}), 'ok') AS result FROM (SELECT (${count}) AS n) AS c`,
    readParquet: (folder, table) =>
      loaded(table, [
        `LOAD DATA OVERWRITE ${table} FROM FILES (format = 'PARQUET', uris = [${escaped(`${folder}/*.parquet`)}])`,
      ]),
    swap: renames('last'),
  },
  snowflake: {
    ...usual(quoteIdentifier, escaped),
    title: 'Snowflake',
    types: { integer: 'NUMBER(19, 0)', text: 'VARCHAR' },
    isOtherType: (cell, idType) =>
      `SYSTEM$TYPEOF(${cell}) NOT LIKE ${idType === 'text' ? "'VARCHAR%'" : "'NUMBER(%,0)%'"}`,
    // The text cannot be converted to a number: Snowflake's error message quotes it.
    assertNone: (count, problem) =>
      `SELECT CASE WHEN n > 0 THEN TO_NUMBER(CONCAT(${escaped(problem)}, ' ', n)) END AS result FROM (SELECT (${count}) AS n) AS c`,
    readParquet: (folder, table) =>
      loaded(table, [
        `CREATE OR REPLACE TABLE ${table}(path VARCHAR, region VARCHAR, v3_company_id NUMBER(19, 0), v3_svc_id NUMBER(19, 0), v4_svc_id NUMBER(19, 0), status VARCHAR, reason VARCHAR)`,
        `COPY INTO ${table} FROM ${escaped(`${folder}/`)} FILE_FORMAT = (TYPE = PARQUET) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE`,
      ]),
  },
};
