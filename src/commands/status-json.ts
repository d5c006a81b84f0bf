import { statSync } from 'node:fs';
import { isUnfinished, STREAM_STATES } from '../domain.js';
import { buildTrend } from '../report/sections.js';
import { isStale, type Readiness } from '../store/readiness.js';
import type { RemapRun } from '../store/remap-tables.js';
import type { StreamRow } from '../store/streams.js';

/** What `status --json` describes. */
export interface StatusFacts {
  readonly database: string;
  /** The process that uses the database; null if none does. */
  readonly owner: string | null;
  readonly readiness: Readiness;
  /** The latest builds of the remap, oldest first. */
  readonly runs: readonly RemapRun[];
  readonly next: string;
}

/** The state of the database for programs. */
export function buildStatusJson({ database, owner, readiness, runs, next }: StatusFacts): object {
  const { streams } = readiness;
  const last = runs.at(-1);
  return {
    schemaVersion: 1,
    exitCode: 0,
    database: { file: database, bytes: statSync(database).size, owner },
    v3: describeLists(streams.filter(({ generation }) => generation === 'v3')),
    v4: describeLists(streams.filter(({ generation }) => generation === 'v4')),
    unfinished: streams.filter(isUnfinished).map(describeList),
    remap: last === undefined ? null : { ...describeBuild(last), isCurrent: isCurrent(readiness, last) },
    trend: buildTrend(runs).map(({ builtAt, byStatus }) => ({ builtAt, byStatus })),
    next,
  };
}

function describeBuild({ id, built_at: builtAt, sha256 }: RemapRun) {
  return { build: Number(id), builtAt, sha256 };
}

function isCurrent({ exportSeq, changedInputs }: Readiness, run: RemapRun): boolean {
  return !isStale(run, exportSeq) && changedInputs.length === 0;
}

function describeLists(streams: readonly StreamRow[]) {
  const sum = (of: 'uniqueRecords' | 'rejected') => streams.reduce((all, stream) => all + stream[of], 0);
  const read = streams.map(({ readAt, startedAt }) => readAt ?? startedAt).sort();
  return {
    lists: Object.fromEntries(
      STREAM_STATES.map((state) => [state, streams.filter((stream) => stream.state === state).length]),
    ),
    records: sum('uniqueRecords'),
    rejected: sum('rejected'),
    oldestReadAt: read[0] ?? null,
  };
}

function describeList(stream: StreamRow) {
  const { generation, region, model, companyId, state, endReason, endNote, pages } = stream;
  return {
    generation,
    region: region === '' ? null : region,
    model,
    companyId: companyId === null ? null : String(companyId),
    state,
    pages,
    records: stream.uniqueRecords,
    totalCount: stream.totalCountLast,
    endReason,
    endNote,
  };
}
