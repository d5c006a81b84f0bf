import { SvcError } from '../../errors.js';
import { NAMED_ROWS, type RunFacts, type Written } from '../context.js';
import type { Engine } from './dialect.js';
import type { FoundTable } from './found-table.js';
import { type NewTableRun, readRunsOfTable, type TableRun } from './ledger.js';

export function newRunOf({ target, ledger, facts, judgement, keyTypes, types }: FoundTable): NewTableRun {
  const { key, isAtomic } = judgement.handling;
  return { target, ledger, table: facts.table, key, keyTypes, types, isAtomic };
}

/**
 * The run of this table, where a connection was lost right after it was entered.
 *
 * @throws SvcError `locked` where another process began meanwhile
 */
export async function findEntered(
  engine: Engine,
  { target, facts, ledger, units }: FoundTable,
  run: RunFacts,
): Promise<string | null> {
  const now = await readRunsOfTable(engine, ledger, facts.table);
  const known = new Set(units.map(({ unit }) => unit));
  const ours = now.find(
    (one) => !known.has(one.unit) && one.run === run.run && one.target.name === target.name,
  );
  if (ours !== undefined) return ours.unit;
  const states = (runs: readonly TableRun[]) => runs.map(({ unit, state }) => `${unit} ${state}`).join();
  if (states(now) === states(units)) return null;
  throw new SvcError('locked', `Another svc-migrate is rewriting ${facts.table}.`, {
    hint: 'Wait until it has finished.',
  });
}

/** Marks a run in place as done and counts what it did. */
export async function finishRun(
  { context, session }: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
): Promise<void> {
  await session.query(
    `UPDATE ${ledger.run} SET state = 'done', finished_at = $1,
       changed = (SELECT count(*) FROM ${ledger.entry} AS e WHERE e.unit = $2 AND e.id > first_entry AND e.id <= last_entry),
       skipped = (SELECT count(*) FROM ${ledger.skipped} AS s WHERE s.unit = $2)
     WHERE unit = $2 AND state = 'working'`,
    [new Date(context.now()).toISOString(), unit],
  );
}

export async function describeWritten({ session, dialect }: Engine, run: TableRun): Promise<Written> {
  const { rows } = await session.query(
    `SELECT ${dialect.keyName('row_key')} FROM ${run.ledger.skipped} WHERE unit = $1 LIMIT ${NAMED_ROWS}`,
    [run.unit],
  );
  return {
    target: run.target.name,
    run: run.run,
    changed: run.changed,
    skipped: rows.map(([key]) => `row ${key ?? ''}`),
    skippedCount: run.skipped,
    alreadyDone: false,
  };
}
