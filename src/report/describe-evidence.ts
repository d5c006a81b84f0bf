import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { readStoredFingerprint } from '../store/evidence.js';
import type { Db } from '../store/open.js';
import { isStale, type Readiness } from '../store/readiness.js';
import type { StreamRow } from '../store/stream-row.js';
import { verifyExport } from '../store/verify-export.js';
import type { Folded } from './fold.js';
import type { Report } from './schema.js';

const HOUR_MS = 3_600_000;

/** When the lists were read: the start of the last reading that reached their end. */
export interface Age {
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Of the oldest, null where there is none or it is unreadable. */
  readonly ms: number | null;
}

export function readAge(streams: readonly StreamRow[], nowMs: number): Age {
  const times = streams.map((stream) => stream.readAt ?? stream.startedAt);
  const sorted = [...times].sort((a, b) => Date.parse(a) - Date.parse(b));
  const oldest = sorted[0] ?? null;
  const unreadable = times.some((time) => Number.isNaN(Date.parse(time)));
  const ms = oldest === null || unreadable ? null : nowMs - Date.parse(oldest);
  return { oldest, newest: sorted.at(-1) ?? null, ms };
}

/**
 * What the report rests on.
 *
 * @throws SvcError `corrupt_database` where exported records are not what was saved, `internal` where the counts of a current remap do not add up
 */
export function describeEvidence(
  db: Db,
  config: Config,
  { lastRun, exportSeq, changedInputs }: Readiness,
  folded: Folded,
  age: Age,
): Report['evidence'] {
  const stale = lastRun === undefined || isStale(lastRun, exportSeq);
  const conservation = weighConservation(folded);
  if (!stale && !conservation.holds) {
    verifyExport(db, () => {});
    const { v3Exported, v3Rows } = conservation;
    throw new SvcError(
      'internal',
      `The remap has ${v3Rows} rows for ${v3Exported} exported V3 records and children.`,
    );
  }
  const rows = Object.values(folded.totals.byStatus).reduce((sum, n) => sum + n, 0);
  const isOutdated = stale || changedInputs.length > 0;
  return {
    database: basename(config.database),
    oldestReadAt: age.oldest,
    newestReadAt: age.newest,
    ageHours: age.ms === null ? null : Math.max(0, Math.floor(age.ms / HOUR_MS)),
    fingerprint: readStoredFingerprint(db),
    remap:
      lastRun === undefined
        ? null
        : { sha256: lastRun.sha256, builtAt: lastRun.built_at, rows, stale: isOutdated },
    conservation,
  };
}

function weighConservation({ totals, v3Rows }: Folded): Report['evidence']['conservation'] {
  const v3Exported = totals.v3Records + totals.v3Children;
  const rows = [...v3Rows.values()].reduce((sum, n) => sum + n, 0);
  return { v3Exported, v3Rows: rows, holds: v3Exported === rows };
}
