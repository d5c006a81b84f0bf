import type { Engine } from '../engine/dialect.js';
import { scopeTerms } from '../engine/judge-cells.js';
import { keyMatch, type Ledger } from '../engine/ledger-tables.js';
import { type RecordedCells, SYNC_MARK, type SyncColumn } from './sync-table.js';
import { markOf } from './sync-texts.js';

/** In the order of dropping: triggers before what they use, so that no write of the application fails. */
const KINDS = ['trigger', 'function', 'table'] as const;

/** An object that `--sync` created in the user's database. */
export interface SyncObject {
  readonly what: (typeof KINDS)[number];
  /** For functions and tables as SQL. */
  readonly name: string;
  /** The run whose new columns it fills. */
  readonly unit: string;
  /** Its text; the columns of a table. */
  readonly text: string;
}

export interface Installed {
  readonly objects: readonly SyncObject[];
  /** Other objects that have names of ours. */
  readonly foreign: readonly string[];
}

/** Triggers and functions are recognised by a comment, tables by their columns. */
const SHAPES: Readonly<Record<string, RegExp>> = {
  ids: /^v3(,s\d)*,v4,reason$/,
  next: /^v3(,s\d)*,v4,reason$/,
  unmapped: /^row_key,value,reason,at$/,
};

/**
 * Reads the objects that exist for these units, and those whose triggers are on the table although the ledger does not know
 * their unit. `others`: units of runs that fill other columns of the table.
 */
export async function readInstalled(
  { session, dialect }: Engine,
  table: string,
  ledger: Ledger,
  units: readonly string[],
  others: readonly string[] = [],
): Promise<Installed> {
  const { rows } = await session.query(dialect.sync.readObjects(dialect, table, ledger));
  const found = rows.flatMap(([type, name, detail, isHere]) => {
    const what = KINDS.find((one) => one === type);
    if (what === undefined || typeof name !== 'string') return [];
    const [, unit = '', kind = ''] = /sync_(\d+)_\d+_([a-z_]+)$/.exec(name) ?? [];
    const text = detail ?? '';
    const isOurs =
      what === 'table' ? SHAPES[kind]?.test(text) === true : text.includes(SYNC_MARK) && isHere === '1';
    const own = what === 'trigger' ? name : dialect.emit.staging(name, ledger);
    return [{ object: { what, name: own, unit, text }, isOurs }];
  });
  const unknown = found.filter(
    ({ object: { what, unit }, isOurs }) => what === 'trigger' && isOurs && !others.includes(unit),
  );
  const own = new Set([...units, ...unknown.map(({ object }) => object.unit)]);
  const named = found.filter(({ object }) => own.has(object.unit));
  const order = ({ what }: SyncObject) => KINDS.indexOf(what);
  return {
    objects: named
      .flatMap(({ object, isOurs }) => (isOurs ? [object] : []))
      .sort((a, b) => order(a) - order(b)),
    foreign: named.flatMap(({ object, isOurs }) => (isOurs ? [] : [nameOfObject(object)])),
  };
}

/** `trigger svc_migrate_sync_1_0_update` */
export function nameOfObject({ what, name }: Pick<SyncObject, 'what' | 'name'>): string {
  return `${what} ${name}`;
}

/** What `--sync on` creates for a column. */
export function createdObjects({ dialect }: Engine, column: SyncColumn): string[] {
  const { triggers, functions } = dialect.sync;
  return [
    ...triggers(dialect, column).map(({ name }) => nameOfObject({ what: 'trigger', name })),
    ...functions(dialect, column).map(({ name }) => nameOfObject({ what: 'function', name })),
    ...[column.ids, column.unmapped].map((name) => nameOfObject({ what: 'table', name })),
  ];
}

/** Columns of a crosswalk that identify its rows. */
export function crosswalkKey({ dialect }: Engine, { id }: SyncColumn): string[] {
  return ['v3', ...scopeTerms(dialect, id).map((_, at) => `s${at}`)];
}

/** Existing objects of a column that were made for other settings of its target. */
export function staleObjects(
  engine: Engine,
  column: SyncColumn,
  objects: readonly SyncObject[],
): readonly SyncObject[] {
  const { dialect } = engine;
  const triggers = dialect.sync.triggers(dialect, column);
  const ids = [...crosswalkKey(engine, column), 'v4', 'reason'].join();
  return objects.filter(({ what, name, text }) => {
    const trigger = triggers.find((one) => one.name === name);
    if (what === 'trigger') return trigger !== undefined && !text.includes(markOf(trigger));
    return name === column.ids && text !== ids;
  });
}

/** Drops objects in their order. Where DDL is transactional, call inside a transaction. */
export async function dropObjects(
  { session, dialect }: Engine,
  table: string,
  objects: readonly SyncObject[],
): Promise<void> {
  for (const { what, name } of objects) {
    if (what === 'trigger') await session.exec(dialect.sync.dropTrigger(table, name));
    else await session.exec(`DROP ${what} IF EXISTS ${name}${what === 'function' ? '()' : ''}`);
  }
}

/** Drops the triggers that fill the new columns of a run, and what they use. */
export async function removeSync(
  engine: Engine,
  { table, ledger, unit }: { readonly table: string; readonly ledger: Ledger; readonly unit: string },
): Promise<void> {
  const { objects } = await readInstalled(engine, table, ledger, [unit]);
  await dropObjects(
    engine,
    table,
    objects.filter((one) => one.unit === unit),
  );
}

const LISTED = 1000;

/** Lists the cells that triggers could not map and that still hold the same value without a V4 id. */
export async function listRecorded({ session, dialect }: Engine, column: SyncColumn): Promise<RecordedCells> {
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const isStill = [
    keyMatch(dialect, column, 'e.row_key'),
    dialect.isSame(cell(column.id.column), 'e.value'),
    `${cell(column.newColumn)} IS NULL`,
  ].join(' AND ');
  const join = column.key.length === 0 ? '' : `JOIN ${dialect.tableSql(column.table)} AS t ON ${isStill}`;
  const key = column.key.length === 0 ? 'NULL' : dialect.keyName('e.row_key');
  const terms = `${key} AS row_name, ${dialect.asText('e.value')} AS old, max(concat(e.at, ' ', e.reason)) AS last`;
  const query = `SELECT ${terms} FROM ${column.unmapped} AS e ${join} GROUP BY row_name, old`;
  const { rows } = await session.query(`${query} ORDER BY last, row_name LIMIT ${LISTED}`);
  const count =
    rows.length < LISTED ? rows.length : await session.one(`SELECT count(*) FROM (${query}) AS q`);
  return {
    unmapped: rows.map(([row, value, last]) => {
      const [at = '', reason = ''] = last?.split(' ') ?? [];
      return { column: column.id.column, row: row ?? null, value: value ?? '', reason, at };
    }),
    unmappedCount: Number(count),
  };
}
