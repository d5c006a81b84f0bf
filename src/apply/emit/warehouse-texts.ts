import { quoteIdentifier, quoteLiteral } from '../sql-names.js';
import type { Warehouse } from './emit-request.js';

/** A table's name as SQL: with its schema (`full`), and alone (`last`), as RENAME takes it in some warehouses. */
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
  /** A condition: a cell of `t` is not of the type `idType`. Null: the warehouse itself refuses to compare such cells. */
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
const escapedLiteral = (text: string) =>
  quoteLiteral(text.replaceAll('\\', '\\\\')).replaceAll(/(?!^)''(?!$)/g, "\\'");
const renames =
  (form: keyof SqlName): WarehouseText['swap'] =>
  (table, aside, fresh) => [
    `ALTER TABLE ${table.full} RENAME TO ${aside[form]}`,
    `ALTER TABLE ${fresh.full} RENAME TO ${table[form]}`,
  ];

const readDirectly = (from: string): ParquetSource => ({ load: [], from, clear: [] });
const loadFirst = (table: string, load: readonly string[]): ParquetSource => ({
  load,
  from: table,
  clear: [`DROP TABLE IF EXISTS ${table}`],
});

/** The SQL that most warehouses share. */
const common = (quote: WarehouseText['quote'], literal: WarehouseText['literal']) => ({
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

/** The SQL of each warehouse, by its name in `--emit-sql`. */
export const WAREHOUSE_TEXTS: Readonly<Record<Warehouse, WarehouseText>> = {
  duckdb: {
    ...common(quoteIdentifier, quoteLiteral),
    title: 'DuckDB',
    begin: 'BEGIN',
    types: { integer: 'BIGINT', text: 'VARCHAR' },
    isOtherType: (cell, idType) =>
      `typeof(${cell}) NOT IN (${idType === 'text' ? "'VARCHAR'" : "'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'"})`,
    assertNone: (count, problem) =>
      `SELECT CASE WHEN n > 0 THEN error(concat(${quoteLiteral(problem)}, ' (', n, ')')) END FROM (SELECT (${count}) AS n) AS c`,
    createLike: (table, like) => `CREATE TABLE ${table} AS SELECT * FROM ${like} LIMIT 0`,
    readParquet: (folder) =>
      readDirectly(`read_parquet(${quoteLiteral(`${folder}/*.parquet`)}, hive_partitioning = false)`),
    swap: renames('last'),
  },
  clickhouse: {
    ...common(backticks, escapedLiteral),
    title: 'ClickHouse',
    types: { integer: 'Nullable(Int64)', text: 'Nullable(String)' },
    tableOptions: ' ENGINE = MergeTree ORDER BY tuple()',
    isOtherType: (cell, idType) =>
      `NOT match(toTypeName(${cell}), '^(LowCardinality\\\\()?(Nullable\\\\()?${idType === 'text' ? 'String' : 'U?Int(8|16|32|64)'}\\\\)*$')`,
    assertNone: (count, problem) => `SELECT throwIf((${count}) > 0, ${escapedLiteral(problem)})`,
    createLike: (table, like) => `CREATE TABLE ${table} AS ${like}`,
    readParquet: (folder) => readDirectly(`file(${escapedLiteral(`${folder}/*.parquet`)}, 'Parquet')`),
    swap: (table, aside, fresh) => [
      `RENAME TABLE ${table.full} TO ${aside.full}, ${fresh.full} TO ${table.full}`,
    ],
  },
  spark: {
    ...common(backticks, escapedLiteral),
    title: 'Spark SQL',
    types: { integer: 'BIGINT', text: 'STRING' },
    isOtherType: (cell, idType) =>
      `typeof(${cell}) NOT IN (${idType === 'text' ? "'string'" : "'tinyint', 'smallint', 'int', 'bigint'"})`,
    assertNone: (count, problem) => `SELECT assert_true((${count}) = 0, ${escapedLiteral(problem)})`,
    addColumn: (table, column, type) => `ALTER TABLE ${table} ADD COLUMNS (${backticks(column)} ${type})`,
    replace: null,
    readParquet: (folder) => readDirectly(`parquet.${backticks(folder)}`),
  },
  bigquery: {
    ...common(backticks, escapedLiteral),
    title: 'BigQuery',
    types: { integer: 'INT64', text: 'STRING' },
    isOtherType: null,
    assertNone: (count, problem) =>
      `SELECT IF(n > 0, ERROR(${escapedLiteral(problem)}), 'ok') AS result FROM (SELECT (${count}) AS n) AS c`,
    readParquet: (folder, table) =>
      loadFirst(table, [
        `LOAD DATA OVERWRITE ${table} FROM FILES (format = 'PARQUET', uris = [${escapedLiteral(`${folder}/*.parquet`)}])`,
      ]),
    swap: renames('last'),
  },
  snowflake: {
    ...common(quoteIdentifier, escapedLiteral),
    title: 'Snowflake',
    types: { integer: 'NUMBER(19, 0)', text: 'VARCHAR' },
    isOtherType: (cell, idType) =>
      `SYSTEM$TYPEOF(${cell}) NOT LIKE ${idType === 'text' ? "'VARCHAR%'" : "'NUMBER(%,0)%'"}`,
    // The conversion fails on purpose: Snowflake's error message quotes the text.
    assertNone: (count, problem) =>
      `SELECT CASE WHEN n > 0 THEN TO_NUMBER(CONCAT(${escapedLiteral(problem)}, ' ', n)) END AS result FROM (SELECT (${count}) AS n) AS c`,
    readParquet: (folder, table) =>
      loadFirst(table, [
        `CREATE OR REPLACE TABLE ${table}(path VARCHAR, region VARCHAR, v3_company_id NUMBER(19, 0), v3_svc_id NUMBER(19, 0), v4_svc_id NUMBER(19, 0), status VARCHAR, reason VARCHAR)`,
        `COPY INTO ${table} FROM ${escapedLiteral(`${folder}/`)} FILE_FORMAT = (TYPE = PARQUET) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE`,
      ]),
  },
};
