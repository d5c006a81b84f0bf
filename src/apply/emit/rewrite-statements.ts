import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { newValue } from '../engine/change-list.js';
import { mapMatch } from '../engine/id-maps.js';
import { mustBeListed } from './crosswalk.js';
import { type EmitScript, type EmitTable, isOwnRun, isRecorded } from './emit-script.js';
import { entriesSql } from './ledger-statements.js';
import {
  anyFailed,
  type Check,
  checkSql,
  countOtherRuns,
  parkingChecks,
  writtenCheck,
} from './script-checks.js';

/** Fills the new columns. */
export function fillSql(script: EmitScript, { found, maps }: EmitTable): string[] {
  const { dialect } = script.engine;
  return maps.map((map) => {
    const column = newColumnOf(map.id);
    return dialect.updateFrom({
      table: found.facts.table,
      set: [[column, dialect.fromMap('m.new', map)]],
      from: `${map.table} AS m`,
      isTableFirst: true,
      where: `${mapMatch(dialect, map, 'm')} AND m.new IS NOT NULL AND t.${dialect.quote(column)} IS NULL
  AND ${isRecorded(script, found, "= 'working'")}`,
    });
  });
}

/** Lists the rows that change, records them in the ledger, changes them and checks the result. */
export function rewriteSql(script: EmitScript, table: EmitTable): string[] {
  const { text, checks } = script;
  const { list, found } = table;
  const parking = parkingChecks(script, table).map((check) => checkSql(script, check));
  const clear = `DELETE FROM ${list} WHERE ${anyFailed(script)}`;
  return [
    listSql(script, table),
    ...(parking.length === 0 ? [] : [...parking, text.raise(checks), clear]),
    ...text.analyze(list),
    ...found.target.ids.map((_, at) => entriesSql(script, table, at)),
    ...updatesSql(script, table),
    checkSql(script, writtenCheck(script, table)),
  ];
}

/** Lists the rows that change, if the run has no entries yet: later, its V4 ids would be looked up as V3 ids. */
function listSql(script: EmitScript, table: EmitTable): string {
  const { engine, text } = script;
  const { dialect } = engine;
  const { found, maps } = table;
  const columns = maps.map((map, at): ListedColumn => {
    const alias = `m${at}`;
    return {
      id: map.id,
      join: `${map.table} AS ${alias} ON ${mapMatch(dialect, map, alias)} AND ${alias}.keep = 0
    AND ${mustBeListed(engine, text.literal, map.id)}`,
      changed: `${alias}.old`,
      value: dialect.asEntry(`${alias}.new`),
    };
  });
  const { entry, run } = found.ledger;
  const hasEntries = `EXISTS (SELECT 1 FROM ${entry} AS e JOIN ${run} AS u ON u.unit = e.unit
    WHERE ${isOwnRun(script, found, "= 'working'", 'u.')})`;
  return fillList(script, table, columns, [isRecorded(script, found, "= 'working'"), `NOT ${hasEntries}`]);
}

/** A column of listed rows. */
interface ListedColumn {
  readonly id: IdColumn;
  /** The table with the new values, and the join condition. */
  readonly join: string;
  /** NULL in rows where the column keeps its value. */
  readonly changed: string;
  /** The new value in the ledger's form. */
  readonly value: string;
}

/** Lists the rows in which a column changes: key, and each column before, after, and whether it changes. */
function fillList(
  { engine: { dialect } }: EmitScript,
  { found, list }: EmitTable,
  columns: readonly ListedColumn[],
  conditions: readonly string[],
): string {
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const key = found.handling.key;
  const names = [
    ...key.map((_, at) => `k${at}`),
    ...columns.flatMap((_, at) => [`o${at}`, `c${at}`, `r${at}`]),
  ];
  const terms = columns.flatMap(({ id, changed, value }) => {
    const old = dialect.asEntry(cell(id.column));
    const ifSame = `CASE WHEN ${changed} IS NULL THEN`;
    return [old, `${ifSame} ${old} ELSE ${value} END`, `${ifSame} 0 ELSE 1 END`];
  });
  const isListed = `(${columns.map(({ changed }) => `${changed} IS NOT NULL`).join(' OR ')})`;
  return `INSERT INTO ${list}(${names.join(', ')})
SELECT ${[...key.map(cell), ...terms].join(',\n  ')}
FROM ${dialect.tableSql(found.facts.table)} AS t
  ${columns.map(({ join }) => `LEFT JOIN ${join}`).join('\n  ')}
WHERE ${[isListed, ...conditions].join('\n  AND ')}`;
}

/** The UPDATE of the listed rows. Where ids under a unique key swap, an UPDATE to temporary values comes first. */
export function updatesSql({ engine }: EmitScript, { found, list, parking }: EmitTable): string[] {
  const { dialect } = engine;
  const { ids } = found.target;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const isRow = (parked: ReadonlyMap<string, string>) =>
    found.handling.key.map((name, at) => dialect.isKey(cell(name), parked.get(name) ?? `w.k${at}`));
  const holdsOld = ids.map(({ column }, at) => ({ column, term: dialect.isSame(cell(column), `w.o${at}`) }));
  const unparked = holdsOld.filter(({ column }) => !parking.has(column));
  const terms = (holds: typeof holdsOld) => holds.map(({ term }) => term);
  const update = (set: readonly (readonly [string, string])[], where: readonly string[]) =>
    dialect.updateFrom({
      table: found.facts.table,
      set,
      from: `${list} AS w`,
      where: where.join('\n  AND '),
    });
  const all = ids.map(({ column }, at) => [column, newValue(engine, found, at)] as const);
  const first = [...isRow(new Map()), ...terms(holdsOld)];
  if (parking.size === 0) return [update(all, first)];
  return [update([...parking], first), update(all, [...isRow(parking), ...terms(unparked)])];
}

/** What must hold before a run is undone: it is done, no later run builds on it, and its cells hold what it wrote. */
export function undoChecks(script: EmitScript, { found }: EmitTable): Check[] {
  const { engine, run } = script;
  const { dialect, context } = engine;
  const { target, facts } = found;
  const checks = [
    {
      problem: `${target.name}: run ${run} is not in the ledger as done`,
      count: `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`,
    },
    {
      problem: `${target.name}: a later run is in the ledger for this table`,
      count: countOtherRuns(script, found),
    },
  ];
  if (context.policy.mode === 'new') return checks;
  const rowKey = rowKeySql(script, found);
  const changed = target.ids.map(({ column }, at) => ({
    problem: `${target.name}: ${column} was changed since the run; svc-migrate apply undo ${run} leaves such rows alone`,
    count: `(SELECT count(*) FROM ${dialect.tableSql(facts.table)} AS t JOIN ${entriesOf(script, found, at)} AS e ON e.row_key = ${rowKey}
  WHERE NOT ${dialect.isSame(`t.${dialect.quote(column)}`, 'e.new')})`,
  }));
  return [...checks, ...changed];
}

/** The key of row `t` as the ledger keeps it. */
function rowKeySql({ engine: { dialect } }: EmitScript, found: EmitTable['found']): string {
  return dialect.keySql(found.handling.key.map((name) => `t.${dialect.quote(name)}`));
}

/** A subquery of the run's entries for a column. */
function entriesOf(script: EmitScript, found: EmitTable['found'], at: number): string {
  const { entry, run } = found.ledger;
  return `(SELECT x.unit, x.row_key, x.old, x.new FROM ${entry} AS x JOIN ${run} AS u ON u.unit = x.unit
    WHERE ${isOwnRun(script, found, "= 'done'", 'u.')} AND x.col = ${at})`;
}

/** Lists the rows to restore. */
export function undoListSql(script: EmitScript, table: EmitTable): string {
  const { found } = table;
  const columns = found.target.ids.map(
    (id, at): ListedColumn => ({
      id,
      join: `${entriesOf(script, found, at)} AS e${at} ON e${at}.row_key = ${rowKeySql(script, found)}`,
      changed: `e${at}.unit`,
      value: `e${at}.old`,
    }),
  );
  return fillList(script, table, columns, [`NOT ${anyFailed(script)}`]);
}

/** Deletes the run's entries and marks it as undone. */
export function undoneSql(script: EmitScript, { found }: EmitTable): string[] {
  const { ledger } = found;
  const isOwn = isOwnRun(script, found, "= 'done'");
  const noneFailed = `NOT ${anyFailed(script)}`;
  return [
    `DELETE FROM ${ledger.entry} WHERE unit IN (SELECT unit FROM ${ledger.run} WHERE ${isOwn}) AND ${noneFailed}`,
    `UPDATE ${ledger.run} SET state = 'undone' WHERE ${isOwn} AND ${noneFailed}`,
  ];
}
