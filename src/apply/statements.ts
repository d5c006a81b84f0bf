import type { CrosswalkColumn } from './crosswalk.js';
import type { ColumnFacts, Database, TableDefinition, TableFacts } from './db/database.js';

/**
 * The statements of apply, for one column each. `t` is the table, `m` the crosswalk of the column: a row for each stored
 * value, with its V4 id (`new`) or the `reason` why there is none.
 *
 * write   COLUMN_v4 = the crosswalk's `new` of COLUMN
 * switch  COLUMN_v3 = COLUMN, COLUMN = COLUMN_v4
 * undo    COLUMN = COLUMN_v3 where COLUMN is still COLUMN_v4; then everything that was added is dropped
 */

/** Reasons of values that are not ids of the service: their cells are never touched. */
const NO_IDS = "('empty', 'not_ours', 'no_id_at_path')";

/** A table in the schema of the user's table, quoted. */
export function besideTable(db: Database, { schema }: Pick<TableFacts, 'schema'>, name: string): string {
  return schema === null ? db.quote(name) : `${db.quote(schema)}.${db.quote(name)}`;
}

export function tableSql(db: Database, table: TableFacts): string {
  return besideTable(db, table, table.name);
}

export function crosswalkSql(db: Database, { table, crosswalk }: CrosswalkColumn): string {
  return besideTable(db, table, crosswalk);
}

export function crosswalkDefinition(db: Database, column: CrosswalkColumn): TableDefinition {
  const { holds } = column.column;
  const type = holds === 'integer' || holds === 'any' ? holds : 'text';
  return {
    table: crosswalkSql(db, column),
    columns: [
      { name: 'old', type, isNullable: false },
      ...scopeNames(column).map((name) => ({ name, type: 'name' as const, isNullable: false })),
      { name: 'new', type, isNullable: true },
      { name: 'reason', type: 'name', isNullable: true },
    ],
    key: ['old', ...scopeNames(column)],
  };
}

/** The columns of the crosswalk, in the order of its rows. */
export function crosswalkColumns(column: CrosswalkColumn): string[] {
  return ['old', ...scopeNames(column), 'new', 'reason'];
}

export function scopeNames({ model, region }: CrosswalkColumn): ('model' | 'region')[] {
  return [...(model === null ? [] : (['model'] as const)), ...(region === null ? [] : (['region'] as const))];
}

interface Terms {
  readonly t: string;
  readonly m: string;
  readonly q: (name: string) => string;
  readonly of: (name: string) => string;
  /** A cell as the crosswalk holds it. */
  readonly exact: (name: string) => string;
  readonly on: (cell: string) => string;
  readonly scopes: readonly string[];
  readonly fresh: string;
}

function termsOf(db: Database, column: CrosswalkColumn): Terms {
  const q = (name: string) => db.quote(name);
  const of = (name: string) => `t.${q(name)}`;
  const exact = (name: string) => db.exact(column.column, of(name));
  const scope = (facts: ColumnFacts) =>
    `coalesce(${db.exact({ holds: 'text', type: 'text' }, of(facts.name))}, '')`;
  const scopes = [column.model, column.region].flatMap((facts) => (facts === null ? [] : [scope(facts)]));
  const names = scopeNames(column);
  const on = (cell: string) =>
    [db.isOld(column.column, 'm.old', cell), ...scopes.map((term, at) => `m.${names[at]} = ${term}`)].join(
      ' and ',
    );
  const fresh = db.stored(column.column, 'm.new');
  return { t: tableSql(db, column.table), m: crosswalkSql(db, column), q, of, exact, on, scopes, fresh };
}

/** Distinct values with model and region, and the number of their rows. Indexes of integers grow fastest in order. */
export function selectValues(db: Database, column: CrosswalkColumn): string {
  const { t, of, exact, scopes } = termsOf(db, column);
  const terms = [exact(column.column.name), ...scopes];
  const group = terms.map((_, at) => at + 1).join(', ');
  const order = column.column.holds === 'integer' ? ` order by ${group}` : '';
  return `select ${terms.join(', ')}, count(*) from ${t} as t where ${of(column.column.name)} is not null group by ${group}${order}`;
}

export function countStored(db: Database, column: CrosswalkColumn): string {
  const { t, q } = termsOf(db, column);
  return `select count(${q(column.column.name)}) from ${t}`;
}

export function selectCrosswalk(db: Database, column: CrosswalkColumn): string {
  return `select ${crosswalkColumns(column)
    .map((name) => db.quote(name))
    .join(', ')} from ${crosswalkSql(db, column)}`;
}

/** A row if the crosswalk has ids without a V4 id. */
export function selectUnmapped(db: Database, column: CrosswalkColumn): string {
  return `select 1 from ${crosswalkSql(db, column)} where reason not in ${NO_IDS} limit 1`;
}

export function addColumn(db: Database, column: CrosswalkColumn, name: string): string {
  return `alter table ${tableSql(db, column.table)} add column ${db.quote(name)} ${column.column.type}`.trimEnd();
}

export function dropColumn(db: Database, column: CrosswalkColumn, name: string): string {
  return `alter table ${tableSql(db, column.table)} drop column ${db.quote(name)}`;
}

/** For a column that cannot be dropped. */
export function emptyColumn(db: Database, column: CrosswalkColumn, name: string): string {
  return `update ${tableSql(db, column.table)} set ${db.quote(name)} = null where ${db.quote(name)} is not null`;
}

/** `old`: the column of the V3 ids, COLUMN_v3 after the switch. */
export function fillColumn(db: Database, column: CrosswalkColumn, old = column.column.name): string[] {
  const { t, m, q, of, exact, on, fresh } = termsOf(db, column);
  const v4 = of(column.v4);
  return [
    db.updateFrom({
      table: t,
      from: m,
      on: on(exact(old)),
      set: [[column.v4, fresh]],
      where: `not (${db.isSame(column.column, v4, fresh)})`,
    }),
    `update ${t} set ${q(column.v4)} = null where ${q(old)} is null and ${q(column.v4)} is not null`,
  ];
}

/**
 * The state of a row, before the switch: `null`, `missing` (a value that came since), `wrong` (COLUMN_v4 is not what the
 * crosswalk says), `mapped`, or the reason why there is no V4 id.
 */
function writtenState(db: Database, column: CrosswalkColumn): string {
  const { of, fresh } = termsOf(db, column);
  const [c, v4] = [of(column.column.name), of(column.v4)];
  return `case when ${c} is null then case when ${v4} is null then 'null' else 'wrong' end
    when m.old is null then 'missing'
    when not (${db.isSame(column.column, v4, fresh)}) then 'wrong'
    else coalesce(m.reason, 'mapped') end`;
}

/**
 * The state of a row, after the switch: the same of COLUMN_v3, and `changed` (COLUMN is not COLUMN_v4 any more) or
 * `since` (the row came after the switch).
 */
function switchedState(db: Database, column: CrosswalkColumn): string {
  const { of, fresh } = termsOf(db, column);
  const [c, v3, v4] = [of(column.column.name), of(column.v3), of(column.v4)];
  return `case when ${v3} is null then case when ${v4} is not null then 'wrong'
      when ${c} is null then 'null' when m.reason in ${NO_IDS} then m.reason else 'since' end
    when m.old is null then case when ${db.isSame(column.column, c, v4)} then 'missing' else 'changed' end
    when not (${db.isSame(column.column, v4, fresh)}) then 'wrong'
    when not (${db.isSame(column.column, c, v4)}) then 'changed'
    else coalesce(m.reason, 'mapped') end`;
}

/** The same after the switch without a crosswalk, which could tell values of something else from rows that came since. */
function aloneState(db: Database, column: CrosswalkColumn): string {
  const { of } = termsOf(db, column);
  const [c, v3, v4] = [of(column.column.name), of(column.v3), of(column.v4)];
  return `case when ${v3} is null then case when ${c} is null then 'null' else 'since' end
    when not (${db.isSame(column.column, c, v4)}) then 'changed' else 'mapped' end`;
}

/** `alone`: switched, and the crosswalk is gone. */
export type Phase = 'written' | 'switched' | 'alone';

function joinRows(
  db: Database,
  column: CrosswalkColumn,
  phase: Phase,
): { readonly from: string; readonly state: string } {
  const { t, m, exact, on } = termsOf(db, column);
  if (phase === 'alone') return { from: `${t} as t`, state: aloneState(db, column) };
  const cell = exact(column.column.name);
  const key = phase === 'switched' ? `coalesce(${exact(column.v3)}, ${cell})` : cell;
  const state = phase === 'switched' ? switchedState(db, column) : writtenState(db, column);
  return { from: `${t} as t left join ${m} as m on ${on(key)}`, state };
}

/** The number of rows in each state. */
export function countRows(db: Database, column: CrosswalkColumn, phase: Phase): string {
  const { from, state } = joinRows(db, column, phase);
  return `select ${state} as state, count(*) from ${from} group by 1`;
}

/** The keys of the first rows in some states. */
export function nameRows(
  db: Database,
  column: CrosswalkColumn,
  phase: Phase,
  states: readonly string[],
  most: number,
): string {
  const { from, state } = joinRows(db, column, phase);
  const terms = keyTerms(db, column);
  const list = states.map((text) => db.literal(text)).join(', ');
  const order = terms.map((_, at) => at + 1).join(', ');
  return `select ${terms.join(', ')} from ${from} where ${state} in (${list}) order by ${order} limit ${most}`;
}

/** Rows that keep a column from being switched. */
export function guardRows(db: Database, column: CrosswalkColumn, isEmptying: boolean): string {
  const { from, state } = joinRows(db, column, 'written');
  const unmapped = isEmptying ? '' : ` or m.reason not in ${NO_IDS}`;
  return `select 1 from ${from} where ${state} in ('missing', 'wrong')${unmapped}`;
}

/** Rows in some states after the switch, such as rows in which a trigger wrote something else. */
export function switchedRows(db: Database, column: CrosswalkColumn, states: readonly string[]): string {
  const { from, state } = joinRows(db, column, 'switched');
  return `select 1 from ${from} where ${state} in (${states.map((text) => db.literal(text)).join(', ')})`;
}

/** Rows that an undo did not take back as it said: COLUMN_v3 is empty, and COLUMN still holds the V4 id. */
export function unrestoredRows(db: Database, column: CrosswalkColumn): string {
  const { from, state } = joinRows(db, column, 'written');
  const { of } = termsOf(db, column);
  return `select 1 from ${from} where ${of(column.v3)} is null and ${of(column.v4)} is not null and ${state} in ('wrong', 'missing')`;
}

/** What names a row for people: its key, or else its value. */
function keyNames({ table, column }: CrosswalkColumn): readonly string[] {
  return table.key.length === 0 ? [column.name] : table.key;
}

function keyTerms(db: Database, column: CrosswalkColumn): string[] {
  return keyNames(column).map((name) => db.exact({ holds: 'text', type: 'text' }, `t.${db.quote(name)}`));
}

/** How ids are kept apart while they swap places: null where no unique key depends on them. */
export type Parking =
  | { readonly kind: 'negative' }
  | { readonly kind: 'offset'; readonly offset: bigint }
  | null;

/** The least and the greatest integer among COLUMN and COLUMN_v4, to choose the parking. */
export function selectRange(db: Database, column: CrosswalkColumn, beside: string): string {
  const { t, q } = termsOf(db, column);
  const [c, other] = [q(column.column.name), q(beside)];
  const isNumber =
    db.kind === 'sqlite'
      ? (name: string) => `case typeof(${name}) when 'integer' then ${name} end`
      : (name: string) => name;
  return `select min(${isNumber(c)}), max(${isNumber(c)}), min(${isNumber(other)}), max(${isNumber(other)}) from ${t}`;
}

function parked(db: Database, parking: NonNullable<Parking>, term: string): string {
  const value = parking.kind === 'negative' ? `-1 - ${term}` : `${parking.offset} + ${term}`;
  return db.kind === 'sqlite' ? `case typeof(${term}) when 'integer' then ${value} else ${term} end` : value;
}

/** switch --empty: cells without a V4 id become NULL, the V3 id beside them. */
export function emptyUnmapped(db: Database, column: CrosswalkColumn): string {
  const { t, m, of, exact, on } = termsOf(db, column);
  const c = column.column.name;
  return db.updateFrom({
    table: t,
    from: m,
    on: on(exact(c)),
    set: [
      [column.v3, of(c)],
      [c, 'null'],
    ],
    where: `m.${db.quote('new')} is null and m.reason not in ${NO_IDS} and ${of(column.v3)} is null`,
  });
}

/** switch: MySQL evaluates SET from left to right, so COLUMN_v3 comes first. */
export function switchColumn(db: Database, column: CrosswalkColumn, parking: Parking): string[] {
  const { t, q } = termsOf(db, column);
  const [c, v3, v4] = [q(column.column.name), q(column.v3), q(column.v4)];
  const update = (value: string) =>
    `update ${t} set ${v3} = ${c}, ${c} = ${value} where ${v4} is not null and ${v3} is null`;
  if (parking === null) return [update(v4)];
  return [
    update(parked(db, parking, v4)),
    `update ${t} set ${c} = ${v4} where ${v3} is not null and ${v4} is not null`,
  ];
}

/** undo: rows that were changed since the switch stay. */
export function switchBack(db: Database, column: CrosswalkColumn, parking: Parking): string[] {
  const { t, q } = termsOf(db, column);
  const [c, v3, v4] = [q(column.column.name), q(column.v3), q(column.v4)];
  const isOurs = `${v3} is not null and ${db.isSame(column.column, c, v4)}`;
  if (parking === null) return [`update ${t} set ${c} = ${v3}, ${v3} = null where ${isOurs}`];
  const away = parked(db, parking, v3);
  return [
    `update ${t} set ${c} = ${away} where ${isOurs}`,
    `update ${t} set ${c} = ${v3}, ${v3} = null where ${v3} is not null and ${db.isSame(column.column, c, away)}`,
  ];
}
