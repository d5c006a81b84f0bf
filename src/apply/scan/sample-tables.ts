import { setImmediate } from 'node:timers/promises';
import { newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import type { Engine } from '../engine/dialect.js';
import { interrupted } from '../engine/dialect.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { type EarlierRun, ledgerOf } from '../engine/table-facts.js';
import {
  addJsonLeaves,
  bounded,
  type ColumnSample,
  looksLikeJson,
  PathValues,
  type PlaceSample,
  SAMPLED_VALUES,
  type Unseen,
} from './column-sample.js';

/** Rows sampled per table: the first ones. */
const SAMPLED_ROWS = 100_000;

/**
 * Samples every table of the database that holds these targets, or only the one named `only`. Call inside a read-only
 * transaction.
 *
 * @throws SvcError `interrupted`
 */
export async function sampleTables(
  engine: Engine,
  [target]: readonly TableTarget[],
  only: string | null,
): Promise<PlaceSample> {
  const columns: ColumnSample[] = [];
  const unseen: Unseen[] = [];
  if (target === undefined) return { columns, unseen };
  const tables = await engine.dialect.listTables(target);
  const chosen = tables.filter(({ name }) => only === null || name === only);
  for (const [at, { name, obstacle }] of chosen.entries()) {
    engine.context.onProgress({ kind: 'step', name: `scanning ${name}`, done: at, total: chosen.length });
    if (obstacle === null) columns.push(...(await sampleTable(engine, { ...target, table: name })));
    else unseen.push({ what: name, why: obstacle });
  }
  return { columns, unseen };
}

/** Samples the columns that can hold ids and, where their values look like JSON, the paths inside them. */
async function sampleTable(engine: Engine, target: TableTarget): Promise<ColumnSample[]> {
  const { dialect } = engine;
  const facts = await dialect.readFacts(target);
  const runs = await readRunsOfTable(engine, ledgerOf(engine, target), facts.table);
  const [key = []] = facts.keys;
  const samples: ColumnSample[] = [];
  for (const { name, holds, isGenerated } of facts.columns) {
    if (isGenerated || holds === 'other') continue;
    const place = { table: target.table, column: name, run: writerOf(runs, name) };
    const values = await readValues(engine, facts.table, name);
    const leaves = new PathValues();
    for (const value of values) if (looksLikeJson(value)) addJsonLeaves(value, leaves);
    samples.push({ ...place, path: null, ...bounded(values), isKey: key.length === 1 && key[0] === name });
    samples.push(...leaves.list((path) => ({ ...place, path })));
  }
  return samples;
}

/** Distinct values of the first rows, without empty ones: at most one more than are sampled. */
async function readValues(
  { session, dialect, context }: Engine,
  table: string,
  column: string,
): Promise<Set<string>> {
  await setImmediate();
  if (context.signal.aborted) throw interrupted();
  const cell = `t.${dialect.quote(column)}`;
  const rows = `SELECT ${cell} AS v FROM ${dialect.tableSql(table)} AS t WHERE ${cell} IS NOT NULL LIMIT ${SAMPLED_ROWS}`;
  // One of the values may be empty.
  const distinct = `SELECT DISTINCT ${dialect.asCell({ column }, 'q.v')} AS v FROM (${rows}) AS q LIMIT ${SAMPLED_VALUES + 2}`;
  const values = new Set<string>();
  for await (const batch of session.read(`SELECT d.v FROM (${distinct}) AS d`)) {
    // Bytes are no ids.
    for (const [value] of batch) if (!Buffer.isBuffer(value) && value !== '') values.add(String(value));
  }
  return values;
}

/** The latest run that rewrote or filled a column; null if none did. */
function writerOf(runs: readonly EarlierRun[], column: string): string | null {
  const found = runs.findLast(({ mode, target }) =>
    target.ids.some((id) => (mode === 'new' ? newColumnOf(id) : id.column) === column),
  );
  return found?.run ?? null;
}
