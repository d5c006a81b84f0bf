import { countOf, formatBytes, formatDuration } from '../text/numbers.js';
import type { Estimate, Lock } from './estimate.js';
import type { TargetPlan } from './plan.js';

/** What a target takes: rows and time, sizes, and what other programs wait for. */
export function describeWork({ rows, estimate, notes }: Pick<TargetPlan, 'rows' | 'estimate' | 'notes'>) {
  // A target that cannot be read has no rows to speak of.
  if (rows === 0 && notes.some(({ level }) => level === 'blocks')) return ['not read'];
  const { cellsToChange, seconds, locks } = estimate;
  if (cellsToChange === 0) return [`${countOf(rows, 'row')}, no cell to change`];
  return [
    `${countOf(rows, 'row')} to read, ${countOf(cellsToChange, 'cell')} to change, ${describeTime(seconds)}`,
    describeSizes(estimate),
    ...(locks.length === 0
      ? ['Locked: nothing; a file that changes meanwhile is refused']
      : locks.map(describeLock)),
  ];
}

const LOGS: Readonly<Record<NonNullable<Estimate['log']>, string>> = {
  wal: 'WAL',
  redo: 'redo log',
  journal: 'journal meanwhile',
};

/** `Disk: about 3.2 MiB more, 1.1 MiB of it the ledger; WAL: about 9 MiB`. */
function describeSizes({ diskBytes, ledgerBytes, logBytes, log }: Estimate): string {
  const more = log === null || logBytes === null ? '' : `; ${LOGS[log]}: about ${formatBytes(logBytes)}`;
  return `Disk: about ${formatBytes(diskBytes)} more, ${formatBytes(ledgerBytes)} of it the ledger${more}`;
}

const WAITING: Readonly<Record<Lock['blocks'], string>> = {
  writers: 'for other writers',
  everyone: 'for readers and writers',
};

/** `Locked: the 20,000 rows of a batch for other writers, about 1 s for each batch`. */
function describeLock({ what, blocks, during, rows, seconds }: Lock): string {
  const place = {
    rows: `the ${countOf(rows ?? 0, 'row')} of a batch`,
    table: 'the table',
    database: 'the database file',
  };
  const when = {
    batch: `${describeTime(seconds)} for each batch`,
    step: seconds === 0 ? 'a moment, to add the column' : `${describeTime(seconds)} at the start`,
    run: `${describeTime(seconds)}, from start to end`,
  };
  return `Locked: ${place[what]} ${WAITING[blocks]}, ${when[during]}`;
}

function describeTime(seconds: number): string {
  return seconds < 1 ? 'less than 1 s' : `about ${formatDuration(seconds * 1000)}`;
}
