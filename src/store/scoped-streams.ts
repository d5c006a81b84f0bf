import { type Generation, STREAM_STATES, type StreamState } from '../domain.js';
import { damaged, isIntact } from './checksum.js';
import { EVERYTHING, type Scope, scopeParams, scopeSql } from './remap-rows.js';
import type { Db } from './sqlite.js';
import {
  damagedList,
  IS_COMPANY_LIST,
  type ListRow,
  parseList,
  STREAM_SELECT,
  type StoredStream,
} from './streams.js';

/**
 * Lists of the same generation, region, model, state and end, with their sums. There can be hundreds of thousands of lists,
 * so code that only counts or sums reads groups.
 */
export interface StreamGroup {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  /** V4's company list, the only list of its group; all others are lists of records. */
  readonly isCompanyList: boolean;
  readonly state: StreamState;
  readonly endReason: string | null;
  /** Whether a page of every one of them was read; otherwise no page of any was. */
  readonly isBegun: boolean;
  readonly lists: number;
  readonly uniqueRecords: number;
  readonly rejected: number;
  /** Sum of the lists' records: the service's count, or the number read if that is higher. */
  readonly expected: number;
  /** Lists that the service gave no count of. */
  readonly uncounted: number;
  /** V3 lists that were read company by company. */
  readonly byCompany: number;
  /** Lists of which an export continued or updated the reading of an earlier one. */
  readonly toppedUp: number;
  /** Start of the oldest and of the newest last reading. */
  readonly oldestReadAt: string;
  readonly newestReadAt: string;
}

/** A row as returned by SQLite. */
type StoredGroup = {
  readonly [Name in keyof StreamGroup]: StreamGroup[Name] extends string | null ? StreamGroup[Name] : bigint;
} & { readonly inScope: bigint; readonly intact: bigint; readonly undated: bigint };

/** SQL that is 1 if a text is a time as exports save it, which sorts as text. SQLite accepts other forms of times too. */
const isTime = (text: string) =>
  `(unixepoch(${text}) IS NOT NULL AND ${text} GLOB '[0-9][0-9][0-9][0-9]-*T*Z')`;

/**
 * The lists of records in a scope, and V4's company list unless it is `complete`.
 *
 * @throws SvcError `corrupt_database` if any list, also outside the scope, is not what was saved
 */
export function readStreamGroups(db: Db, scope: Scope): StreamGroup[] {
  const rows = db.prepare<[object], StoredGroup>(`
    SELECT generation, region, model, ${IS_COMPANY_LIST} AS isCompanyList, state, end_reason AS endReason,
      pages > 0 AS isBegun, ${inScope(scope)} AS inScope, count(*) AS lists,
      total(unique_records) AS uniqueRecords, total(rejected) AS rejected,
      total(max(unique_records, ifnull(total_count_last, 0))) AS expected, sum(total_count_last IS NULL) AS uncounted,
      sum(read_by = 'companies') AS byCompany,
      sum(CASE WHEN json_valid(position) THEN position ->> 'toppedUp' IS 1 ELSE 0 END) AS toppedUp,
      min(ifnull(read_at, started_at)) AS oldestReadAt, max(ifnull(read_at, started_at)) AS newestReadAt,
      sum(${isTime('ifnull(read_at, started_at)')} IS NOT 1) AS undated, min(${isIntact('stream')}) AS intact
    FROM stream NOT INDEXED
    GROUP BY isCompanyList, generation, region, model, state, endReason, isBegun, inScope`);
  const groups: StreamGroup[] = [];
  let isEmpty = true;
  for (const { inScope: isIn, intact, undated, ...group } of rows.iterate(scopeParams(db, scope))) {
    isEmpty = false;
    if (intact !== 1n || undated > 0n) throw damagedList(group);
    if (isIn === 1n) groups.push(toGroup(group));
  }
  if (isEmpty && db.prepare('SELECT 1 FROM record LIMIT 1').get() !== undefined)
    throw damaged('The table stream');
  assertKeys(db);
  return groups;
}

/** Other queries find lists by the index of their keys: it must hold exactly the lists of the table. */
function assertKeys(db: Db): void {
  const [missing, surplus] = db
    .prepare<[], [bigint, bigint]>(`
      SELECT count(*) FILTER (WHERE NOT EXISTS (
          SELECT 1 FROM stream AS entry INDEXED BY stream_key
          WHERE entry.generation = list.generation AND entry.region = list.region AND entry.model = list.model
            AND ifnull(entry.company_id, 'all') = ifnull(list.company_id, 'all') AND entry.id = list.id)),
        (SELECT count(*) FROM stream INDEXED BY stream_key) - count(*)
      FROM stream AS list NOT INDEXED`)
    .raw()
    .get() ?? [0n, 0n];
  if (missing !== 0n || surplus !== 0n) throw damaged('The index of the lists');
}

function toGroup(stored: Omit<StoredGroup, 'inScope' | 'intact' | 'undated'>): StreamGroup {
  return {
    generation: stored.generation,
    region: stored.region,
    model: stored.model,
    isCompanyList: stored.isCompanyList === 1n,
    state: stored.state,
    endReason: stored.endReason,
    isBegun: stored.isBegun === 1n,
    lists: Number(stored.lists),
    uniqueRecords: Number(stored.uniqueRecords),
    rejected: Number(stored.rejected),
    expected: Number(stored.expected),
    uncounted: Number(stored.uncounted),
    byCompany: Number(stored.byCompany),
    toppedUp: Number(stored.toppedUp),
    oldestReadAt: stored.oldestReadAt,
    newestReadAt: stored.newestReadAt,
  };
}

/** The groups of lists of records in the whole database, without V4's company list. */
export function readRecordGroups(db: Db): StreamGroup[] {
  return readStreamGroups(db, EVERYTHING).filter(({ isCompanyList }) => !isCompanyList);
}

/** Which lists of a scope to read; everything that is left out matches any. */
export interface StreamFilter {
  readonly generation?: Generation;
  readonly states?: readonly StreamState[];
  readonly limit?: number;
}

/**
 * Reads the lists of records in a scope and V4's company list one by one, in the order of `listStreams` and the company list
 * last. Nothing may be written meanwhile.
 *
 * @throws SvcError `corrupt_database`
 */
export function* iterateStreams(db: Db, scope: Scope, filter: StreamFilter = {}): Generator<ListRow> {
  const { generation = null, states = STREAM_STATES, limit = -1 } = filter;
  const rows = db.prepare<[object], StoredStream>(`
    ${STREAM_SELECT} WHERE (${IS_COMPANY_LIST} OR ${inScope(scope)}) AND (@generation IS NULL OR generation = @generation)
      AND state IN (SELECT value FROM json_each(@states))
    ORDER BY ${IS_COMPANY_LIST}, generation, region, model, company_id LIMIT @limit`);
  const params = { generation, states: JSON.stringify(states), limit: BigInt(limit) };
  for (const row of rows.iterate({ ...scopeParams(db, scope), ...params })) yield parseList(row);
}

/** SQL condition over `stream`; its parameters are `scopeParams`. */
function inScope(scope: Scope): string {
  const ofCompanies = `(company_id IS NULL OR CASE generation
      WHEN 'v3' THEN company_id IN (SELECT value FROM json_each(@companies))
      ELSE company_id IN (SELECT value FROM json_each(@v4Companies)) END)`;
  return `iif(${IS_COMPANY_LIST}, state <> 'complete', ${scopeSql(scope, 'model', ofCompanies)})`;
}
