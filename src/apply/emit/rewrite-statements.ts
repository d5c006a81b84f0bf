import { newColumnOf } from '../../config/apply-targets.js';
import { type EmitScript, type EmitTable, isRecorded, keyOf, mapMatch, newValue } from './emit-script.js';
import { entriesSql } from './ledger-statements.js';
import { isOurs } from './read-crosswalk.js';

/** Adds the new columns and fills them. */
export function fillSql(script: EmitScript, { found, maps }: EmitTable): string[] {
  const { engine, text } = script;
  const { dialect } = engine;
  return found.target.ids.map((id, at) => {
    const cell = `t.${dialect.quote(id.column)}`;
    const value = dialect.fromEntry(text.newCell(cell, 'm.new'), found.types[at] ?? '');
    return dialect.updateFrom({
      table: found.facts.table,
      set: [[newColumnOf(id), value]],
      from: `${maps[at]} AS m`,
      isTableFirst: true,
      where: `${mapMatch(engine, id, 'm')} AND m.new IS NOT NULL AND t.${dialect.quote(newColumnOf(id))} IS NULL
  AND ${isRecorded(script, found, "= 'working'")}`,
    });
  });
}

/** Lists the rows that change, records them in the ledger, and changes them in one UPDATE; two where ids under a unique key swap. */
export function rewriteSql(script: EmitScript, table: EmitTable): string[] {
  const { text } = script;
  return [
    listSql(script, table),
    ...text.analyze(table.list),
    ...table.found.target.ids.map((_, at) => entriesSql(script, table, at)),
    ...updatesSql(script, table),
  ];
}

/** Only while the run has no entries: V4 ids are never looked up. */
function listSql(script: EmitScript, { found, maps, list }: EmitTable): string {
  const { engine, text } = script;
  const { dialect } = engine;
  const { ids } = found.target;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const names = [
    ...keyOf(found).map((_, at) => `k${at}`),
    ...ids.flatMap((_, at) => [`o${at}`, `c${at}`, `r${at}`]),
  ];
  const terms = ids.flatMap(({ column }, at) => {
    const old = dialect.asEntry(cell(column));
    const now = text.newCell(cell(column), `m${at}.new`);
    const isChanged = `CASE WHEN m${at}.old IS NULL THEN`;
    return [old, `${isChanged} ${old} ELSE ${now} END`, `${isChanged} 0 ELSE 1 END`];
  });
  const joins = ids.map(
    (id, at) => `LEFT JOIN ${maps[at]} AS m${at} ON ${mapMatch(engine, id, `m${at}`)} AND m${at}.keep = 0
    AND ${isOurs(engine, text.literal, id)}`,
  );
  const { entry, run } = found.ledger;
  const hasEntries = `EXISTS (SELECT 1 FROM ${entry} AS e JOIN ${run} AS u ON u.unit = e.unit
    WHERE u.run = ${text.literal(script.run)} AND u.target = ${text.literal(found.target.name)} AND u.state = 'working')`;
  return `INSERT INTO ${list}(${names.join(', ')})
SELECT ${[...keyOf(found).map(cell), ...terms].join(',\n  ')}
FROM ${dialect.tableSql(found.facts.table)} AS t
  ${joins.join('\n  ')}
WHERE (${ids.map((_, at) => `m${at}.old IS NOT NULL`).join(' OR ')})
  AND ${isRecorded(script, found, "= 'working'")}
  AND NOT ${hasEntries}`;
}

/** The UPDATE of the listed rows; two where ids under a unique key swap. */
export function updatesSql({ engine }: EmitScript, { found, list, parking }: EmitTable): string[] {
  const { dialect } = engine;
  const { ids } = found.target;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const isRow = (parked: ReadonlyMap<string, string>) =>
    keyOf(found).map((name, at) => dialect.isKey(cell(name), parked.get(name) ?? `w.k${at}`));
  const holds = (when: 'o' | 'c') =>
    ids.flatMap(({ column }, at) =>
      when === 'o' && parking.has(column) ? [] : [dialect.isSame(cell(column), `w.${when}${at}`)],
    );
  const update = (set: readonly (readonly [string, string])[], where: readonly string[]) =>
    dialect.updateFrom({
      table: found.facts.table,
      set,
      from: `${list} AS w`,
      where: where.join('\n  AND '),
    });
  const all = ids.map(({ column }, at) => [column, newValue(engine, found, at)] as const);
  if (parking.size === 0) return [update(all, [...isRow(new Map()), ...holds('o')])];
  const guard = ids.map(({ column }, at) => dialect.isSame(cell(column), `w.o${at}`));
  return [
    update([...parking], [...isRow(new Map()), ...guard]),
    update(all, [...isRow(parking), ...holds('o')]),
  ];
}
