import { type IdColumn, newColumnOf, type WarehouseTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts } from '../context.js';
import type { SqlScript } from './build-script.js';
import type { WarehouseRequest } from './emit-request.js';
import { sqlRunName } from './emit-script.js';
import {
  assertCrosswalk,
  buildCrosswalk,
  type Crosswalk,
  checksumSql,
  REFUSED,
  REWRITTEN,
  scopeColumns,
} from './warehouse-crosswalk.js';
import { type SqlName, WAREHOUSE_TEXTS, type WarehouseText } from './warehouse-texts.js';

/** One table: its names, and its id columns with their crosswalks. */
interface WarehouseTable {
  readonly target: WarehouseTarget;
  /** As SQL: the table, the name that its old version gets, and the new version until it is swapped in. */
  readonly names: { readonly table: SqlName; readonly before: SqlName; readonly fresh: SqlName };
  readonly columns: readonly Crosswalk[];
}

interface WarehouseRun {
  readonly context: ApplyContext;
  readonly text: WarehouseText;
  readonly run: string;
  /** The name of a table `svc_migrate_…` in the schema of the first target. */
  readonly ownTable: (name: string) => string;
}

/** A query that counts rows, and what is wrong if there are any. */
type Problem = readonly [count: string, problem: string];

/**
 * Builds the SQL that rewrites tables of a warehouse: it fills a new table, compares it with the old one and swaps the
 * two. The crosswalks hold every V3 id of their models, because svc-migrate does not read the tables.
 *
 * @throws SvcError `bad_input`
 */
export function buildWarehouseScript(
  context: ApplyContext,
  targets: readonly WarehouseTarget[],
  { run }: RunFacts,
  { warehouse, parquet }: WarehouseRequest,
): SqlScript {
  const text = WAREHOUSE_TEXTS[warehouse];
  if (parquet !== null) assertCrosswalk(parquet, context.remapVersion.sha256);
  const folder = targets[0]?.table.split('.').slice(0, -1) ?? [];
  const ownTable = (name: string) => [...folder.map(text.quote), `svc_migrate_${name}`].join('.');
  const work = { context, text, run, ownTable };
  let count = 0;
  const tables = targets.map((target): WarehouseTable => {
    assertWritable(context, text, target);
    const columns = target.ids.map((id) => {
      count += 1;
      const map = ownTable(`map_${sqlRunName({ run })}_${count}`);
      return buildCrosswalk(context, id, { text, map, idType: target.idType, parquet });
    });
    return { target, columns, names: namesOf(text, target) };
  });
  const verify = tables.flatMap((table) =>
    table.columns.map(
      (column) => `(${countDifferences(work, column, table.names.before, table.names.table)})`,
    ),
  );
  const crosswalks = tables.flatMap(({ columns }) => columns);
  return {
    title: text.title,
    load: crosswalks.flatMap(({ load }) => load),
    up: [
      createRuns(work),
      ...tables.flatMap((table) => [
        ...assertNone(work, table, checksOf(work, table)),
        ...fillSql(work, table),
        ...assertNone(work, table, freshChecks(work, table)),
      ]),
      ...tables.flatMap((table) => swapIn(work, table)),
    ],
    down: tables.flatMap((table) => swapBack(work, table)),
    guards: { up: [], down: [] },
    verify: `SELECT ${verify.join('\n  + ')} AS wrong`,
    begin: text.begin,
    values: parquet === null ? crosswalks.reduce((sum, { rows }) => sum + rows, 0) : 0,
  };
}

function namesOf({ quote }: WarehouseText, { table }: WarehouseTarget): WarehouseTable['names'] {
  const name = (suffix: string): SqlName => {
    const parts = `${table}${suffix}`.split('.').map(quote);
    return { full: parts.join('.'), last: parts.at(-1) ?? '' };
  };
  return { table: name(''), before: name('__svc_v3'), fresh: name('__svc_v4') };
}

/** @throws SvcError `bad_input` */
function assertWritable(
  { policy }: ApplyContext,
  { title, replace }: WarehouseText,
  target: WarehouseTarget,
): void {
  const refuse = (what: string, hint: string): never => {
    throw new SvcError('bad_input', `Target ${target.name}: ${what}; no SQL was written.`, { hint });
  };
  if (target.ids.some(({ path }) => path !== undefined))
    refuse(
      'ids inside JSON cannot be rewritten by SQL',
      'Leave its "path" out, or rewrite the JSON elsewhere.',
    );
  if (target.ids.some(({ pattern }) => pattern !== undefined))
    refuse('ids inside text cannot be rewritten by SQL for warehouses', 'Leave its "pattern" out.');
  const names = target.ids.map(({ column }) => column);
  if (new Set(names).size < names.length) refuse('a column is named twice', 'Name each column once.');
  const unlisted = names.find((name) => target.columns?.includes(name) === false);
  if (unlisted !== undefined)
    refuse(`"columns" does not list ${unlisted}`, 'List every column of the table.');
  if (policy.mode === 'in_place' && replace === null && target.columns === undefined)
    refuse(
      `${title} needs to know all columns of ${target.table}`,
      'List them as "columns", or leave --in-place out.',
    );
}

const cell = ({ text }: WarehouseRun, column: string) => `t.${text.quote(column)}`;

function createRuns({ text, ownTable }: WarehouseRun): string {
  const columns = ['run', 'target', 'table_name', 'remap_sha256'].map((name) => `${name} ${text.types.text}`);
  return `CREATE TABLE IF NOT EXISTS ${ownTable('runs')}(${columns.join(', ')}, step ${text.types.integer})${text.tableOptions}`;
}

/** A condition: crosswalk row `m` is the one for the cell of row `t`. */
function matches(work: WarehouseRun, { id }: Crosswalk, m: string): string {
  const scopes = scopeColumns(id).map(
    (name, at) => `CAST(${cell(work, name)} AS ${work.text.types.text}) = ${m}.s${at}`,
  );
  return [`${cell(work, id.column)} = ${m}.old`, ...scopes].join(' AND ');
}

/** An expression for the value of a cell after the rewrite. */
function newValueSql(work: WarehouseRun, { id }: Crosswalk, m: string): string {
  const isNew = work.context.policy.mode === 'new';
  return `CASE WHEN ${m}.state = ${REWRITTEN} THEN ${m}.new ELSE ${isNew ? 'NULL' : cell(work, id.column)} END`;
}

/** A condition: the row's model is not one that the target maps to null. */
function isMappedModel(work: WarehouseRun, { modelColumn, models }: IdColumn): string {
  const words = Object.entries(models ?? {}).flatMap(([word, ref]) =>
    ref === null ? [work.text.literal(word)] : [],
  );
  if (modelColumn === undefined || words.length === 0) return '';
  return ` AND (${cell(work, modelColumn)} IS NULL OR ${cell(work, modelColumn)} NOT IN (${words.join(', ')}))`;
}

/** What must hold before a table changes. */
function checksOf(work: WarehouseRun, warehouseTable: WarehouseTable): Problem[] {
  const { target, columns } = warehouseTable;
  const { text, ownTable } = work;
  const table = text.literal(target.table);
  return [
    [
      `SELECT coalesce(sum(step), 0) FROM ${ownTable('runs')} WHERE table_name = ${table}`,
      'a run has rewritten the table already',
    ],
    ...columns.map(({ id, map, rows, checksum }): Problem => {
      const number = (term: string) => `CAST(${term} AS ${text.types.integer})`;
      const sum = checksumSql(number('old'), number('new'), (term, by) => `mod(${term}, ${by})`);
      return [
        `SELECT abs(${rows} - count(*)) + abs(${checksum} - ${sum}) FROM ${map}`,
        `the crosswalk of ${id.column} was not loaded completely, or is of another remap`,
      ];
    }),
    ...columns.flatMap((column) => cellChecks(work, warehouseTable, column)),
  ];
}

/** What must hold for the cells of a column before its table changes. */
function cellChecks(work: WarehouseRun, { target, names }: WarehouseTable, column: Crosswalk): Problem[] {
  const name = column.id.column;
  const id = cell(work, name);
  const isSet = `${id} IS NOT NULL${target.idType === 'text' ? ` AND ${id} <> ''` : ''}${isMappedModel(work, column.id)}`;
  const isOther = work.text.isOtherType?.(id, target.idType);
  const rows = `SELECT count(*) FROM ${names.table.full} AS t`;
  const joined = `${rows} LEFT JOIN ${column.map} AS m ON ${matches(work, column, 'm')}`;
  const problems: readonly (readonly [isChecked: boolean, ...Problem])[] = [
    [
      isOther !== undefined,
      `${rows} WHERE ${id} IS NOT NULL AND ${isOther}`,
      `${name} does not hold ${target.idType} ids (idType)`,
    ],
    [
      true,
      `${joined} WHERE m.state = ${REFUSED}`,
      `${name} has ids without a V4 id (--missing keep or null allows them)`,
    ],
    [
      work.context.policy.unknown === 'fail',
      `${joined} WHERE ${isSet} AND coalesce(m.state, 0) = 0`,
      `${name} has values that are not V3 ids of this model (--unknown keep allows them)`,
    ],
  ];
  return problems.flatMap(([isChecked, ...problem]) => (isChecked ? [problem] : []));
}

/** Makes the new table beside the old one. */
function fillSql(work: WarehouseRun, table: WarehouseTable): string[] {
  const { text, context } = work;
  const { target, names, columns } = table;
  const added = context.policy.mode === 'new' ? columns : [];
  const joins = columns.map(
    (column, at) => `\n  LEFT JOIN ${column.map} AS m${at} ON ${matches(work, column, `m${at}`)}`,
  );
  return [
    `DROP TABLE IF EXISTS ${names.fresh.full}`,
    text.createLike(names.fresh.full, names.table.full),
    ...added.map(({ id }) => text.addColumn(names.fresh.full, newColumnOf(id), text.types[target.idType])),
    `INSERT INTO ${names.fresh.full} SELECT ${selectList(work, table)}\nFROM ${names.table.full} AS t${joins.join('')}`,
  ];
}

/** What must hold for the new table before it is swapped in. */
function freshChecks(work: WarehouseRun, { names, columns }: WarehouseTable): Problem[] {
  return [
    [countOf(names.table, names.fresh), 'the new table has a different number of rows'],
    ...columns.map(
      (column): Problem => [
        countDifferences(work, column, names.table, names.fresh),
        `the new table has other values of ${column.id.column} than planned`,
      ],
    ),
  ];
}

const countOf = (one: SqlName, other: SqlName) =>
  `SELECT abs((SELECT count(*) FROM ${one.full}) - (SELECT count(*) FROM ${other.full}))`;

/** Statements that fail at the first query with a count above 0. */
function assertNone(
  { text }: WarehouseRun,
  { target }: WarehouseTable,
  problems: readonly Problem[],
): string[] {
  return problems.map(([count, problem]) =>
    text.assertNone(count, `svc-migrate: nothing was changed: ${target.name}: ${problem}`),
  );
}

function selectList(work: WarehouseRun, { target, columns }: WarehouseTable): string {
  const { text, context } = work;
  const terms = columns.map((column, at) => [column.id.column, newValueSql(work, column, `m${at}`)] as const);
  if (context.policy.mode === 'new') return ['t.*', ...terms.map(([, term]) => term)].join(', ');
  if (text.replace !== null) return text.replace(terms);
  const byName = new Map(terms);
  return (target.columns ?? []).map((name) => byName.get(name) ?? cell(work, name)).join(', ');
}

/** Counts the values that do not occur in `after` exactly as often as in `before` rewritten by the crosswalk. */
function countDifferences(work: WarehouseRun, column: Crosswalk, before: SqlName, after: SqlName): string {
  const { text, context } = work;
  const name = context.policy.mode === 'new' ? newColumnOf(column.id) : column.id.column;
  return `SELECT count(*) FROM (SELECT id, sum(times) AS difference FROM (
    SELECT ${newValueSql(work, column, 'm')} AS id, 1 AS times FROM ${before.full} AS t LEFT JOIN ${column.map} AS m ON ${matches(work, column, 'm')}
    UNION ALL SELECT t.${text.quote(name)} AS id, -1 AS times FROM ${after.full} AS t) AS both_tables GROUP BY id) AS ids WHERE difference <> 0`;
}

/** Records a run (`step` 1) or its undo (`step` -1). Adds a row for each, because not every warehouse can delete one. */
function recordSql(
  { text, context, ownTable, run }: WarehouseRun,
  target: WarehouseTarget,
  step: 1 | -1,
): string {
  const row = [run, target.name, target.table, context.remapVersion.sha256].map(text.literal);
  return `INSERT INTO ${ownTable('runs')} VALUES (${row.join(', ')}, ${step})`;
}

/** Records the run first: if the script stops before the swap is complete, it is not repeated on V4 ids. */
function swapIn(work: WarehouseRun, { target, names }: WarehouseTable): string[] {
  return [recordSql(work, target, 1), ...work.text.swap(names.table, names.before, names.fresh)];
}

/** Swaps the old table back in, unless rows were added or removed since. */
function swapBack(work: WarehouseRun, table: WarehouseTable): string[] {
  const { text, ownTable, run } = work;
  const { target, names } = table;
  const isOwn = `run = ${text.literal(run)} AND table_name = ${text.literal(target.table)}`;
  return [
    ...assertNone(work, table, [
      [
        `SELECT 1 - coalesce(sum(step), 0) FROM ${ownTable('runs')} WHERE ${isOwn}`,
        `run ${run} is not recorded`,
      ],
      [countOf(names.table, names.before), 'rows were added or removed since'],
    ]),
    ...text.swap(names.table, names.fresh, names.before),
    `DROP TABLE ${names.fresh.full}`,
    recordSql(work, target, -1),
  ];
}
