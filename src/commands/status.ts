import { statSync } from 'node:fs';
import { isUnfinished, STREAM_STATES } from '../domain.js';
import { describeUse } from '../report/render-text.js';
import { count, nullableId } from '../report/report-schema.js';
import { writeOutput, writeText } from '../runtime/write-output.js';
import { countOutcomes, type OutcomeCount } from '../store/finding-rows.js';
import { nameOfList } from '../store/planned-lists.js';
import {
  findIncomplete,
  hasNoList,
  isStale,
  OPEN_LISTS,
  type Readiness,
  readReadiness,
  UNFINISHED,
} from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import type { RemapRun } from '../store/remap-tables.js';
import { iterateStreams, type StreamGroup } from '../store/scoped-streams.js';
import type { ListRow } from '../store/streams.js';
import { addFlags, escapeUnseen } from '../text/escape.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../text/numbers.js';
import { rowsOf, streamJson } from '../text/rows.js';
import { wrapLines } from '../text/text-layout.js';
import * as z from '../zod.js';
import type { status } from './catalogue/run-commands.js';
import type { GivenTo, Io } from './command.js';
import { describeOwner, isUsedHere, readDatabase } from './database.js';
import { describeGeneration, oldestReading, sumOf } from './described-lists.js';

const generation = z.strictObject({
  lists: z.record(z.enum(STREAM_STATES), count),
  readByCompany: count.describe('V3 lists that were read company by company.'),
  records: count,
  rejected: count,
  oldestReadAt: z.string().nullable(),
});

/** The JSON of `status`. */
export const schema = z.strictObject({
  schemaVersion: z.literal(1),
  exitCode: z.exitCodeSchema,
  database: z.strictObject({
    file: z.string(),
    bytes: count,
    owner: z.string().nullable().describe('The process that uses it.'),
  }),
  v3: generation,
  v4: generation,
  unfinished: z.array(
    z.strictObject({
      generation: z.enum(['v3', 'v4']),
      region: z.string().nullable(),
      model: z.string(),
      companyId: nullableId,
      state: z.enum(STREAM_STATES),
      pages: count,
      records: count,
      totalCount: count.nullable(),
      endReason: z.string().nullable(),
      endNote: z.string().nullable(),
    }),
  ),
  remap: z
    .strictObject({ build: count, builtAt: z.string(), sha256: z.string(), isCurrent: z.boolean() })
    .nullable(),
  next: z.string().describe('The command to run next; where `owner` is set, once that process has ended.'),
});

/**
 * `status`: shows what the database holds, what is unfinished, and the next command. Reads no records. Prints once the database
 * is closed: a pager may block stdout for hours, and while a reader is open, SQLite cannot empty the write-ahead log.
 */
export async function run(
  { options: { json }, config: loadConfig }: GivenTo<typeof status>,
  io: Io,
): Promise<number> {
  const config = await loadConfig();
  const { text, chunks } = await readDatabase(config, async (db) => {
    const readiness = readReadiness(db, config, EVERYTHING);
    const next = isUsedHere(config.database) ? 'svc-migrate status' : findNext(readiness);
    const facts: StatusFacts = {
      database: config.database,
      owner: describeOwner(config.database),
      readiness,
      outcomes: countOutcomes(db, null),
      next: addFlags(next, io.flags ?? ''),
    };
    const unfinished = () => iterateStreams(db, EVERYTHING, { states: UNFINISHED });
    const inJson = json === undefined ? [] : [...streamJson(buildStatusJson(facts, unfinished))];
    return { text: renderStatus(facts, io), chunks: inJson };
  });
  if (json !== undefined) await writeOutput({ target: json, chunks: () => chunks }, io);
  if (json !== '-') await writeText(io.stdout, [text]);
  return 0;
}

function findNext(facts: Readiness): string {
  if (absentOf(facts.groups).length > 0) return 'svc-migrate doctor';
  return findIncomplete(facts)[0]?.next ?? 'svc-migrate check';
}

/** What `status` shows. */
interface StatusFacts {
  readonly database: string;
  /** The process that uses the database; null if none does. */
  readonly owner: string | null;
  readonly readiness: Readiness;
  /** The rows of the remap by outcome. */
  readonly outcomes: readonly OutcomeCount[];
  readonly next: string;
}

/** The state of the database for people. */
function renderStatus({ database, owner, readiness, outcomes, next }: StatusFacts, io: Io): string {
  const now = io.clock.now();
  const lines = [
    `Database: ${database} (${formatBytes(statSync(database).size)})`,
    ...(owner === null ? [] : [describeUse(owner)]),
    describeGeneration(readiness, 'v3', now),
    describeGeneration(readiness, 'v4', now),
    ...describeOpen(readiness),
    ...describeRemap(readiness, outcomes),
    ...(owner === null ? [describeExports(readiness)] : []),
  ];
  // `Next` is not wrapped, so that it can be copied.
  return `${wrapLines(lines, io.width)}${escapeUnseen(`Next: ${next}`)}\n`;
}

/** Of lists that are not started, so many are named: the others are counted. */
const NAMED_LISTS = 3;

/** The first unfinished lists, V4's company list last. */
function describeOpen({ groups, unfinished }: Readiness): string[] {
  const open = sumOf(groups.filter(isUnfinished), 'lists');
  if (open === 0) return [];
  const named = [...unfinished.v3, ...unfinished.v4].map((stream) => {
    const { generation, state, pages, totalCountLast: total, uniqueRecords, endReason, endNote } = stream;
    const name = `  ${generation.toUpperCase()} ${nameOfList(stream)}`;
    const isBegun = state !== 'running' || pages > 0;
    const own = total === null ? '' : `${groupDigits(uniqueRecords)} of `;
    const records = `${own}${countOf(total ?? uniqueRecords, 'record')}`;
    const why = endReason === null ? '' : `: ${endNote ?? endReason}`;
    const line = `${name}: ${isBegun ? `${state} after ${countOf(pages, 'page')}, ${records}${why}` : 'not started'}`;
    return { isBegun, line };
  });
  const begun = named.filter(({ isBegun }) => isBegun).slice(0, OPEN_LISTS);
  const shown = [...begun, ...named.filter(({ isBegun }) => !isBegun).slice(0, NAMED_LISTS)];
  const more = open - shown.length;
  return [
    'Unfinished:',
    ...shown.map(({ line }) => line),
    ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : []),
  ];
}

function describeRemap(facts: Readiness, outcomes: readonly OutcomeCount[]): string[] {
  const last = facts.lastRun;
  if (last === undefined) return ['Remap: none yet'];
  const state = isStale(last, facts.exportSeq)
    ? 'older than the exported data'
    : facts.changedInputs.length > 0
      ? 'older than the files that the configuration names'
      : 'current';
  return [`Remap: build ${last.id} of ${formatTime(last.built_at)}, ${state}`, ...describeOutcomes(outcomes)];
}

const V3_STATUSES = ['matched', 'unmatched', 'deleted', 'ambiguous'] as const;

/** The V3 ids by status, and the V4 ids that no V3 id became. */
export function describeOutcomes(outcomes: readonly OutcomeCount[]): string[] {
  const sum = (numberOf: (one: OutcomeCount) => bigint) =>
    outcomes.reduce((all, one) => all + Number(numberOf(one)), 0);
  const v3 = sum((one) => one.v3);
  const alone = sum(({ n, v3: ofV3 }) => n - ofV3);
  const byStatus = V3_STATUSES.map((status) => {
    const own = sum((one) => (one.status === status ? one.v3 : 0n));
    return `${groupDigits(own)} ${status}`;
  });
  return [
    `  ${countOf(v3, 'V3 id')}: ${byStatus.join(', ')}`,
    ...(alone === 0 ? [] : [`  ${countOf(alone, 'V4 id')} without a V3 id`]),
  ];
}

function describeExports({ groups }: Readiness): string {
  const absent = absentOf(groups);
  if (absent.length > 0) {
    const names = absent.map((generation) => generation.toUpperCase()).join(' and ');
    return `${names} answered 404 to every list: the names or the address are wrong.`;
  }
  const workOf = (generation: 'v3' | 'v4', first: string, again: string) => {
    const own = groups.filter((group) => group.generation === generation);
    if (own.length === 0) return first;
    return own.some(isUnfinished) ? 'continues where it stopped' : again;
  };
  const v3 = workOf('v3', 'reads V3', 'reads what changed in V3');
  const v4 = workOf('v4', 'reads V4', 'reads V4 again');
  return `\`export v3\` ${v3}; \`export v4\` ${v4}.`;
}

/** The generations that answered 404 to every list. */
function absentOf(groups: readonly StreamGroup[]) {
  return (['v3', 'v4'] as const).filter((generation) => hasNoList(groups, generation));
}

/** The state of the database for programs. `unfinished`: all lists that were not read to their end. */
function buildStatusJson(
  { database, owner, readiness, next }: StatusFacts,
  unfinished: () => Iterable<ListRow>,
): object {
  const { groups, lastRun } = readiness;
  return {
    schemaVersion: 1,
    exitCode: 0,
    database: { file: database, bytes: statSync(database).size, owner },
    v3: describeLists(groups.filter(({ generation }) => generation === 'v3')),
    v4: describeLists(groups.filter(({ generation }) => generation === 'v4')),
    unfinished: rowsOf(unfinished, describeList),
    remap: lastRun === undefined ? null : describeBuild(lastRun, readiness),
    next,
  };
}

function describeBuild(run: RemapRun, { exportSeq, changedInputs }: Readiness) {
  const isCurrent = !isStale(run, exportSeq) && changedInputs.length === 0;
  return { build: Number(run.id), builtAt: run.built_at, sha256: run.sha256, isCurrent };
}

function describeLists(groups: readonly StreamGroup[]) {
  return {
    lists: Object.fromEntries(
      STREAM_STATES.map((state) => [state, sumOf(groups, 'lists', (group) => group.state === state)]),
    ),
    readByCompany: sumOf(groups, 'byCompany'),
    records: sumOf(groups, 'uniqueRecords'),
    rejected: sumOf(groups, 'rejected'),
    oldestReadAt: oldestReading(groups) ?? null,
  };
}

function describeList(stream: ListRow) {
  const { generation, region, model, companyId, state, endReason, endNote, pages } = stream;
  return {
    generation,
    region: region === '' ? null : region,
    model,
    companyId,
    state,
    pages,
    records: stream.uniqueRecords,
    totalCount: stream.totalCountLast,
    endReason,
    endNote,
  };
}
