import { SvcError } from '../errors.js';
import { findRemapRun, type RemapRun, readRemapRuns } from '../store/evidence.js';
import type { Db } from '../store/open.js';
import type { SinceSection } from './section-schemas.js';
import { parseCounts } from './trend.js';

/** An earlier build of the remap: the one before the last, or the one with this number. */
export type Since = 'previous' | bigint;

/**
 * What changed since an earlier build of the remap; null where there is no earlier one yet.
 *
 * @throws SvcError `usage` where there is no build with this number
 */
export function readSince(db: Db, since: Since): SinceSection | null {
  const [last, before] = readRemapRuns(db, 2).reverse();
  if (last === undefined) return null;
  const from = since === 'previous' ? before : findRemapRun(db, since);
  if (from !== undefined) return compareRuns(from, last);
  if (since === 'previous') return null;
  throw new SvcError('usage', `There is no build ${since} of the remap.`, {
    hint: `The last one is ${last.id}; svc-migrate report --json lists them in trend.`,
  });
}

/** Only counts are kept of earlier builds. */
function compareRuns(from: RemapRun, to: RemapRun): SinceSection {
  const [before, after] = [parseCounts(from), parseCounts(to)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return {
    from: headOf(from),
    to: headOf(to),
    sameRows: from.sha256 === to.sha256,
    changes: keys
      .map((key) => ({ key, before: before[key] ?? 0, after: after[key] ?? 0 }))
      .filter((change) => change.before !== change.after),
    note: 'Of earlier builds only counts are kept: which rows changed is not known.',
  };
}

function headOf(run: RemapRun): SinceSection['from'] {
  return { run: String(run.id), builtAt: run.built_at, sha256: run.sha256 };
}
