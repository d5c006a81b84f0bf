import type { IdColumn, ModelRef } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { modelsByWord, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { insertValues } from '../emit/crosswalk.js';
import { cellLiteral } from '../emit/emit-texts.js';
import type { Engine } from '../engine/dialect.js';
import type { Ledger } from '../engine/ledger-tables.js';
import { NO_PLATFORM_ID } from '../ids/resolver.js';
import type { Policy } from '../plan.js';
import { crosswalkKey, readInstalled } from './installed.js';
import { type Refreshed, SYNC_MARK, type SyncColumn } from './sync-table.js';
import { markOf } from './sync-texts.js';

const ROWS_PER_INSERT = 500;

/**
 * Loads the crosswalks into tables of their own, copies the differences to those in use in one transaction, and only then
 * creates missing triggers: triggers never see a half-loaded crosswalk.
 */
export async function installSync(
  engine: Engine,
  columns: readonly SyncColumn[],
  ledger: Ledger,
): Promise<Refreshed> {
  const { session, dialect } = engine;
  const loaded: number[] = [];
  for (const column of columns) loaded.push(await loadNext(engine, column));
  const makeAllTables = async () => {
    for (const column of columns) await makeTables(engine, column);
  };
  const makeAllTriggers = async () => {
    for (const column of columns) await makeTriggers(engine, column, ledger);
  };
  if (dialect.ddlCommits) await session.retry(makeAllTables);
  const refreshed = await session.transaction('latest', async () => {
    await dialect.lockLedger(ledger);
    if (!dialect.ddlCommits) await makeAllTables();
    const sum = { added: 0, changed: 0, removed: 0 };
    for (const [at, column] of columns.entries()) {
      const one = await exchangeRows(engine, column, loaded[at] ?? 0);
      sum.added += one.added;
      sum.changed += one.changed;
      sum.removed += one.removed;
    }
    if (!dialect.ddlCommits) await makeAllTriggers();
    return sum;
  });
  if (dialect.ddlCommits) await session.retry(makeAllTriggers);
  for (const { next } of columns) await session.retry(() => session.exec(`DROP TABLE IF EXISTS ${next}`));
  return refreshed;
}

function createIds(engine: Engine, column: SyncColumn, name: string): string {
  const { dialect } = engine;
  const { types } = dialect.emit;
  const key = crosswalkKey(engine, column);
  const columns = [
    ...key.map((one) => `${one} ${types.old} NOT NULL`),
    `v4 ${types.text}`,
    `reason ${types.text}`,
  ];
  return `CREATE TABLE IF NOT EXISTS ${name}(${columns.join(', ')}, PRIMARY KEY (${key.join(', ')}))${dialect.tableOptions}`;
}

/** Loads the crosswalk of a column into a table of its own; returns the number of rows. */
async function loadNext(engine: Engine, column: SyncColumn): Promise<number> {
  const { context, session, dialect } = engine;
  const { literal } = dialect.emit;
  const { next } = column;
  await session.retry(() => session.exec(`DROP TABLE IF EXISTS ${next};${createIds(engine, column, next)}`));
  const line = ({ v3, scope, v4, reason }: CrosswalkId) =>
    [v3, ...scope, v4, reason].map((cell) => cellLiteral(literal, cell)).join(', ');
  let rows: string[] = [];
  let count = 0;
  const flush = async () => {
    const statements = insertValues(next, rows, ROWS_PER_INSERT);
    await session.transaction('latest', async () => {
      for (const sql of statements) await session.exec(sql);
    });
    rows = [];
    context.onProgress({
      kind: 'step',
      name: `loading the crosswalk of ${column.newColumn}`,
      done: count,
      total: null,
    });
  };
  for (const one of listCrosswalk(context, column.id, column.policy)) {
    count += 1;
    if (rows.push(line(one)) >= context.tuning.batchRows) await flush();
  }
  await flush();
  return count;
}

async function makeTables(engine: Engine, column: SyncColumn): Promise<void> {
  const { session, dialect } = engine;
  const { types } = dialect.emit;
  const { rowKey, value } = dialect.ledgerTypes;
  const unmapped = `row_key ${rowKey}, value ${value}, reason ${types.text}, at ${types.text}`;
  const statements = [
    createIds(engine, column, column.ids),
    `CREATE TABLE IF NOT EXISTS ${column.unmapped}(${unmapped})${dialect.tableOptions}`,
    ...dialect.sync.functions(dialect, column).map(({ sql }) => sql),
  ];
  for (const sql of statements) await session.exec(sql);
}

async function makeTriggers(engine: Engine, column: SyncColumn, ledger: Ledger): Promise<void> {
  const { session, dialect } = engine;
  const { objects } = await readInstalled(engine, column.table, ledger, []);
  for (const trigger of dialect.sync.triggers(dialect, column))
    if (!objects.some(({ name }) => name === trigger.name))
      await session.exec(trigger.sql.replace(SYNC_MARK, markOf(trigger)));
}

/**
 * Makes the crosswalk in use equal to the loaded one.
 *
 * @throws SvcError `locked` if another process loads one too
 */
async function exchangeRows(engine: Engine, column: SyncColumn, loaded: number): Promise<Refreshed> {
  const { session } = engine;
  const { ids, next } = column;
  if ((await session.one(`SELECT count(*) FROM ${next}`)) !== String(loaded)) {
    throw new SvcError('locked', `Another svc-migrate is loading the crosswalk of ${column.newColumn}.`, {
      hint: 'Run the same command again when it has finished.',
    });
  }
  const key = crosswalkKey(engine, column);
  const isSame = (one: string, other: string) =>
    key.map((name) => `${one}.${name} = ${other}.${name}`).join(' AND ');
  const differs = ['v4', 'reason']
    .map((name) => `coalesce(loaded.${name}, '') <> coalesce(${ids}.${name}, '')`)
    .join(' OR ');
  const newOf = (name: string) =>
    `${name} = (SELECT loaded.${name} FROM ${next} AS loaded WHERE ${isSame('loaded', ids)})`;
  const names = [...key, 'v4', 'reason'].join(', ');
  const isLoaded = `EXISTS (SELECT 1 FROM ${next} AS loaded WHERE ${isSame('loaded', ids)}`;
  const isInUse = `EXISTS (SELECT 1 FROM ${ids} AS in_use WHERE ${isSame('in_use', 'loaded')})`;
  const set = `${newOf('v4')}, ${newOf('reason')}`;
  const removed = await session.query(`DELETE FROM ${ids} WHERE NOT ${isLoaded})`);
  const changed = await session.query(`UPDATE ${ids} SET ${set} WHERE ${isLoaded} AND (${differs}))`);
  const added = await session.query(
    `INSERT INTO ${ids}(${names}) SELECT ${names} FROM ${next} AS loaded WHERE NOT ${isInUse}`,
  );
  return { added: added.count, changed: changed.count, removed: removed.count };
}

/** What becomes of one V3 id in rows of one model, region and company. */
interface CrosswalkId {
  readonly v3: string;
  /** Model, region and company of the row, where columns of the table name them. */
  readonly scope: readonly string[];
  /** Null if the id has no V4 id. */
  readonly v4: string | null;
  /** Status and reason of an id without a V4 id; otherwise null. */
  readonly reason: string | null;
}

/**
 * Lists the V3 ids that a column may hold, with the same answers as `apply` gives for its cells. Ids that name no
 * single V3 record are left out.
 */
export function* listCrosswalk(
  context: ApplyContext,
  id: IdColumn,
  policy: Policy,
): Generator<CrosswalkId, void> {
  const { resolver } = openColumn(context, id, policy);
  for (const [word, ref] of modelsByWord(context.ids, id)) {
    for (const [v3, region, company] of remapIds(context, id, ref)) {
      const scope = [
        ...(id.modelColumn === undefined ? [] : [word]),
        ...(id.regionColumn === undefined ? [] : [region]),
        ...(id.companyColumn === undefined ? [] : [company]),
      ];
      const named = {
        model: word,
        region: id.regionColumn === undefined ? null : region,
        company: id.companyColumn === undefined ? null : company,
      };
      const category = resolver.lookUpText(v3, named);
      if (category === 'mapped') yield { v3, scope, v4: resolver.newText, reason: null };
      else if (!category.startsWith('unknown/') && category !== NO_PLATFORM_ID)
        yield { v3, scope, v4: null, reason: category };
    }
  }
}

/** Distinct V3 ids of a model; with region and company where rows name those. */
function* remapIds(
  { remap }: ApplyContext,
  { regionColumn, companyColumn }: IdColumn,
  { model, path }: ModelRef,
): Generator<readonly [v3: string, region: string, company: string]> {
  const region = regionColumn === undefined ? "''" : "ifnull(region, '')";
  const company = companyColumn === undefined ? "''" : "ifnull(v3_company_id, '')";
  const sql = `SELECT DISTINCT CAST(v3_svc_id AS TEXT), ${region}, CAST(${company} AS TEXT) FROM remap NOT INDEXED
    WHERE model = ? AND path = ? AND v3_svc_id IS NOT NULL`;
  const rows = remap.prepare<[string, string], [v3: string, region: string, company: string]>(sql).raw();
  yield* rows.iterate(model, path);
}
