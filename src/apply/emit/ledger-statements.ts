import { newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { listedKey } from '../engine/change-list.js';
import { newRunRow } from '../engine/ledger-runs.js';
import { keyMatch, RUN_COLUMNS } from '../engine/ledger-tables.js';
import { changeListOf, type EmitScript, type EmitTable, isOwnRun, isRecorded } from './emit-script.js';
import { anyFailed, countWrong } from './script-checks.js';

/** Records the run, if every check was made and none failed. */
export function insertRunSql(
  script: EmitScript,
  { found, name }: EmitTable,
  { target, checks }: { readonly target: TableTarget; readonly checks: number },
): string {
  const { engine, text } = script;
  const { ledger } = found;
  const values = newRunRow(
    engine,
    script,
    { ...found, target },
    engine.context.policy.mode === 'new' ? name : '',
  );
  const base = `(SELECT coalesce(max(id), 0) FROM ${ledger.entry})`;
  const row: Readonly<Record<string, string>> = {
    unit: `(SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run})`,
    ...Object.fromEntries(
      Object.entries(values).map(([column, value]) => [column, ledgerLiteral(script, column, value)]),
    ),
    started_at: text.now,
    first_entry: base,
    last_entry: base,
    done_entry: base,
  };
  return `INSERT INTO ${ledger.run}(${Object.keys(row).join(', ')})
SELECT ${Object.values(row).join(',\n  ')}
FROM (SELECT count(*) AS made, sum(failed) AS failed FROM ${script.checks}) AS c
WHERE c.made >= ${checks} AND c.failed = 0 AND NOT ${isRecorded(script, found, "<> 'undone'")}`;
}

/** A value of `newRunRow` as SQL. */
function ledgerLiteral({ engine, text }: EmitScript, column: string, value: string): string {
  const { json, boolean } = engine.dialect.ledgerTypes;
  const type = RUN_COLUMNS[column];
  if (type === 'boolean') return boolean === 'boolean' ? String(value === '1') : value;
  return type === 'json' && json === 'jsonb' ? `${text.literal(value)}::jsonb` : text.literal(value);
}

/** Records the listed rows as entries, under their keys after the change. */
export function entriesSql(script: EmitScript, { found, list }: EmitTable, at: number): string {
  const { engine } = script;
  const { ledger, target } = found;
  const count = target.ids.length;
  return `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
SELECT u.first_entry + ${count} * (w.row_no - 1) + ${at + 1}, u.unit, ${at}, ${listedKey(engine, changeListOf(found), 'after')}, w.o${at}, w.c${at}
FROM ${list} AS w JOIN ${ledger.run} AS u ON ${isOwnRun(script, found, "= 'working'", 'u.')}
WHERE w.r${at} = 1`;
}

/** Marks the run as done. */
export function finishSql(script: EmitScript, { found }: EmitTable): string {
  const { engine, text } = script;
  const { ledger } = found;
  const own = `FROM ${ledger.entry} AS e WHERE e.unit = ${ledger.run}.unit`;
  const set =
    engine.context.policy.mode === 'new'
      ? [`changed = ${countFilled(script, found)}`]
      : [
          `changed = (SELECT count(*) ${own})`,
          `done_entry = (SELECT coalesce(max(e.id), ${ledger.run}.first_entry) ${own})`,
          `last_entry = (SELECT coalesce(max(e.id), ${ledger.run}.first_entry) ${own})`,
        ];
  return `UPDATE ${ledger.run} SET ${[...set, `finished_at = ${text.now}`, "state = 'done'"].join(',\n  ')}
WHERE ${isOwnRun(script, found, "= 'working'")}
  AND NOT ${anyFailed(script)}`;
}

/** A term: the number of cells in the new columns that hold an id. */
function countFilled({ engine }: EmitScript, { target, facts }: EmitTable['found']): string {
  const { dialect } = engine;
  return target.ids
    .map((id) => {
      const isFilled = `${dialect.quote(newColumnOf(id))} IS NOT NULL`;
      return `(SELECT count(*) FROM ${dialect.tableSql(facts.table)} WHERE ${isFilled})`;
    })
    .join(' + ');
}

/** A term: the number of cells that do not hold what the run wrote, plus 1 if the run is not done. */
export function verifySql(script: EmitScript, table: EmitTable): string {
  const { found } = table;
  const { dialect, context } = script.engine;
  const { target, ledger, facts } = found;
  const isOwn = isOwnRun(script, found, "= 'done'", 'u.');
  const isDone = `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`;
  if (context.policy.mode === 'new') {
    const missing = `coalesce((SELECT abs(u.changed - (${countFilled(script, found)})) FROM ${ledger.run} AS u WHERE ${isOwn}), 0)`;
    return [isDone, missing, ...target.ids.map((_, at) => countWrong(script, table, at, true))].join(
      '\n  + ',
    );
  }
  const columns = target.ids.map(({ column }, at) => {
    const row = { key: found.handling.key, keyTypes: found.keyTypes };
    const match = [
      keyMatch(dialect, row, 'e.row_key'),
      dialect.isSame(`t.${dialect.quote(column)}`, 'e.new'),
    ].join(' AND ');
    return `(SELECT count(*) FROM ${ledger.entry} AS e JOIN ${ledger.run} AS u ON u.unit = e.unit AND ${isOwn}
  LEFT JOIN ${dialect.tableSql(facts.table)} AS t ON ${match}
  WHERE e.col = ${at} AND t.${dialect.quote(found.handling.key[0] ?? '')} IS NULL)`;
  });
  return [isDone, ...columns].join('\n  + ');
}
