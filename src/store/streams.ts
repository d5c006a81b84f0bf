import type { Generation, StreamKey, StreamState } from '../domain.js';
import type { Db } from './sqlite.js';

/** The model of V4's list of companies. */
const COMPANY_LIST = 'core/companies';

/** A row of the table `stream`; its comments in schema.sql describe the columns. */
export interface StreamRow extends StreamKey {
  readonly id: bigint;
  readonly route: string;
  readonly state: StreamState;
  readonly endReason: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly error: string | null;
  readonly readAt: string | null;
  readonly phase: 'walk' | 'sweep';
  readonly walk: number;
  readonly readingWalk: number;
  readonly walkStartedAt: string | null;
  readonly cursor: string | null;
  readonly since: string | null;
  readonly watermarkMs: number | null;
  readonly walkRecords: number;
  readonly restartRecords: number | null;
  readonly changes: number;
  readonly idlePages: number;
  readonly emptyEnd: 0 | 1;
  readonly rounds: number;
  readonly excluded: number;
}

/** A stream to be read, and the model name used in its requests. */
export interface PlannedStream {
  readonly key: StreamKey;
  readonly route: string;
}

/** The columns that reading changes, by their names in `StreamRow`. */
const CHANGING = {
  state: 'state',
  endReason: 'end_reason',
  pages: 'pages',
  records: 'records',
  uniqueRecords: 'unique_records',
  duplicates: 'duplicates',
  rejected: 'rejected',
  totalCountFirst: 'total_count_first',
  totalCountLast: 'total_count_last',
  startedAt: 'started_at',
  finishedAt: 'finished_at',
  error: 'error',
  readAt: 'read_at',
  phase: 'phase',
  walk: 'walk',
  readingWalk: 'reading_walk',
  walkStartedAt: 'walk_started_at',
  cursor: 'cursor',
  since: 'since',
  watermarkMs: 'watermark_ms',
  walkRecords: 'walk_records',
  restartRecords: 'restart_records',
  changes: 'changes',
  idlePages: 'idle_pages',
  emptyEnd: 'empty_end',
  rounds: 'rounds',
  excluded: 'excluded',
} as const satisfies Partial<Record<keyof StreamRow, string>>;

const SELECT = `
  select id, generation, region, model, company_id as companyId, route,
    ${Object.entries(CHANGING)
      .map(([name, column]) => `${column} as ${name}`)
      .join(', ')}
  from stream`;

const UPDATE = `
  update stream set ${Object.entries(CHANGING)
    .map(([name, column]) => `${column} = @${name}`)
    .join(', ')}
  where id = @id`;

/** All lists, of one generation or both, in a fixed order; with V4's list of companies. */
export function listStreams(db: Db, generation: Generation | null = null): StreamRow[] {
  const sql = `${SELECT} where ? is null or generation = ? order by generation, region, model, company_id`;
  return Array.from(
    db.prepare<[string | null, string | null], StoredStream>(sql).iterate(generation, generation),
    parse,
  );
}

/** V4's list of companies; null if it was not requested. */
export function readCompanyList(db: Db): StreamRow | null {
  const sql = `${SELECT} where generation = 'v4' and model = '${COMPANY_LIST}'`;
  const stored = db.prepare<[], StoredStream>(sql).get();
  return stored === undefined ? null : parse(stored);
}

export function isCompanyList({ generation, model }: Pick<StreamKey, 'generation' | 'model'>): boolean {
  return generation === 'v4' && model === COMPANY_LIST;
}

export const COMPANY_LIST_PLAN: PlannedStream = {
  key: { generation: 'v4', region: '', model: COMPANY_LIST, companyId: null },
  route: COMPANY_LIST,
};

/** Adds missing streams, not begun, and updates the routes of the others. */
export function ensureStreams(db: Db, planned: readonly PlannedStream[]): void {
  const upsert = db.prepare(`
    insert into stream(generation, region, model, company_id, route) values (?, ?, ?, ?, ?)
    on conflict (generation, region, model, ifnull(company_id, 'all'))
      do update set route = excluded.route where route <> excluded.route`);
  for (const { key, route } of planned) {
    upsert.run(key.generation, key.region, key.model, key.companyId, route);
  }
}

export function prepareSaveStream(db: Db): (row: StreamRow) => void {
  const update = db.prepare<[StreamRow]>(UPDATE);
  return (row) => {
    update.run(row);
  };
}

export function streamKeyOf({ generation, region, model, companyId }: StreamKey): StreamKey {
  return { generation, region, model, companyId };
}

/** A list by a text, for maps. */
export function streamName({ generation, region, model, companyId }: StreamKey): string {
  return JSON.stringify([generation, region, model, companyId?.toString() ?? null]);
}

/** As read: integers are bigints. */
type StoredStream = {
  readonly [K in keyof StreamRow]: K extends 'id' | 'companyId'
    ? StreamRow[K]
    : StreamRow[K] extends number
      ? bigint
      : StreamRow[K] extends number | null
        ? bigint | null
        : StreamRow[K];
};

function parse(stored: StoredStream): StreamRow {
  return {
    ...stored,
    pages: Number(stored.pages),
    records: Number(stored.records),
    uniqueRecords: Number(stored.uniqueRecords),
    duplicates: Number(stored.duplicates),
    rejected: Number(stored.rejected),
    totalCountFirst: numberOrNull(stored.totalCountFirst),
    totalCountLast: numberOrNull(stored.totalCountLast),
    walk: Number(stored.walk),
    readingWalk: Number(stored.readingWalk),
    watermarkMs: numberOrNull(stored.watermarkMs),
    walkRecords: Number(stored.walkRecords),
    restartRecords: numberOrNull(stored.restartRecords),
    changes: Number(stored.changes),
    idlePages: Number(stored.idlePages),
    emptyEnd: stored.emptyEnd === 0n ? 0 : 1,
    rounds: Number(stored.rounds),
    excluded: Number(stored.excluded),
  };
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
