import type { Obstacle } from '../apply/db/database.js';
import type {
  CheckResult,
  OfTarget,
  SwitchResult,
  TargetPlan,
  UndoResult,
  WriteResult,
} from '../apply/run-apply.js';
import { type OutcomeCount, sumOf, unmappedOf } from '../apply/verdict.js';
import { escapeLines } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { type Column, renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import type { Style } from './command.js';

const MOST_ROWS = 20;

function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, verbose }: Style,
): string {
  if (rows.length === 0) return '';
  const shown = verbose || rows.length <= MOST_ROWS ? rows : rows.slice(0, MOST_ROWS - 1);
  const more = rows.length - shown.length;
  const lines = renderTable(
    columns,
    shown.map((row) => row.map(escapeCell)),
    width,
  );
  return `${lines.join('\n')}\n${more === 0 ? '' : `  … and ${groupDigits(more)} more: --verbose shows them.\n`}`;
}

export const hasHave = (count: number) => (count === 1 ? 'has' : 'have');

const escapeCell = (text: string) => escapeLines(text).replaceAll('\n', ' ');

const OUTCOME_COLUMNS: readonly Column[] = [
  { title: 'column' },
  { title: 'outcome' },
  { title: 'cells', numeric: true },
  { title: 'values', numeric: true },
  { title: 'limits' },
  { title: 'examples' },
];

interface Counted {
  readonly target: string;
  readonly column: string;
  readonly counts: readonly OutcomeCount[];
}

function renderCounts(columns: readonly Counted[], style: Style): string {
  const rows = columns.flatMap(({ target, column, counts }) =>
    counts.map((count) => [
      `${target}: ${column}`,
      count.name === 'mapped' ? 'has a V4 id' : count.name,
      groupDigits(count.rows),
      groupDigits(count.ids),
      unmappedOf([count]).length === 0 ? '' : count.isAccepted ? 'accepted' : 'not accepted',
      count.samples.join(', '),
    ]),
  );
  return table(OUTCOME_COLUMNS, rows, style);
}

const HEADS: Readonly<Record<Obstacle['stops'], string>> = {
  write: 'STOP',
  switch: 'STOP (switch)',
  none: 'Note:',
};

export function renderPlan(plans: readonly TargetPlan[], gate: string | null, style: Style): string {
  const heads = plans.map(({ name, kind, place, output, columns }) => {
    const where = columns.map(({ column, model, newColumn, state }) => {
      const done = state === 'none' ? '' : `, ${state}`;
      return `${column}${newColumn === null ? '' : ` → ${newColumn}`} (${model}${done})`;
    });
    return `${name}: ${kind} ${place}${output === null ? '' : ` → ${output}`}: ${where.join(', ')}`;
  });
  const counts = plans.flatMap(({ name, columns }) => columns.map((column) => ({ target: name, ...column })));
  const notes = plans.flatMap(({ name, notes: list }) =>
    list.map(({ stops, text }) => `${HEADS[stops]} ${name}: ${text}`),
  );
  const isRed = gate !== null && gate !== 'pass';
  const warning = isRed ? [`The gate of this remap is red (${gate}): svc-migrate check says why.`] : [];
  return `${lines([...heads, ''], style)}${renderCounts(counts, style)}${lines([...notes, ...warning], style)}`;
}

export function lines(texts: readonly string[], { width }: Style): string {
  return texts.length === 0
    ? ''
    : wrapLines(
        texts.map((text) => escapeLines(text)),
        width,
      );
}

export function renderRefusedWrite({ refused }: Pick<WriteResult, 'refused'>, style: Style): string {
  const unmapped = refused.map((column) => ({ ...column, counts: unmappedOf(column.counts) }));
  const cells = unmapped.reduce((sum, { counts }) => sum + sumOf(counts, 'rows'), 0);
  const head = `Nothing was written: ${countOf(cells, 'cell')} ${cells === 1 ? 'has' : 'have'} no V4 id.`;
  return `${renderCounts(unmapped, style)}${lines([head], style)}`;
}

export function renderWritten({ written, switchedBefore }: WriteResult, style: Style): string {
  const done = written.map(
    ({ target, column, newColumn, changed, output }) =>
      `${target}: ${column} → ${output ?? newColumn}: ${countOf(changed, 'cell')} written`,
  );
  const before = switchedBefore.map(
    ({ target, column }) => `${target}: ${column} was switched before; left alone`,
  );
  const open = written.flatMap((column) => {
    const counts = unmappedOf(column.counts);
    return counts.length === 0 ? [] : [{ ...column, counts }];
  });
  return `${lines([...done, ...before], style)}${renderCounts(open, style)}`;
}

const CHECK_COLUMNS: readonly Column[] = [
  { title: 'column' },
  { title: 'state' },
  { title: 'right', numeric: true },
  { title: 'wrong', numeric: true },
  { title: 'missing', numeric: true },
  { title: 'changed', numeric: true },
  { title: 'added since', numeric: true },
  { title: 'without V4 id', numeric: true },
];

export function renderCheck({ columns, files }: CheckResult, style: Style): string {
  const rows = columns.map((column) => [
    `${column.target}: ${column.column}`,
    column.state === 'none' ? 'not written' : column.state,
    ...[
      column.checked,
      column.wrongCount + (column.differs ?? 0),
      column.missing,
      column.changedSinceCount,
      column.cameSince,
      column.unmapped.reduce((sum, each) => sum + each.rows, 0),
    ].map((count) => groupDigits(count)),
  ]);
  const ofFiles = files.map((file) => [
    `${file.target}: ${file.output}`,
    file.exists ? 'written' : 'not written',
    ...[file.checked, file.wrongCount, file.missing, 0, 0, 0].map((count) => groupDigits(count)),
  ]);
  const noId = [
    ...columns.map((column) => ({ ...column, name: column.column })),
    ...files.map((file) => ({ ...file, name: file.output })),
  ].flatMap(({ target, name, noIdAtPath }) =>
    noIdAtPath === 0
      ? []
      : [`${target}: ${countOf(noIdAtPath, 'document')} of ${name} ${hasHave(noIdAtPath)} no id at the path`],
  );
  const named = columns.flatMap(({ target, column, wrong, changedSince, differs }) => [
    ...wrong.map((row) => `${target}: ${column} is WRONG in row ${row}`),
    ...changedSince.map((row) => `${target}: ${column} was changed since the switch in row ${row}`),
    ...(differs === null || differs === 0
      ? []
      : [
          `${target}: ${countOf(differs, 'value')} of ${column} ${differs === 1 ? 'has' : 'have'} another V4 id in the remap than in the crosswalk`,
        ]),
  ]);
  const inFiles = files.flatMap(({ target, wrong }) => wrong.map((row) => `${target}: WRONG in ${row}`));
  return `${table(CHECK_COLUMNS, [...rows, ...ofFiles], style)}${lines([...noId, ...named, ...inFiles], style)}`;
}

export function renderSwitched({ switched, refused, skipped }: SwitchResult, style: Style): string {
  const done = switched.map(({ target, column, switched: cells, emptied, alreadyDone }) =>
    alreadyDone
      ? `${target}: ${column} was switched before`
      : `${target}: ${column} holds V4 ids now: ${countOf(cells, 'cell')} switched${emptied === 0 ? '' : `, ${groupDigits(emptied)} emptied`}`,
  );
  const not =
    refused === null
      ? []
      : [
          ...refused.unmapped.map(
            ({ name, rows }) => `  ${refused.column}: ${countOf(rows, 'cell')} ${name}`,
          ),
          `${refused.place} was not switched: these cells have no V4 id.`,
        ];
  const files = skipped.map((name) => `${name}: a file has nothing to switch; use the new one`);
  return lines([...done, ...files, ...not], style);
}

export function renderUndone({ undone, files }: UndoResult, style: Style): string {
  const nothing =
    undone.length === 0 && files.length === 0 ? ['Nothing to undo: svc-migrate added nothing there.'] : [];
  return lines([...nothing, ...undone.flatMap(describeUndone), ...files.map(describeFile)], style);
}

function describeUndone({
  target,
  column,
  tableGone,
  restored,
  changedSince,
  changedSinceCount,
  emptied,
}: UndoResult['undone'][number]): string[] {
  if (tableGone) return [`${target}: the table is gone; what was recorded of ${column} is dropped`];
  const back = restored === 0 ? '' : `; ${countOf(restored, 'cell')} hold V3 ids again`;
  return [
    `${target}: ${column} is as it was${back}`,
    ...(changedSinceCount === 0
      ? []
      : [
          `  ${countOf(changedSinceCount, 'row')} changed or added since the switch keep their V4 ids: ${changedSince.join('; ')}${changedSinceCount > changedSince.length ? '; …' : ''}`,
        ]),
    ...emptied.map(({ column: name, why }) => `  ${name} cannot be dropped and is empty now: ${why}`),
  ];
}

function describeFile({
  target,
  output,
  removed,
}: OfTarget<{ readonly output: string; readonly removed: boolean }>): string {
  return removed ? `${target}: ${output} is removed` : `${target}: there is no ${output}`;
}
