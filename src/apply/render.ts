import { isTextFile } from '../config/apply-targets.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { clipLines, fitText, wrapLines, wrapProse } from '../text/text-layout.js';
import type { LedgerRun, RunVerification, UndoResult, WriteResult } from './context.js';
import {
  type BlockingNote,
  describeChanged,
  type IdCounts,
  isMissing,
  isUnknown,
  judgeColumns,
  sum,
} from './judge-plan.js';
import type { ColumnPlan, Note, Plan, PlanCount, Policy, TargetPlan, UnmappedKind } from './plan.js';
import {
  type ColumnUnmapped,
  describeCategory,
  describeUnmapped,
  listEarlierUnmapped,
  listUnmapped,
} from './unmapped.js';

/** Lines of a plan on the smallest usual terminal; the other four are for the next step, the progress and the prompt. */
const MOST_LINES = 20;
/** Lines of a list that is cut short. */
const MOST_LISTED = 4;

export interface PlanStyle {
  readonly width: number;
  /** Whether to show every count; otherwise all of it fits one screen. */
  readonly isVerbose: boolean;
}

/** A plan for people, with what the command says of it at the end: what stops it first. */
export function renderPlanText(plan: Plan, end: string, { width, isVerbose }: PlanStyle): string {
  const { mode, missing, unknown, mapDeleted } = plan.policy;
  const how = mode === 'in_place' ? 'in place' : 'into new columns and files';
  const title = `rewrite ${countOf(plan.targets.length, 'target')} ${how}, --missing ${missing}, --unknown ${unknown}${mapDeleted ? ', --map-deleted' : ''}`;
  const head = wrapLines(
    [
      `Plan: ${title}.`,
      `Remap of ${formatTime(plan.remap.builtAt)}, sha256 ${plan.remap.sha256.slice(0, 12)}.`,
    ],
    width,
  );
  const left = `${renderLeft(listUnmapped(plan), width)}${renderUnmapped(listEarlierUnmapped(plan), { width, isVerbose })}`;
  const isStopped = (target: TargetPlan) => notesOf(target, plan).some(({ level }) => level === 'blocks');
  const stopped = plan.targets.filter(isStopped);
  const targets = [...stopped, ...plan.targets.filter((target) => !stopped.includes(target))];
  const room = MOST_LINES - countLines(`${head}${left}${end}`);
  const described = targets.flatMap((target) => ['', ...describeTarget(target, plan, isVerbose)]);
  const summaries = wrapLines([...described, ''], width);
  const isShown = isVerbose || countLines(summaries) <= room;
  return `${head}${isShown ? summaries : renderEach(targets, plan, { width, room })}${left}${end}`;
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** A line for each target, and only as many as there is room for. */
function renderEach(
  targets: readonly TargetPlan[],
  plan: Plan,
  { width, room }: { readonly width: number; readonly room: number },
): string {
  const lines = targets.map((target) => fitText(`  ${describeInLine(target, plan)}`, width));
  const most = Math.max(2, room - 2);
  const shown = lines.length <= most ? lines : lines.slice(0, most - 1);
  const rest = lines.length - shown.length;
  const more =
    rest === 0
      ? '--verbose has more on each.'
      : `… and ${countOf(rest, 'more target')}: --verbose shows them.`;
  return `\n${[...shown, `  ${more}`].join('\n')}\n`;
}

/** `orders: 180 cells to change, 10 ids do not map; 1 in the way` */
function describeInLine(target: TargetPlan, plan: Plan): string {
  const { name, changes, columns, earlier } = target;
  const counts = columns.flatMap((column) => (column.platformIdOf === undefined ? column.counts : []));
  const open = sum(counts.filter((count) => isMissing(count) || isUnknown(count)));
  const stops = notesOf(target, plan).filter(({ level }) => level === 'blocks').length;
  const before = earlier.done === 0 ? '' : `, ${countOf(earlier.done, 'cell')} done before`;
  const not = open === 0 ? '' : `, ${countOf(open, 'id')} ${open === 1 ? 'does' : 'do'} not map`;
  const stop = stops === 0 ? '' : `; ${groupDigits(stops)} in the way`;
  return `${name}: ${countOf(changes, 'cell')} to change${not}${before}${stop}`;
}

/** `Kept without a V4 id: 10 cells. Emptied: 3 cells.` */
export function renderLeft(left: readonly ColumnUnmapped[], width: number): string {
  const total = (kind: UnmappedKind) =>
    left.reduce((all, one) => all + (one.kind === kind ? one.cells : 0), 0);
  const texts = { kept: 'Kept without a V4 id', emptied: 'Emptied', left_alone: 'Left alone' } as const;
  const parts = (['kept', 'emptied', 'left_alone'] as const).flatMap((kind) =>
    total(kind) === 0 ? [] : [`${texts[kind]}: ${countOf(total(kind), 'cell')}.`],
  );
  return parts.length === 0 ? '' : wrapLines([parts.join(' ')], width);
}

/** Values left without a V4 id, one line for each column and reason; first what is not accepted, then what is most. */
export function renderUnmapped(left: readonly ColumnUnmapped[], style: PlanStyle): string {
  const sorted = [...left].sort((a, b) => Number(a.isAccepted) - Number(b.isAccepted) || b.cells - a.cells);
  return renderShort(
    sorted.map((one) => `  ${describeUnmapped(one)}`),
    style,
  );
}

/** A list, cut short unless everything is shown. */
function renderShort(lines: readonly string[], { width, isVerbose }: PlanStyle): string {
  const rest = isVerbose || lines.length <= MOST_LISTED ? 0 : lines.length - MOST_LISTED + 1;
  const more = rest === 0 ? [] : [`  … and ${groupDigits(rest)} more: --verbose shows them.`];
  return wrapLines([...lines.slice(0, lines.length - rest), ...more], width);
}

/** Notes on a target and on the ids in it, the gravest first. */
function notesOf(target: TargetPlan, { policy }: Plan): Note[] {
  const all = [...target.notes, ...judgeColumns(target, policy)];
  return (['blocks', 'warning'] as const).flatMap((level) => all.filter((note) => note.level === level));
}

/** A target: what changes, and what stands in the way; in full, or in a few lines, because what stops it is listed at the end. */
function describeTarget(target: TargetPlan, plan: Plan, isVerbose: boolean): string[] {
  const output = target.output === null ? '' : ` → ${target.output}`;
  const notes = notesOf(target, plan).filter(({ level }) => isVerbose || level === 'warning');
  return [
    `${target.name}: ${target.kind} ${target.place}${output}`,
    `  ${describeChanges(target)}`,
    ...describeEarlier(target, plan.policy),
    ...target.columns.flatMap((column) => (isVerbose ? describeColumn(column) : summarizeColumn(column))),
    ...notes.map(describeNote),
  ];
}

/** `invoice_id → invoice_id_v4 (accounting/invoices): 180 ids map, 10 do not: unmatched/unexplained 10` */
function summarizeColumn(column: ColumnPlan): string {
  const [head = ''] = describeColumn({ ...column, counts: [] });
  const { counts, platformIdOf } = column;
  const mapped = sum(counts.filter(({ name }) => name === 'mapped'));
  const others = counts
    .filter((count) => isMissing(count) || isUnknown(count))
    .sort((a, b) => rank(a) - rank(b) || b.ids - a.ids);
  if (platformIdOf !== undefined || counts.length === 0) return head;
  const names = others.map(
    ({ name, ids, atLeast }) => `${name} ${atLeast ? 'at least ' : ''}${groupDigits(ids)}`,
  );
  const verb = sum(others) === 1 ? 'does' : 'do';
  const not = others.length === 0 ? '' : `, ${groupDigits(sum(others))} ${verb} not: ${names.join(', ')}`;
  return `${head}: ${countOf(mapped, 'id')} ${mapped === 1 ? 'maps' : 'map'}${not}`;
}

function describeEarlier(target: TargetPlan, policy: Policy): string[] {
  const { earlier } = target;
  const unit = isTextFile(target) ? 'file' : 'cell';
  const changed =
    earlier.changedSince === 0 ? [] : [`  ${describeChanged(earlier, unit)}; not touched again`];
  return [...describeState(target, policy), ...changed];
}

function describeState({ earlier }: TargetPlan, { mode, again }: Policy): string[] {
  const { state, run, done, left, since } = earlier;
  if (state === 'none') return [];
  const cells = countOf(done, 'cell');
  if (mode === 'new' && state === 'unfinished') {
    return [
      `  run ${run} filled ${cells}; ${countOf(left, 'cell with an id is', 'cells with ids are')} empty in the new column`,
    ];
  }
  if (state === 'unfinished')
    return [`  unfinished run ${run}: ${groupDigits(left)} cells are still to be rewritten`];
  if (since === 0) return [`  already V4 by the ledger: ${cells}, run ${run}`];
  const others = `${countOf(since, 'cell')} left alone by the run or added since`;
  if (!again)
    return [`  already V4 by the ledger: ${cells}, run ${run}; ${others}, rewritten only with --again`];
  return [
    `  already V4 by the ledger: ${cells}, run ${run}; ${others}, rewritten now (--again)`,
    '  Warning: if another program wrote V4 ids into these cells since, they would be taken for V3 ids.',
  ];
}

function describeColumn({ column, model, newColumn, platformIdOf, counts }: ColumnPlan): string[] {
  const order = [...counts].sort((a, b) => rank(a) - rank(b));
  const place =
    platformIdOf === undefined
      ? `${column}${newColumn === null ? '' : ` → ${newColumn}`}`
      : `${platformIdOf} → ${column}: platform_id`;
  return [`  ${place} (${model})`, ...order.map((count) => `    ${describeCount(count)}`)];
}

function rank(count: PlanCount): number {
  if (count.name === 'mapped') return 0;
  return isMissing(count) ? 1 : isUnknown(count) ? 2 : 3;
}

function describeCount(count: PlanCount): string {
  const { name, rows, samples, atLeast } = count;
  if (name === 'empty') return `${countOf(rows, 'cell')} empty`;
  if (name === 'not_ours') return `${countOf(rows, 'cell')} of rows whose model the target maps to null`;
  const ids = `${atLeast ? 'at least ' : ''}${countOf(count.ids, name === 'mapped' || isMissing(count) ? 'id' : 'value')}`;
  const cells = `in ${countOf(rows, 'cell')}`;
  if (name === 'mapped') return `${ids} ${cells}: mapped`;
  const such = samples.length === 0 ? '' : ` Examples: ${samples.join(', ')}.`;
  return `${ids} ${cells}: ${name}. ${describeCategory(name)}${such}`;
}

const MARKS: Readonly<Record<Note['level'], string>> = { blocks: 'STOP', warning: 'Warning:' };

function describeNote({ level, text }: Note): string {
  return `  ${MARKS[level]} ${text}`;
}

/** `Of 18,220 ids you store, 18,214 map; 6 do not. By the ledger: 40 cells rewritten, 12 cells still to be rewritten.` */
export function describeIds({ stored, mapped, missing, unknown, done, left, since }: IdCounts): string {
  const cells = { rewritten: done, 'still to be rewritten': left, 'left alone or added since': since };
  const known = Object.entries(cells).filter(([, count]) => count > 0);
  const list = known.map(([what, count]) => `${countOf(count, 'cell')} ${what}`).join(', ');
  const byLedger = list === '' ? '' : ` By the ledger: ${list}.`;
  if (stored === 0) return left + since > 0 ? byLedger.trimStart() : `There is no id left to map.${byLedger}`;
  const rest = missing + unknown;
  const why = [
    ...(missing > 0 ? [`${groupDigits(missing)} ${missing === 1 ? 'is a finding' : 'are findings'}`] : []),
    ...(unknown > 0 ? [`${groupDigits(unknown)} ${unknown === 1 ? 'names' : 'name'} no single V3 id`] : []),
  ].join(', ');
  const not = `${groupDigits(rest)} ${rest === 1 ? 'does' : 'do'} not: ${why}`;
  const tail = `; ${rest === 0 ? 'none is left over' : not}`;
  return `Of ${countOf(stored, 'id')} you store, ${groupDigits(mapped)} ${mapped === 1 ? 'maps' : 'map'}${tail}.${byLedger}`;
}

/** The ids of a plan that do not map, by column and reason: for the gate. */
export function renderUnmappedIds(plan: Plan, width: number): string {
  const lines = plan.targets.flatMap((target) =>
    target.columns.flatMap(({ column, model, counts }) => {
      const rest = counts.filter((count) => isMissing(count) || isUnknown(count));
      if (rest.length === 0) return [];
      const head = `${target.name}, ${column} (${model}): ${groupDigits(sum(rest))} of ${groupDigits(
        sum(rest) + sum(counts.filter(({ name }) => name === 'mapped')),
      )}`;
      return [head, ...rest.map((count) => `  ${describeCount(count)}`)];
    }),
  );
  return wrapLines(lines, width);
}

/** The blocking notes, one line each; then, as the last lines, the verdict and the first of the notes. */
export function renderEnd(sentence: string, blocks: readonly BlockingNote[], style: PlanStyle): string {
  const notes = blocks.map(({ target, note }) => `${target}: ${note.text}`);
  const stops = notes.map((note) => `  ${MARKS.blocks} ${note}`);
  const biggest = notes.slice(0, 1).flatMap((note) => wrapProse(`Biggest blocker: ${note}`, style.width));
  const shown = clipLines(biggest, 2, style.width).map((line) => `${line}\n`);
  return `${renderShort(stops, style)}${sentence === '' ? '' : wrapLines([sentence], style.width)}${shown.join('')}`;
}

/** A result, and the cells that the run had changed before this write. */
type WrittenNow = WriteResult & { readonly before: number };

/** The result of a run for each target. */
export function renderWritten(written: readonly WrittenNow[], width: number): string {
  return wrapLines(written.flatMap(describeWritten), width);
}

function describeWritten({
  target,
  run,
  changed,
  before,
  skipped,
  skippedCount,
  alreadyDone,
}: WrittenNow): string[] {
  if (alreadyDone) {
    return [`${target}: nothing to do, run ${run} rewrote ${countOf(changed, 'cell')} before`];
  }
  const left =
    skippedCount === 0 ? '' : `; ${countOf(skippedCount, 'row')} left alone, changed by others meanwhile`;
  return [
    `${target}: ${countOf(changed - before, 'cell')} rewritten, run ${run}${before === 0 ? '' : ` (${groupDigits(changed)} in all)`}${left}`,
    ...named(skipped, skippedCount),
  ];
}

/** The result of an undo for each target. */
export function renderUndone(undone: readonly UndoResult[], width: number): string {
  return wrapLines(
    undone.flatMap(({ target, restored, changedSince, changedSinceCount }) => {
      const left =
        changedSinceCount === 0
          ? ''
          : `; ${groupDigits(changedSinceCount)} left alone, changed since the run`;
      return [
        `${target}: ${countOf(restored, 'cell')} restored${left}`,
        ...named(changedSince, changedSinceCount),
      ];
    }),
    width,
  );
}

/** The result of a verification for each target. `countChanged`: what changed since, with its unit. */
export function renderVerified(
  verified: readonly RunVerification[],
  width: number,
  countChanged: (one: RunVerification) => string,
): string {
  return wrapLines(
    verified.flatMap((one) => {
      const { target, run, checked, wrong, wrongCount, changedSince, changedSinceCount, notChecked } = one;
      if (notChecked !== null) return [`${target}, run ${run}: not checked, ${notChecked} since`];
      const good = one.byLedgerAlone ? 'as the ledger says' : 'as ledger and remap say';
      const says = wrongCount === 0 ? good : `${groupDigits(wrongCount)} WRONG`;
      const since = changedSinceCount === 0 ? '' : `; ${countChanged(one)} changed by others since`;
      const came = one.cameSince === 0 ? '' : `; ${groupDigits(one.cameSince)} came since and are not filled`;
      return [
        `${target}, run ${run}: ${countOf(checked, 'cell')} checked, ${says}${since}${came}`,
        ...named(wrong, wrongCount),
        ...named(changedSince, changedSinceCount),
      ];
    }),
    width,
  );
}

/** A list of runs. */
export function renderRuns(runs: readonly LedgerRun[], width: number): string {
  const lines = runs.map(({ run, target, place, mode, state, changed, startedAt }) => {
    const how = mode === 'in_place' ? 'in place' : 'into a new column or file';
    return `  ${run}  ${formatTime(startedAt)}  ${STATES[state]}  ${target} (${place}, ${how}): ${countOf(changed, 'cell')}`;
  });
  return wrapLines(lines, width);
}

const STATES: Readonly<Record<LedgerRun['state'], string>> = {
  working: 'unfinished',
  done: 'done',
  undoing: 'partly undone',
  undone: 'undone',
};

function named(rows: readonly string[], count: number): string[] {
  const more = count - rows.length;
  return [...rows.map((row) => `  ${row}`), ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : [])];
}

/** `1,204 rows to read, 180 cells to change` */
function describeChanges({ rows, changes, notes }: Pick<TargetPlan, 'rows' | 'changes' | 'notes'>): string {
  // A target that cannot be read has no rows to speak of.
  if (rows === 0 && notes.some(({ level }) => level === 'blocks')) return 'not read';
  if (changes === 0) return `${countOf(rows, 'row')}, no cell to change`;
  return `${countOf(rows, 'row')} to read, ${countOf(changes, 'cell')} to change`;
}
