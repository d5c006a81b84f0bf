import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext, RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { columnOf } from '../tables/table-facts.js';
import { describeWritten, findEntered } from './pg-batches.js';
import { buildGroupJudge, groupSql, judgeGroup } from './pg-groups.js';
import { insertUnit, lockLedger, readUnit } from './pg-ledger.js';
import { copyMap, mapMatch, type ValueMap } from './pg-map.js';
import { BEGIN_LATEST, BEGIN_SNAPSHOT, type PgSession } from './pg-session.js';
import type { Found } from './pg-survey.js';

/** The first PostgreSQL that finds a range of pages without reading the whole table. */
const TID_RANGE_VERSION = 140_000;

/** Where the planner has no figures yet. */
const ROWS_PER_PAGE_UNKNOWN = 100;

/**
 * Fills new columns with V4 ids; the old ones stay as they are. Rows that came since an earlier filling are
 * filled now; a new column's value is never changed once it is there.
 *
 * @throws SvcError `bad_input` before anything is written, `locked`, `interrupted`
 */
export async function writeNewColumns(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const { ledgerSchema } = found.target;
  const unit = await begin(context, session, found, agreed, run);
  for (const [at, id] of found.target.ids.entries())
    await fillColumn(context, session, found, id, { unit, at });
  const s = quoteName(ledgerSchema);
  await session.retry(() =>
    session.query(`UPDATE ${s}.run SET state = 'done', finished_at = $1 WHERE unit = $2::bigint`, [
      new Date(context.now()).toISOString(),
      unit,
    ]),
  );
  return session.retry(async () => describeWritten(session, await readUnit(session, ledgerSchema, unit)));
}

/** Adds the columns and the unit that says so, once; checks before that the data are what was agreed to. */
function begin(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<string> {
  const { target, facts, keyTypes, types, units } = found;
  return session.transaction(BEGIN_SNAPSHOT, async () => {
    await lockLedger(session, target.ledgerSchema);
    const before = await findEntered(session, found, run);
    if (before !== null) return before;
    for (const id of target.ids) await assertColumnAgreed(context, session, found, agreed, run, id);
    const open = units.find((unit) => unit.mode === 'new' && unit.run === agreed.earlier.run);
    if (open !== undefined) {
      await session.query(
        `UPDATE ${quoteName(target.ledgerSchema)}.run SET state = 'working' WHERE unit = $1::bigint`,
        [open.unit],
      );
      return open.unit;
    }
    for (const id of target.ids) {
      const type = columnOf(facts, id.column)?.type ?? 'text';
      await session.exec(`ALTER TABLE ${facts.table} ADD COLUMN ${quoteName(newColumnOf(id))} ${type}`);
    }
    const unit = { target, table: facts.table, key: [], keyTypes, types, isAtomic: false };
    return (await insertUnit(session, context, run, unit)).unit;
  });
}

async function assertColumnAgreed(
  context: ApplyContext,
  session: PgSession,
  { facts }: Found,
  agreed: TargetPlan,
  run: RunFacts,
  id: IdColumn,
): Promise<void> {
  const work = openColumn(context, id, context.policy);
  const judge = buildGroupJudge(work, 'new');
  for await (const groups of session.read(groupSql(`${facts.table} AS t`, '', id))) {
    for (const group of groups) judgeGroup(judge, group);
  }
  assertRecount(context, { agreed, run, work, table: null });
}

interface FillWhat {
  readonly unit: string;
  readonly at: number;
}

/** Fills rows that have an id and no V4 id yet, some pages at a time, then what moved between pages meanwhile. */
async function fillColumn(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  id: IdColumn,
  { unit, at }: FillWhat,
): Promise<void> {
  const fresh = quoteName(newColumnOf(id));
  const open = {
    from: `${found.facts.table} AS t`,
    where: `WHERE t.${quoteName(id.column)} IS NOT NULL AND t.${fresh} IS NULL`,
  };
  const source = { ...open, at, dropAtCommit: false };
  const makeMap = async (): Promise<ValueMap> => {
    const { map } = await copyMap(context, session, found, id, source);
    await session.exec(`CREATE INDEX ON ${map.table}(old)`);
    return map;
  };
  let map = await session.transaction(BEGIN_SNAPSHOT, makeMap);
  for (const { table, ranges } of await session.retry(() => listRanges(context, session, found))) {
    for (const [done, range] of ranges.entries()) {
      await session.transaction(BEGIN_LATEST, async () => {
        if (!(await hasTable(session, map.table))) map = await makeMap();
        await fillRows(session, found, id, { unit, map, table, range });
      });
      context.onProgress({
        kind: 'step',
        name: `filling ${newColumnOf(id)}`,
        done: done + 1,
        total: ranges.length,
      });
    }
  }
}

/** A lost connection takes its temporary tables along. */
async function hasTable(session: PgSession, table: string): Promise<boolean> {
  return (await session.one('SELECT to_regclass($1)', [table])) !== null;
}

interface Ranges {
  /** `ONLY` and the name of one table with rows of its own. */
  readonly table: string;
  /** Conditions on `t`, the last of them without a range. */
  readonly ranges: readonly string[];
}

/** The pages of the table, or of its partitions, in pieces of about a batch. */
async function listRanges({ tuning }: ApplyContext, session: PgSession, { facts }: Found): Promise<Ranges[]> {
  const version = Number(await session.one('SHOW server_version_num'));
  const { rows } = await session.query(
    `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_size(c.oid) / current_setting('block_size')::bigint,
       greatest(c.reltuples, 0)::bigint
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND (c.oid = $1::oid OR c.oid IN (SELECT relid FROM pg_partition_tree($1::oid::regclass) WHERE isleaf))`,
    [facts.oid],
  );
  return rows.map(([name, pages, tuples]) => {
    const count = version < TID_RANGE_VERSION ? 0 : Number(pages);
    const perPage =
      Number(tuples) > 0 && count > 0 ? Math.ceil(Number(tuples) / count) : ROWS_PER_PAGE_UNKNOWN;
    const step = Math.max(1, Math.floor(tuning.batchRows / perPage));
    const ranges: string[] = [];
    for (let page = 0; page < count; page += step) {
      ranges.push(`t.ctid >= '(${page},0)'::tid AND t.ctid < '(${page + step},0)'::tid`);
    }
    return { table: `ONLY ${name ?? ''}`, ranges: [...ranges, 'true'] };
  });
}

interface Fill {
  readonly unit: string;
  readonly map: ValueMap;
  readonly table: string;
  readonly range: string;
}

async function fillRows(
  session: PgSession,
  { target, types, facts }: Found,
  id: IdColumn,
  fill: Fill,
): Promise<void> {
  const at = target.ids.indexOf(id);
  const fresh = quoteName(newColumnOf(id));
  const s = quoteName(target.ledgerSchema);
  // A piece must cost what it holds: its rows look their ids up in the map's index.
  if (fill.range !== 'true')
    await session.exec('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
  if (facts.triggers.length > 0) await session.useUserPath();
  await session.query(
    `WITH u AS (
       UPDATE ${fill.table} AS t SET ${fresh} = m.new::${types[at]} FROM ${fill.map.table} AS m
       WHERE ${fill.range} AND t.${fresh} IS NULL AND m.new IS NOT NULL AND ${mapMatch(id, 't', 'm')} RETURNING 1
     )
     UPDATE ${s}.run SET changed = changed + (SELECT count(*) FROM u) WHERE unit = $1::bigint`,
    [fill.unit],
  );
}
