import { EMIT_TEXTS } from '../emit/emit-texts.js';
import type { Engine, SqlText } from '../engine/dialect.js';
import type { Ledger } from '../engine/ledger-tables.js';
import { MARK } from './sync-table.js';
import { SYNC_TEXTS } from './sync-texts.js';

interface NamedObject {
  readonly name: string;
}

interface NamedTable {
  readonly sql: string;
}

/** What of ours is in a database for one table, by the units of its runs in the ledger. */
export interface Installed {
  readonly triggers: readonly { readonly name: string; readonly unit: string }[];
  /** By name without schema or prefix. */
  readonly tables: readonly { readonly name: string; readonly unit: string; readonly sql: string }[];
  /** Names like ours that belong to something else. */
  readonly foreign: readonly string[];
}

const TABLE_NAME = /^sync_(\d+)_\d+_(ids|next|unmapped)$/;
const SHAPES: Readonly<Record<string, RegExp>> = {
  ids: /^v3(,s\d)*,v4,reason$/,
  next: /^v3(,s\d)*,v4,reason$/,
  unmapped: /^row_key,value,reason,at$/,
};

/**
 * Reads what is there for these units, and for units that the ledger does not know. `others`: units of runs that fill
 * other columns of the table.
 */
export async function readInstalled(
  { session, dialect }: Engine,
  table: string,
  ledger: Ledger,
  units: readonly string[],
  others: readonly string[] = [],
): Promise<Installed> {
  const sync = SYNC_TEXTS[dialect.kind];
  const { rows } = await session.query(sync.readTriggers(dialect, table));
  const triggers = rows.map(([name, body, isHere]) => ({
    name: name ?? '',
    unit: /_sync_(\d+)_/.exec(name ?? '')?.[1] ?? '',
    isOurs: body?.includes(MARK) === true && isHere === '1',
  }));
  const named = triggers.filter(({ isOurs, unit }) => isOurs && !others.includes(unit));
  const own = new Set([...units, ...named.map(({ unit }) => unit)]);
  const tables = (await session.query(sync.readTables(ledger))).rows.map(([name, columns]) => {
    const [, unit = '', kind = ''] = TABLE_NAME.exec(name ?? '') ?? [];
    const isOurs = SHAPES[kind]?.test(columns ?? '') === true;
    return { name: name ?? '', unit, isOurs, sql: EMIT_TEXTS[dialect.kind].staging(name ?? '', ledger) };
  });
  return {
    triggers: triggers.filter(({ isOurs, unit }) => isOurs && own.has(unit)),
    tables: tables.filter(({ isOurs, unit }) => isOurs && own.has(unit)),
    foreign: [
      ...triggers.filter(({ isOurs, unit }) => !isOurs && own.has(unit)).map(({ name }) => `trigger ${name}`),
      ...tables.filter(({ isOurs, unit }) => !isOurs && own.has(unit)).map(({ name }) => `table ${name}`),
    ],
  };
}

/** The names of triggers and tables, and of the functions that go with them, each with what it is. */
export function objectNames(
  kind: SqlText['kind'],
  { triggers, tables }: { readonly triggers: readonly NamedObject[]; readonly tables: readonly NamedTable[] },
): string[] {
  const functions = tables.flatMap(({ sql }) =>
    isCrosswalk(sql) ? SYNC_TEXTS[kind].functionNames(sql) : [],
  );
  return [
    ...triggers.map(({ name }) => `trigger ${name}`),
    ...functions.map((name) => `function ${name}`),
    ...tables.map(({ sql }) => `table ${sql}`),
  ];
}

function isCrosswalk(table: string): boolean {
  return table.endsWith('_ids');
}

/** Remove the triggers first, so that no write of the application misses what they use. */
export async function removeTriggers(
  { session, dialect }: Engine,
  table: string,
  { triggers }: Pick<Installed, 'triggers'>,
): Promise<void> {
  for (const { name } of triggers) await session.exec(SYNC_TEXTS[dialect.kind].dropTrigger(table, name));
}

export async function removeTables(
  { session, dialect }: Engine,
  { tables }: Pick<Installed, 'tables'>,
): Promise<void> {
  for (const { sql } of tables) {
    const functions = isCrosswalk(sql) ? SYNC_TEXTS[dialect.kind].functionNames(sql) : [];
    const drops = functions.map((name) => `DROP FUNCTION IF EXISTS ${name}()`);
    await session.exec([...drops, `DROP TABLE IF EXISTS ${sql}`].join(';'));
  }
}

/** Removes what keeps the new columns of a run filled. */
export async function removeSync(
  engine: Engine,
  { table, ledger, unit }: { readonly table: string; readonly ledger: Ledger; readonly unit: string },
): Promise<void> {
  const { triggers, tables } = await readInstalled(engine, table, ledger, [unit]);
  await removeTriggers(engine, table, { triggers: triggers.filter((one) => one.unit === unit) });
  await removeTables(engine, { tables: tables.filter((one) => one.unit === unit) });
}
