import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { layLines } from '../text/text-layout.js';
import type { LedgerRun, Undone, Verified, Written } from './context.js';
import type { BlockingNote } from './verdict.js';

/** What stands in the way, one line each. */
export function renderBlocks(blocks: readonly BlockingNote[], width: number): string {
  return layLines(
    blocks.map(({ target, note }) => `  ${target}: ${note.text}`),
    width,
  );
}

/** What carrying out did. */
export function renderWritten(written: readonly Written[], width: number): string {
  return layLines(written.flatMap(describeWritten), width);
}

function describeWritten({ target, run, changed, skipped, skippedCount, alreadyDone }: Written): string[] {
  if (alreadyDone) {
    return [`${target}: nothing to do, run ${run} rewrote ${countOf(changed, 'cell')} before`];
  }
  const left =
    skippedCount === 0 ? '' : `; ${countOf(skippedCount, 'row')} left alone, changed by others meanwhile`;
  return [
    `${target}: ${countOf(changed, 'cell')} rewritten, run ${run}${left}`,
    ...named(skipped, skippedCount),
  ];
}

/** What taking back did. */
export function renderUndone(undone: readonly Undone[], width: number): string {
  return layLines(
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

/** What recomputing says. */
export function renderVerified(verified: readonly Verified[], width: number): string {
  return layLines(
    verified.flatMap((one) => {
      const { target, run, checked, wrong, wrongCount, changedSince, changedSinceCount, notChecked } = one;
      if (notChecked !== null) return [`${target}, run ${run}: not checked, ${notChecked} since`];
      const says = wrongCount === 0 ? 'as ledger and remap say' : `${groupDigits(wrongCount)} WRONG`;
      const since =
        changedSinceCount === 0 ? '' : `; ${groupDigits(changedSinceCount)} changed by others since`;
      return [
        `${target}, run ${run}: ${countOf(checked, 'cell')} checked, ${says}${since}`,
        ...named(wrong, wrongCount),
        ...named(changedSince, changedSinceCount),
      ];
    }),
    width,
  );
}

/** Runs as a list to choose from. */
export function renderRuns(runs: readonly LedgerRun[], width: number): string {
  const lines = runs.map(({ run, target, place, mode, state, changed, startedAt }) => {
    const how = mode === 'in_place' ? 'in place' : 'new';
    return `  ${run}  ${formatTime(startedAt)}  ${STATES[state]}  ${target} (${place}, ${how}): ${countOf(changed, 'cell')}`;
  });
  return layLines(lines, width);
}

const STATES: Readonly<Record<LedgerRun['state'], string>> = {
  working: 'unfinished',
  done: 'done',
  undoing: 'half taken back',
  undone: 'taken back',
};

function named(rows: readonly string[], count: number): string[] {
  const more = count - rows.length;
  return [...rows.map((row) => `  ${row}`), ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : [])];
}
