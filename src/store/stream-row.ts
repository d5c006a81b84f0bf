import { z } from 'zod';
import type { Generation, StreamKey, StreamState } from '../domain.js';

const count = z.number().int().nonnegative();

/**
 * Where the reading of a stream stands. A *walk* is one traversal from the start; walks are numbered per
 * stream and mark the records they saw. A *pass* is what one wants read once, to its end: the reading of
 * everything, the second one to settle a disputed count, or a sweep. An expired cursor makes a pass take
 * another walk. Instants are ms since 1970.
 */
const positionSchema = z.object({
  phase: z.enum(['walk', 'recount', 'sweep', 'drop']).default('walk'),
  /** Of the next page; null at the start of a walk. */
  cursor: z.string().nullable().default(null),
  walk: count.default(1),
  /** Records last seen by an earlier walk belong to an older reading, dropped at the end of this one. */
  keepFrom: count.default(1),
  /** First walk of this pass. */
  passWalk: count.default(1),
  /** First request of the walk, by the local clock. */
  walkStartedMs: z.number().default(0),
  /** A time of the service not later than the first page of the pass, and of the whole reading; null for unknown. */
  passWatermarkMs: z.number().nullable().default(null),
  readingWatermarkMs: z.number().nullable().default(null),
  /** The service's clock at the end of the last pass that was read to its end; null for unknown. */
  readUntilMs: z.number().nullable().default(null),
  /** Sweeps: the filter. */
  since: z.string().nullable().default(null),
  /** Records first seen in this pass; of these, seen by the pass before; new or changed. */
  passUnique: count.default(0),
  passCommon: count.default(0),
  passChanged: count.default(0),
  /** The full pass before this one. */
  previous: z.object({ walk: count, unique: count }).nullable().default(null),
  /** Recounts or sweeps begun. */
  rounds: count.default(0),
  /** Whether an empty last page was seen behind a cursor, with no record new to this pass since. */
  emptyEnd: z.boolean().default(false),
  /** Pages in a row without a record that this walk had not seen. */
  idlePages: count.default(0),
  restarts: count.default(0),
  /** `passUnique` when the last expired cursor was dropped. */
  restartUnique: count.nullable().default(null),
  /** How the stream ends once nothing is left to read. */
  ending: z.enum(['complete', 'short', 'absent']).default('complete'),
  /** Of the last page that was saved, by which the operator can look the list up. */
  requestId: z.string().nullable().default(null),
  /** Distinct records of excluded companies in this reading. */
  excluded: count.default(0),
  /** Whether records of an older reading may be stored. */
  stale: z.boolean().default(false),
});

export type Position = Readonly<z.infer<typeof positionSchema>>;

/** Where every stream begins. */
export const FIRST_POSITION: Position = positionSchema.parse({});
const FIRST_POSITION_TEXT = JSON.stringify(FIRST_POSITION);

/** One row of `stream`. Always: records = uniqueRecords + duplicates + rejected. */
export interface StreamRow {
  readonly id: bigint;
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
  readonly route: string;
  readonly state: StreamState;
  /** `end_of_list`, `count_disputed`, `not_found`, or the code of the error; null while unfinished. */
  readonly endReason: string | null;
  /** The sentence that goes with it, for people. */
  readonly endNote: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Start of the last walk or sweep that was read to its end. */
  readonly readAt: string | null;
  readonly position: Position;
}

/** A row as SQLite gives it, integers as bigint. */
export interface StoredStream {
  id: bigint;
  generation: Generation;
  region: string;
  model: string;
  company_id: bigint | null;
  route: string;
  state: StreamState;
  end_reason: string | null;
  end_note: string | null;
  pages: bigint;
  records: bigint;
  unique_records: bigint;
  duplicates: bigint;
  rejected: bigint;
  total_count_first: bigint | null;
  total_count_last: bigint | null;
  started_at: string;
  finished_at: string | null;
  read_at: string | null;
  position: string;
  /** Whether the row's checksum is right. */
  intact: bigint;
}

/** A stored row as the program's. */
export function parseStream(stored: StoredStream): StreamRow {
  return {
    id: stored.id,
    generation: stored.generation,
    region: stored.region,
    model: stored.model,
    companyId: stored.company_id,
    route: stored.route,
    state: stored.state,
    endReason: stored.end_reason,
    endNote: stored.end_note,
    pages: Number(stored.pages),
    records: Number(stored.records),
    uniqueRecords: Number(stored.unique_records),
    duplicates: Number(stored.duplicates),
    rejected: Number(stored.rejected),
    totalCountFirst: toNumber(stored.total_count_first),
    totalCountLast: toNumber(stored.total_count_last),
    startedAt: stored.started_at,
    finishedAt: stored.finished_at,
    readAt: stored.read_at,
    position: parsePosition(stored.position),
  };
}

/** Of a hundred thousand new streams each has the same text. */
function parsePosition(text: string): Position {
  return text === FIRST_POSITION_TEXT ? FIRST_POSITION : positionSchema.parse(JSON.parse(text));
}

/** The stream's key, as messages and requests name it. */
export function streamKeyOf(row: StreamRow): StreamKey {
  return { generation: row.generation, region: row.region, model: row.model, companyId: row.companyId };
}

function toNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
