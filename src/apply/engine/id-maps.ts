import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { Engine, IdMap, SqlText } from './dialect.js';
import { writesPlatformId } from './id-columns.js';
import { scopeTerms } from './judge-cells.js';
import { columnOf, type TableColumn, type TableFacts, type TableOfRun } from './table-facts.js';

/** The type of a new column for an id column. */
export function valueType({ platformIdType }: SqlText, facts: TableFacts, id: IdColumn): string {
  if (writesPlatformId(id)) return platformIdType.type;
  const column = columnOf(facts, id.column);
  return column?.baseType ?? column?.type ?? '';
}

export function buildMap(
  dialect: SqlText,
  facts: TableFacts,
  id: IdColumn,
  { table, isKept }: Pick<IdMap, 'table' | 'isKept'>,
): IdMap {
  const column = columnOf(facts, id.column);
  if (column === undefined) {
    throw new SvcError('bad_input', `${facts.table} no longer has the column ${id.column}.`);
  }
  return { table, id, column, newType: valueType(dialect, facts, id), isKept };
}

/** The table of a map that a run keeps, by the number of its id column. */
export function keptMapTable({ suffix, ledger }: TableOfRun, at: number): string {
  return `${ledger.tables}map_${suffix}_${at}`;
}

/** The maps of a run that fills new columns, by id column. */
export function keptMaps(engine: Pick<Engine, 'dialect'>, facts: TableFacts, run: TableOfRun): IdMap[] {
  return run.target.ids.map((id, at) =>
    buildMap(engine.dialect, facts, id, { table: keptMapTable(run, at), isKept: true }),
  );
}

/** The number of the next write to these maps. */
export async function nextFill({ session }: Engine, maps: readonly IdMap[]): Promise<number> {
  let last = 0;
  for (const { table } of maps) {
    const own = Number(await session.one(`SELECT coalesce(max(fill), 0) FROM ${table}`));
    if (own > last) last = own;
  }
  return last + 1;
}

/** Whether a map compares values that may be longer than an index takes. */
export function isLongMap({ id }: Pick<IdMap, 'id'>): boolean {
  return id.path !== undefined || id.pattern !== undefined;
}

/** What a map is compared with. */
type MapColumn = Pick<IdMap, 'id'> & { readonly column: Pick<TableColumn, 'type'> };

/** The columns of a map that identify a value of one write. */
export function mapKey({ id }: Pick<IdMap, 'id'>, dialect: SqlText): string[] {
  return ['old', ...scopeTerms(dialect, id).map((_, at) => `s${at}`)];
}

/** The terms of a row `t` that `mapKey` is compared with. */
export function mapTerms(dialect: SqlText, map: MapColumn): string[] {
  return [dialect.exact(`t.${dialect.quote(map.id.column)}`, map.column), ...scopeTerms(dialect, map.id)];
}

/** A condition that joins row `t` with the rows of a map for its value, model, region and company. */
export function mapMatch(dialect: SqlText, map: MapColumn, alias: string): string {
  const terms = mapTerms(dialect, map);
  return mapKey(map, dialect)
    .map((name, at) => `${alias}.${name} = ${terms[at]}`)
    .join(' AND ');
}

/** A condition: the new column of row `t` holds what row `m` of its map says. */
export function holdsMapped(dialect: SqlText, map: IdMap, newColumn: string): string {
  const column = { type: map.newType };
  return `${dialect.exact(`t.${dialect.quote(newColumn)}`, column)} = ${dialect.exact('m.new', column)}`;
}

/** Fills the empty cells of a new column from the rows `m` of its map that meet a condition. */
export function fillSql(
  dialect: SqlText,
  { table, autoUpdated }: Pick<TableFacts, 'table' | 'autoUpdated'>,
  map: IdMap,
  where: string,
): string {
  const column = newColumnOf(map.id);
  return dialect.updateFrom({
    table: dialect.tableSql(table),
    autoUpdated,
    set: [[column, 'm.new']],
    from: `${map.table} AS m`,
    where: `${where} AND ${mapMatch(dialect, map, 'm')} AND m.new IS NOT NULL AND t.${dialect.quote(column)} IS NULL`,
    isTableFirst: true,
  });
}
