import { columnLabel, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { keyMatch } from '../engine/ledger-tables.js';
import { type EmitScript, type EmitTable, isOwnRun, isRecorded, keyOf, newKey } from './emit-script.js';
import { anyFailed, countWrong } from './script-checks.js';

/** Records the run, if every check was made and none failed. */
export function insertRunSql(
  script: EmitScript,
  { found }: EmitTable,
  { definition, checks }: { readonly definition: TableTarget; readonly checks: number },
): string {
  const { engine, text, run, planSha256 } = script;
  const { dialect, context } = engine;
  const { target, ledger, facts, judgement, keyTypes, types } = found;
  const { policy } = context;
  const isNew = policy.mode === 'new';
  const json = (value: unknown) => text.literal(JSON.stringify(value));
  const asJson = dialect.ledgerTypes.json === 'jsonb' ? '::jsonb' : '';
  const base = `(SELECT coalesce(max(id), 0) FROM ${ledger.entry})`;
  const isAtomic = !isNew && judgement.handling.isAtomic;
  const row: Readonly<Record<string, string>> = {
    unit: `(SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run})`,
    run: text.literal(run),
    target: text.literal(target.name),
    table_name: text.literal(facts.table),
    column_names: json(target.ids.map(columnLabel)) + asJson,
    definition: json(definition) + asJson,
    key_columns: json(keyOf(found)) + asJson,
    mode: `'${policy.mode}'`,
    is_atomic: dialect.ledgerTypes.boolean === 'boolean' ? String(isAtomic) : isAtomic ? '1' : '0',
    policy: json({ missing: policy.missing, mapDeleted: policy.mapDeleted }) + asJson,
    remap_sha256: text.literal(context.facts.sha256),
    plan_sha256: text.literal(planSha256),
    state: "'working'",
    started_at: text.now,
    tool: text.literal(context.tool),
    first_entry: base,
    last_entry: base,
    done_entry: base,
    ...(dialect.keepsTypes ? { key_types: json(keyTypes) + asJson, column_types: json(types) + asJson } : {}),
  };
  return `INSERT INTO ${ledger.run}(${Object.keys(row).join(', ')})
SELECT ${Object.values(row).join(',\n  ')}
FROM (SELECT count(*) AS made, sum(failed) AS failed FROM ${script.checks}) AS c
WHERE c.made >= ${checks} AND c.failed = 0 AND NOT ${isRecorded(script, found, "<> 'undone'")}`;
}

/** Records the listed rows as entries, under their keys after the change. */
export function entriesSql(script: EmitScript, { found, list }: EmitTable, at: number): string {
  const { engine } = script;
  const { dialect } = engine;
  const { ledger, target } = found;
  const count = target.ids.length;
  return `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
SELECT u.first_entry + ${count} * (w.row_no - 1) + ${at + 1}, u.unit, ${at}, ${dialect.keySql(newKey(engine, found))}, w.o${at}, w.c${at}
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

/** Cells that do not hold what the run wrote; 0 if all do and the run is done. */
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
    const row = { key: keyOf(found), keyTypes: found.keyTypes };
    const match = [
      keyMatch(dialect, row, 'e.row_key'),
      dialect.isSame(`t.${dialect.quote(column)}`, 'e.new'),
    ].join(' AND ');
    return `(SELECT count(*) FROM ${ledger.entry} AS e JOIN ${ledger.run} AS u ON u.unit = e.unit AND ${isOwn}
  LEFT JOIN ${dialect.tableSql(facts.table)} AS t ON ${match}
  WHERE e.col = ${at} AND t.${dialect.quote(keyOf(found)[0] ?? '')} IS NULL)`;
  });
  return [isDone, ...columns].join('\n  + ');
}
