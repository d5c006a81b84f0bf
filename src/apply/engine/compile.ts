import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import type { IdMap, SqlText } from './dialect.js';
import { writesPlatformId, writtenColumn } from './id-columns.js';
import { mapMatch } from './id-maps.js';
import type { FoundTable, Ledger, TableFacts, TableOfRun } from './table-facts.js';

/** A column that a run writes in place. */
export interface RewrittenColumn {
  /** Its number in the names of columns of `rows_…`. */
  readonly at: number;
  readonly id: IdColumn;
  /** The column that is written, and its type. */
  readonly name: string;
  readonly type: string;
}

export function tableOfRun({ facts, ledger, handling, target }: FoundTable, suffix: string): TableOfRun {
  return { table: facts.table, ledger, suffix, key: handling.key, target };
}

interface CompileOptions {
  /** The table as it is now; without it, only terms of listed rows can be used. */
  readonly facts?: Pick<TableFacts, 'columns' | 'autoUpdated'>;
  /** A condition of every statement that writes, where nothing else keeps it from running; default: none. */
  readonly guard?: string;
  /** Written columns that are gone. */
  readonly gone?: readonly string[];
}

function writtenColumns(
  { platformIdType }: SqlText,
  { target }: TableOfRun,
  typeOf: (column: string) => string | undefined,
): RewrittenColumn[] {
  return target.ids.map((id, at) => {
    const name = writtenColumn(id);
    return { at, id, name, type: typeOf(name) ?? (writesPlatformId(id) ? platformIdType.type : '') };
  });
}

/** From the ids before the run to those after it, or back. */
export type Direction = 'forth' | 'back';

/** Listed rows with ids above `from`, up to and including `to`; null: all of them. */
export type Range = { readonly from: number; readonly to: number } | null;

/** For each column under a unique constraint, SQL for the temporary value of row `w` while ids swap. */
export type Parking = ReadonlyMap<string, string>;

export const NO_PARKING: Parking = new Map();

/** What `r…` of a listed row says of its cell. */
export const CELL = {
  /** Not the run's to change. */
  other: 0,
  /** To be changed, or changed. */
  ours: 1,
  /** Another program changed it before the run did. */
  skipped: 2,
  /** Another program changed it after the run did. */
  changedSince: 4,
} as const;

export function rowsTable({ suffix, ledger }: TableOfRun): string {
  return `${ledger.tables}rows_${suffix}`;
}

/** A column of a listed row before it is listed: SQL for its new value, and when it changes. */
export interface ListedColumn {
  /** Its crosswalk; null if its cells stay. */
  readonly map: IdMap | null;
  /** Of the rows that the map changes. */
  readonly where: string;
  /** Whether the written column exists already. */
  readonly isThere: boolean;
}

/** An expression that is true where all conditions are. */
function all(...conditions: readonly (readonly string[])[]): string {
  const flat = conditions.flat();
  return flat.length === 0 ? 'TRUE' : flat.join('\n  AND ');
}

function any(conditions: readonly string[]): string {
  return conditions.length === 1 ? (conditions[0] ?? '') : `(${conditions.join(' OR ')})`;
}

/**
 * Statements and terms on the list of a run: `rows_…`, with `id` from 1, `k…` (the row's key), and for each written
 * column `o…` (the cell before), `n…` (after) and `r…` (see `CELL`). They depend on nothing but their arguments. In
 * them, `w` is a row of the list and `t` a row of the table.
 */
export function compileRewrite(
  dialect: SqlText,
  run: TableOfRun,
  { facts = { columns: [], autoUpdated: [] }, guard, gone = [] }: CompileOptions = {},
) {
  const { key } = run;
  const typeOf = (column: string) => facts.columns.find(({ name }) => name === column)?.type;
  const columns = writtenColumns(dialect, run, typeOf).filter(({ name }) => !gone.includes(name));
  const list = rowsTable(run);
  const table = `${dialect.tableSql(run.table)} AS t`;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const guards = guard === undefined ? [] : [guard];
  const inRange = (range: Range) => (range === null ? [] : [`w.id > ${range.from} AND w.id <= ${range.to}`]);
  const each = (state: keyof typeof CELL) => columns.map(({ at }) => `w.r${at} = ${CELL[state]}`);
  const isOurs = any(each('ours'));

  /** The key of a listed row before or after the run, which may change it. */
  const keyTerms = (letter: 'o' | 'n') =>
    key.map((name, at) => {
      const written = columns.find((column) => column.name === name);
      return written === undefined ? `w.k${at}` : `w.${letter}${written.at}`;
    });
  /** The column of the ids that a column of platform_ids belongs to. */
  const sourceOf = ({ at, id }: RewrittenColumn) =>
    columns.find((one) => one.at === at - 1 && one.name === id.column);
  /** A term of row `w`, or its temporary value. */
  const orParked = (name: string, term: string, parking: Parking) => {
    const parked = parking.get(name);
    const column = columns.find((one) => one.name === name);
    if (parked === undefined || column === undefined) return term;
    return columns.length === 1
      ? parked
      : `CASE WHEN w.r${column.at} = ${CELL.ours} THEN ${parked} ELSE ${term} END`;
  };
  const isRow = (letter: 'o' | 'n', parking: Parking = NO_PARKING) => {
    const terms = keyTerms(letter);
    return key.map((name, at) =>
      dialect.isKey(cell(name), orParked(name, terms[at] ?? '', parking), typeOf(name)),
    );
  };
  /** A cell holds what it held before or after. A cell for a platform_id was empty, beside the id that it belongs to. */
  const holds = (column: RewrittenColumn, letter: 'o' | 'n', parking: Parking = NO_PARKING): string => {
    const { at, id, name, type } = column;
    const own = dialect.same(cell(name), orParked(name, `w.${letter}${at}`, parking), type);
    const source = sourceOf(column);
    if (letter === 'n' || !writesPlatformId(id) || source === undefined) return own;
    return `${own} AND ${holds(source, 'o', parking)}`;
  };
  const allHold = (letter: 'o' | 'n', parking: Parking = NO_PARKING) => {
    const [only, other] = columns;
    if (only !== undefined && other === undefined) return [isOurs, holds(only, letter, parking)];
    const each = columns.map((one) => `(w.r${one.at} <> ${CELL.ours} OR ${holds(one, letter, parking)})`);
    return [isOurs, ...each];
  };
  const update = (set: readonly (readonly [string, string])[], where: string) =>
    dialect.updateFrom({
      table: dialect.tableSql(run.table),
      autoUpdated: facts.autoUpdated,
      set,
      from: `${list} AS w`,
      where,
    });
  const isGone = `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${all(isRow('n'))})`;
  /** Sets the cells of listed rows, each column to a term. */
  const assign = (term: (name: string, at: number) => string) =>
    columns.map(({ at, name }): [string, string] => {
      const value = term(name, at);
      if (columns.length === 1) return [name, value];
      return [name, `CASE WHEN w.r${at} = ${CELL.ours} THEN ${value} ELSE ${cell(name)} END`];
    });
  const from = (direction: Direction) => (direction === 'forth' ? 'o' : 'n');
  const to = (direction: Direction) => (direction === 'forth' ? 'n' : 'o');

  return {
    list,
    columns,
    sourceOf,
    /** Conditions and terms on row `w`. */
    isOurs,
    isIn: (state: keyof typeof CELL) => any(each(state)),
    countIn: (state: keyof typeof CELL) =>
      `coalesce(sum(${each(state)
        .map((condition) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`)
        .join(' + ')}), 0)`,
    key: keyTerms('n'),
    keyName: dialect.keyName(keyTerms('n')),
    /** Row `t` is the listed one, after the run. */
    isRow: all(isRow('n')),
    holds,

    create: dialect.createRows(list, {
      table,
      columns: [
        ...key.map((name, at) => ({
          name: `k${at}`,
          of: cell(name),
          type: typeOf(name) ?? '',
          isKey: true,
        })),
        ...columns.flatMap(({ at, id, name, type }) =>
          ['o', 'n'].map((letter) => {
            const of = writesPlatformId(id) ? null : cell(name);
            return { name: `${letter}${at}`, of, type, isKey: key.includes(name) };
          }),
        ),
      ],
      flags: columns.map(({ at }) => `r${at}`),
      index: keyTerms('n').map((term) => term.slice('w.'.length)),
    }),
    /** Lists the rows that change. */
    insert: (
      listed: readonly ListedColumn[],
      joins: readonly string[],
      conditions: readonly string[] = [],
    ) => {
      const names = [
        ...(dialect.rowNumber === null ? [] : ['id']),
        ...key.map((_, at) => `k${at}`),
        ...columns.flatMap(({ at }) => [`o${at}`, `n${at}`, `r${at}`]),
      ];
      const changes = columns.map(({ at }) => (listed[at]?.map == null ? 'FALSE' : `m${at}.old IS NOT NULL`));
      const terms = columns.flatMap(({ at, id, name }, nth) => {
        const { map = null, isThere = true } = listed[at] ?? {};
        const present = isThere ? cell(name) : 'NULL';
        const before = writesPlatformId(id) ? 'NULL' : cell(name);
        if (map === null) return [before, present, '0'];
        const changed = changes[nth] ?? '';
        return [
          before,
          `CASE WHEN ${changed} THEN m${at}.new ELSE ${present} END`,
          `CASE WHEN ${changed} THEN 1 ELSE 0 END`,
        ];
      });
      const maps = columns.flatMap(({ at }) => {
        const { map = null, where = '' } = listed[at] ?? {};
        if (map === null) return [];
        const match = [mapMatch(dialect, map, `m${at}`), `m${at}.keep = 0`, where];
        return [`LEFT JOIN ${map.table} AS m${at} ON ${match.join(' AND ')}`];
      });
      const numbered = dialect.rowNumber === null ? [] : [dialect.rowNumber];
      return `INSERT INTO ${list}(${names.join(', ')})
SELECT ${[...numbered, ...key.map(cell), ...terms].join(', ')}
FROM ${table} ${[...joins, ...maps].join('\n  ')}
WHERE ${all([any(changes)], guards, conditions)}`;
    },
    loaded: dialect.loaded(list, ['id']),

    /** Whether new values of a column are present values of others: a row if so. */
    findSwap: ({ at, type }: RewrittenColumn, direction: Direction) => {
      const exact = (term: string) => dialect.exact(term, { type });
      const [present, other] = [exact(`p.${from(direction)}${at}`), exact(`w.${to(direction)}${at}`)];
      // MySQL finds long values only by their beginning.
      const [start, isStart] =
        present === `p.${from(direction)}${at}`
          ? ['', '']
          : [`, substr(${other}, 1, 64) AS start`, ` AND substr(${present}, 1, 64) = v.start`];
      const values = `SELECT DISTINCT ${other} AS value${start} FROM ${list} AS w WHERE w.r${at} = ${CELL.ours}`;
      return `SELECT 1 FROM ${list} AS p JOIN (${values}) AS v ON ${present} = v.value${isStart} WHERE p.r${at} = ${CELL.ours} LIMIT 1`;
    },
    /** Sets the cells of columns under unique constraints to temporary values, so that ids can swap. */
    park: (parking: Parking, direction: Direction) =>
      update(
        assign((name) => parking.get(name) ?? cell(name)),
        all(isRow(from(direction)), allHold(from(direction)), guards),
      ),
    /** Changes the listed rows that hold what they should, forth or back. */
    move: (range: Range, direction: Direction, parking: Parking = NO_PARKING) =>
      update(
        assign((_, at) => `w.${to(direction)}${at}`),
        all(inRange(range), isRow(from(direction), parking), allHold(from(direction), parking), guards),
      ),
    /** How many rows a move must change. */
    countOurs: (range: Range) => `SELECT count(*) FROM ${list} AS w WHERE ${all(inRange(range), [isOurs])}`,
    /** How many of them hold their values after a move. */
    countMoved: (range: Range, direction: Direction) =>
      `SELECT count(*) FROM ${list} AS w JOIN ${table} ON ${all(isRow(to(direction)))}
WHERE ${all(inRange(range), allHold(to(direction)))}`,
    /** How many do not hold what the run wrote. */
    countWrong: `SELECT count(*) FROM ${list} AS w LEFT JOIN ${table} ON ${all(isRow('n'), allHold('n'))}
WHERE ${all([isOurs], [`${cell(key[0] ?? '')} IS NULL`])}`,
    /** Locks the rows of a move, so that several statements see the same values; null: all rows are locked already. */
    lock: (range: Range, direction: Direction) =>
      dialect.lockRows === null
        ? null
        : `SELECT count(*) FROM (SELECT 1 AS one FROM ${list} AS w JOIN ${table} ON ${all(isRow(from(direction)))} WHERE ${all(inRange(range))} ${dialect.lockRows}) AS q`,
    /** Marks the cells that do not hold what they should, so that a move leaves them alone. */
    flag: (range: Range, direction: Direction) =>
      columns.map((column) => {
        const isThere = `EXISTS (SELECT 1 FROM ${table} WHERE ${all(isRow(from(direction)), [holds(column, from(direction))])})`;
        const state = direction === 'forth' ? CELL.skipped : CELL.changedSince;
        const where = all(inRange(range), [`w.r${column.at} = ${CELL.ours}`, `NOT ${isThere}`]);
        return `UPDATE ${list} AS w SET r${column.at} = ${state} WHERE ${where}`;
      }),
    /** Before that: forgets what is no longer in the table. */
    dropGone: `UPDATE ${list} AS w SET ${columns.map(({ at }) => `r${at} = CASE WHEN w.r${at} = ${CELL.changedSince} THEN ${CELL.other} ELSE w.r${at} END`).join(', ')}
WHERE ${any(each('changedSince'))} AND ${isGone}`,
    /** After an undo: forgets what was restored, and keeps what another program changed. */
    forget: [
      `UPDATE ${list} SET ${columns.map(({ at }) => `r${at} = CASE WHEN r${at} = ${CELL.changedSince} THEN ${CELL.ours} ELSE ${CELL.other} END`).join(', ')}`,
      `DELETE FROM ${list} WHERE ${columns.map(({ at }) => `r${at} = ${CELL.other}`).join(' AND ')}`,
    ],
    isGone,
  };
}

/** A query of the keys (`k…`) of rows that a run lists as its own under one of the labels; empty if there are none. */
function enteredKeys(dialect: SqlText, run: TableOfRun, labels: readonly string[]): string[] {
  const { list, key, columns } = compileRewrite(dialect, run);
  const own = columns.filter(({ id }) => labels.includes(columnLabel(id)));
  if (own.length === 0) return [];
  const isOurs = any(own.map(({ at }) => `w.r${at} = ${CELL.ours}`));
  return [
    `SELECT ${key.map((term, at) => `${term} AS k${at}`).join(', ')} FROM ${list} AS w WHERE ${isOurs}`,
  ];
}

/** Databases join at most about sixty tables: for each column its map, these lists, and the rest of them as one. */
const MOST_JOINED = 20;

/**
 * SQL for the rows of a table that no run lists as its own under one of the labels. `at`: sets its names apart. `columns`: how
 * many one statement may ask for. Each list is joined by itself, because MariaDB has no index on a UNION of long keys.
 */
export function rowsNotEntered(
  dialect: SqlText,
  table: string,
  key: readonly string[],
  runs: readonly TableOfRun[],
  labels: readonly string[],
  { at, columns }: { readonly at: number; readonly columns: number },
): { readonly join: string; readonly where: string; readonly sql: string } {
  const lists = runs.flatMap((run) => enteredKeys(dialect, run, labels));
  const rest = lists.splice(Math.floor(MOST_JOINED / columns)).join(' UNION ');
  const joined = (rest === '' ? lists : [...lists, rest]).map((entered, nth) => {
    const alias = `e${at}_${nth}`;
    const isRow = key.map((name, part) => dialect.isKey(`${alias}.k${part}`, `t.${dialect.quote(name)}`));
    return { join: `LEFT JOIN (${entered}) AS ${alias} ON ${all(isRow)}`, where: `${alias}.k0 IS NULL` };
  });
  const join = joined.map((one) => one.join).join('\n  ');
  const where = all(joined.map((one) => one.where));
  return { join, where, sql: `${dialect.tableSql(table)} AS t ${join} WHERE ${where}` };
}

const ARMS = 100;

/** Creates the view `ledger` of all changes that these runs carried out. */
export function createViewSql(
  dialect: SqlText,
  { run, view }: Ledger,
  runs: readonly TableOfRun[],
): readonly string[] {
  const shown = (term: string) => dialect.keyName([term]);
  const arms = runs.flatMap((plan) => {
    const { list, keyName, columns, sourceOf } = compileRewrite(dialect, plan);
    return columns.map((column) => {
      const { at } = sourceOf(column) ?? column;
      return `SELECT r.run, r.target, r.table_name, ${keyName} AS row_key, ${shown(dialect.literal(columnLabel(column.id)))} AS column_name,
  ${shown(`w.o${at}`)} AS old, ${shown(`w.n${column.at}`)} AS new, r.remap_sha256
FROM ${list} AS w JOIN ${run} AS r ON r.suffix = ${dialect.literal(plan.suffix)}
WHERE w.r${column.at} = ${CELL.ours} AND w.id <= r.done`;
    });
  });
  const empty = `SELECT run, target, table_name, ${['row_key', 'column_name', 'old', 'new'].map((name) => `${shown('run')} AS ${name}`).join(', ')}, remap_sha256
FROM ${run} WHERE unit < 0`;
  return dialect.createView(view, joinArms([empty, ...arms]));
}

/** Joins queries with UNION ALL; SQLite takes no more than 500 at once. */
function joinArms(arms: readonly string[]): string {
  if (arms.length <= ARMS) return arms.join('\nUNION ALL ');
  const parts = Array.from({ length: Math.ceil(arms.length / ARMS) }, (_, at) =>
    joinArms(arms.slice(at * ARMS, (at + 1) * ARMS)),
  );
  return joinArms(parts.map((part) => `SELECT * FROM (${part}) AS q`));
}
