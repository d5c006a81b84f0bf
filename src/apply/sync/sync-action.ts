import { countOf, formatTime } from '../../text/numbers.js';
import { wrapLines } from '../../text/text-layout.js';
import { type ApplyResult, type ApplyTask, hasUnaccepted, surveyTargets } from '../actions.js';
import type { BlockingNote } from '../judge-plan.js';
import { blocks } from '../plan.js';
import { renderBlocks } from '../render.js';
import { type ColumnUnmapped, listUnmapped, renderUnmapped } from '../unmapped.js';
import { NOTHING_SYNCED, type SyncedTable } from './sync-table.js';
import type { SyncRequest } from './sync-tables.js';

/** Maximum number of unmapped cells that are printed for each table; JSON and --unmapped list more. */
const PRINTED = 20;

/** Plans or carries out `--sync`. After `off`, everything that is left without its V4 id is counted and listed. */
export async function switchSync(
  task: ApplyTask,
  turn: SyncRequest['turn'],
  newRun: string | null,
): Promise<ApplyResult> {
  const { formatCommand, width } = task;
  const plan = await forStores(task, { turn, run: null });
  const stops = plan.flatMap((one) => blocksOf(one, turn));
  if (stops.length > 0 || newRun === null) {
    const isClear = stops.length === 0;
    const verdict = isClear ? '' : `Nothing was changed. Blocked by:\n${renderBlocks(stops, width)}`;
    return {
      exitCode: isClear ? 0 : 6,
      text: `${wrapLines([`Plan: --sync ${turn}.`, ...plan.flatMap((one) => describeTable(one, turn, false))], width)}${verdict}`,
      json: { action: 'sync', sync: turn, isWritten: false, tables: plan, blocks: stops, left: [] },
      next: isClear
        ? formatCommand('apply', '--sync', turn, '--yes')
        : 'fix what blocks the plan, then run the same command again',
      plan: null,
      synced: plan.filter(({ wasOn }) => wasOn).map(({ target }) => target),
    };
  }
  const tables = await forStores(task, { turn, run: { run: newRun, planSha256: '', isExact: false } });
  const left = turn === 'off' ? listUnmapped(await surveyTargets(task, true), true) : [];
  const isRest = hasUnaccepted(left);
  const title =
    turn === 'on' ? 'Done: triggers fill the new columns.' : 'Done: triggers and crosswalk are gone.';
  return {
    exitCode: isRest ? 1 : 0,
    text: `${wrapLines([title, ...tables.flatMap((one) => describeTable(one, turn, true))], width)}${renderLeft(left, width)}`,
    json: { action: 'sync', sync: turn, isWritten: true, tables, blocks: [], left },
    next: nextOf(turn, isRest, formatCommand),
    plan: null,
  };
}

function nextOf(
  turn: SyncRequest['turn'],
  isRest: boolean,
  formatCommand: ApplyTask['formatCommand'],
): string {
  if (turn === 'on') return formatCommand('apply', '--yes');
  return isRest
    ? 'look at the cells above; --unmapped FILE lists each with the key of its row'
    : formatCommand('apply', '--verify');
}

async function forStores({ stores }: ApplyTask, request: SyncRequest): Promise<SyncedTable[]> {
  const tables: SyncedTable[] = [];
  for (const { sync, targets } of stores)
    tables.push(...(sync === undefined ? targets.map(withoutTriggers) : await sync(request)));
  return tables;
}

function withoutTriggers(target: string): SyncedTable {
  const text = '--sync takes only tables of databases that apply connects to.';
  return {
    target,
    place: '',
    ...NOTHING_SYNCED,
    notes: [blocks('sync_no_table', text)],
  };
}

/** What blocks the request; triggers can always be removed from a table that exists. */
function blocksOf({ target, notes }: SyncedTable, turn: SyncRequest['turn']): BlockingNote[] {
  const isStop = (code: string) => turn === 'on' || code === 'unknown_table' || code === 'sync_no_table';
  return notes
    .filter(({ level, code }) => level === 'blocks' && isStop(code))
    .map((note) => ({ target, note }));
}

function describeTable(table: SyncedTable, turn: SyncRequest['turn'], isDone: boolean): string[] {
  const { target, place, columns, makes, removes, refreshed, notes } = table;
  const verb = (done: string, planned: string) => (isDone ? done : planned);
  const warnings = notes.filter(({ level }) => turn === 'on' && level === 'warning');
  return [
    place === '' ? target : `${target}: ${place}`,
    ...columns.map(
      ({ column, newColumn, mapped, missing }) =>
        `  ${column} → ${newColumn}: ${countOf(mapped, 'V3 id')} mapped, ${missing} not`,
    ),
    ...(makes.length === 0 ? [] : [`  ${verb('made', 'makes')} ${makes.join(', ')}`]),
    ...(removes.length === 0 ? [] : [`  ${verb('removed', 'removes')} ${removes.join(', ')}`]),
    ...(turn === 'off' && place !== '' && removes.length === 0 ? ['  --sync has created nothing here'] : []),
    ...(turn === 'on' && table.wasOn && !isDone ? ['  --sync is on: its crosswalk is refreshed'] : []),
    ...(refreshed === null
      ? []
      : [
          `  crosswalk: ${countOf(refreshed.added, 'row')} added, ${refreshed.changed} changed, ${refreshed.removed} removed`,
        ]),
    ...describeRecorded(table),
    ...warnings.map(({ text }) => `  Warning: ${text}`),
  ];
}

function describeRecorded({ unmapped, unmappedCount }: SyncedTable): string[] {
  if (unmappedCount === 0) return [];
  const more = unmappedCount - Math.min(unmapped.length, PRINTED);
  return [
    `  ${countOf(unmappedCount, 'cell')} written meanwhile could not be mapped:`,
    ...unmapped
      .slice(0, PRINTED)
      .map(
        ({ column, row, value, reason, at }) =>
          `    ${row === null ? '' : `row ${row}, `}${column} ${value}: ${reason}, ${formatTime(at)}`,
      ),
    ...(more > 0 ? [`    … and ${more} more`] : []),
  ];
}

function renderLeft(left: readonly ColumnUnmapped[], width: number): string {
  return left.length === 0
    ? ''
    : `Without a V4 id, or with another one than the remap gives:\n${renderUnmapped(left, width)}`;
}
