import type { IdColumn } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { Verified } from '../context.js';
import type { Engine, JudgedCells } from './dialect.js';
import { lostSource } from './double-rewrite.js';
import { EntryChecks, type EntryVerdict } from './entry-checks.js';
import { compareAllFilled } from './filled-columns.js';
import { enteredCells, readRunsOfTable, type TableRun } from './ledger.js';

/** Recomputes a finished run: every entry from the remap, every row from its entry. */
export async function verifyRun(engine: Engine, run: TableRun): Promise<Verified> {
  const { session } = engine;
  const runs = await session.retry(() => readRunsOfTable(engine, run.ledger, run.table));
  const notChecked = lostSource(run, runs);
  const checks = new EntryChecks();
  if (notChecked === null && run.mode === 'new') {
    const { compared, gone } = await session.transaction('read', () => compareAllFilled(engine, run));
    for (const one of compared) checks.addFilled(one);
    for (const name of gone) checks.addWrong(`column ${name} is gone`);
  } else if (notChecked === null) {
    for (const [col, id] of run.target.ids.entries()) {
      await session.transaction('read', () => verifyColumn(engine, run, col, id, checks));
    }
  }
  return { target: run.target.name, run: run.run, notChecked, ...checks.result() };
}

/** Model, region and company come from the row of now: where it is gone, only targets without them can be checked. */
async function verifyColumn(
  { context, dialect }: Engine,
  run: TableRun,
  col: number,
  id: IdColumn,
  checks: EntryChecks,
): Promise<void> {
  const cell = `t.${dialect.quote(id.column)}`;
  const extra = [
    dialect.keyName('e.row_key'),
    `CASE WHEN t.${dialect.quote(run.key[0] ?? '')} IS NULL THEN 'gone' WHEN ${dialect.isSame(cell, 'e.new')} THEN 'new'
      WHEN ${dialect.isSame(cell, 'e.old')} THEN 'old' ELSE 'other' END`,
    dialect.exactText('e.new'),
  ];
  const source = {
    work: openColumn(context, id, { ...context.policy, ...run.policy }),
    mode: 'in_place' as const,
    from: enteredCells(dialect, run, col, 'LEFT JOIN'),
    value: 'e.old',
    extra,
  };
  for await (const rows of dialect.judge(source)) {
    for (const row of rows) checks.addEntry(row.extra[0] ?? '', verdictOf(row));
  }
}

function verdictOf({ exact, extra: [, holds, written] }: JudgedCells): EntryVerdict {
  if (holds === 'gone') return 'gone';
  if (exact !== written) return 'remap';
  if (holds === 'new') return 'right';
  return holds === 'old' ? 'undone' : 'changed';
}
