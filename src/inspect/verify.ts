import { decodeBody } from '../api/body.js';
import type { Api } from '../api/client.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage, type RecordMembers } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import type { ModelPair, OnProgress } from '../domain.js';
import { isRequestError, orError, SvcError } from '../errors.js';
import { toFinding } from '../store/findings.js';
import { readRemapRun } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { countPairs, readPairSample, type StoryRow } from '../store/story-rows.js';
import { must } from '../text/at.js';
import { buildFieldLines, type FieldLine, findMembers } from './side-by-side.js';

export interface VerifyOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: Api;
  readonly sample: number;
  readonly onProgress: OnProgress;
}

export interface PairSide {
  readonly company_id: string;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
}

export const DISAGREEMENTS = {
  v3_not_found: 'V3 does not show it',
  v4_not_found: 'V4 does not show it',
  company_differs: 'another company',
  platform_id_differs: 'the two have different platform_ids',
  platform_id_changed: 'it has another platform_id than when it was exported',
  unique_id_differs: 'the two have different platform_unique_ids, by which they were paired',
} as const;
export type DisagreementCode = keyof typeof DISAGREEMENTS;

export interface Disagreement extends Omit<ReturnType<typeof toFinding>, 'evidence'> {
  readonly code: DisagreementCode;
  /** Null if the service does not show it, or V3 cannot be filtered. */
  readonly v3: PairSide | null;
  readonly v4: PairSide | null;
}

export interface FieldDifference {
  readonly model: string;
  readonly path: string;
  readonly field: string;
  readonly pairs: number;
  readonly example: {
    readonly v3_svc_id: string;
    readonly v4_svc_id: string;
    readonly v3: string | null;
    readonly v4: string | null;
  };
}

export interface Verification {
  readonly schemaVersion: 1;
  readonly exitCode: 0 | 1 | 4 | 5;
  readonly remap: { readonly builtAt: string; readonly sha256: string };
  readonly coverage: {
    /** Rows with both ids, and the matched rows among them. */
    readonly pairs: number;
    readonly matched: number;
    readonly drawn: number;
    readonly readInV3: number;
  };
  readonly agree: number;
  readonly disagree: number;
  /** Deleted in V4 when exported, and no longer shown. */
  readonly gone: number;
  /** Not read, because of an error of their own, or because everything before failed. */
  readonly failed: number;
  readonly firstError: string | null;
  readonly disagreements: readonly Disagreement[];
  readonly differences: readonly FieldDifference[];
}

export interface PairReading {
  readonly row: StoryRow;
  /** `unknown`: V3 cannot be asked for it. */
  readonly v3: PairSide | 'unknown' | 'not_found';
  readonly v4: PairSide | 'not_found';
  readonly differing: readonly FieldLine[];
}

interface Failure {
  readonly row: StoryRow;
  readonly error: SvcError;
}

const SHOWS_NOTHING = 'V4 showed none of the records that it was asked for by id.';

/** Pairs per batch; the client itself limits concurrent requests. */
const BATCH = 200;
const MAX_LISTED = 1000;

/**
 * Reads pairs of the remap again and compares their keys. Writes nothing.
 *
 * @throws SvcError `auth`, `redirect`; the signal's reason
 */
export async function verifyPairs(options: VerifyOptions): Promise<Verification> {
  const { db, sample, onProgress } = options;
  const { builtAt, sha256 } = must(readRemapRun(db), 'remap');
  const pairs = readPairSample(db, sample);
  const readings: (PairReading | Failure)[] = [];
  for (let from = 0; from < pairs.length; from += BATCH) {
    onProgress({ kind: 'step', name: 'pairs', done: from, total: pairs.length });
    const batch = await Promise.all(pairs.slice(from, from + BATCH).map((row) => readPair(options, row)));
    readings.push(...batch);
    if (batch.every((reading) => 'error' in reading)) break;
  }
  const read = readings.filter((reading) => 'v4' in reading);
  const [error] = readings.flatMap((reading) => ('error' in reading ? reading.error : []));
  const judged = judgeReadings(read);
  const failed = pairs.length - read.length + judged.unproven;
  const { disagreements, agree, gone } = judged;
  return {
    schemaVersion: 1,
    exitCode: disagreements.length > 0 ? 1 : failed > 0 ? 4 : pairs.length === 0 ? 5 : 0,
    remap: { builtAt, sha256 },
    coverage: {
      ...countPairs(db),
      drawn: pairs.length,
      readInV3: read.filter(({ v3 }) => typeof v3 === 'object').length,
    },
    agree: agree.length,
    disagree: disagreements.length,
    gone,
    failed,
    firstError: error?.message ?? (judged.unproven > 0 ? SHOWS_NOTHING : null),
    disagreements: disagreements.slice(0, MAX_LISTED),
    differences: countDifferences(agree),
  };
}

async function readPair({ api, config }: VerifyOptions, row: StoryRow): Promise<PairReading | Failure> {
  const { models, fieldPrefix } = config;
  const pair = must(
    models.find(({ v3 }) => v3 === row.model),
    `model ${row.model}`,
  );
  const answers = await orError(() =>
    Promise.all([readV3(api, config, pair, row), readV4(api, config, pair, row)]),
  );
  if (answers instanceof SvcError) {
    if (!isRequestError(answers)) throw answers;
    return { row, error: answers };
  }
  const [v3, v4] = answers;
  const fields =
    typeof v3 === 'string' || v4 === 'not_found' ? [] : buildFieldLines(v3.members, v4.members, fieldPrefix);
  return {
    row,
    v3: typeof v3 === 'string' ? v3 : v3.side,
    v4: v4 === 'not_found' ? v4 : v4.side,
    differing: fields.filter(({ verdict }) => verdict === 'differs' || verdict === 'one_side'),
  };
}

interface Shown {
  readonly side: PairSide;
  readonly members: RecordMembers;
}

async function readV4(
  api: Api,
  config: Config,
  pair: ModelPair,
  row: StoryRow,
): Promise<Shown | 'not_found'> {
  const svcId = must(row.path === '' ? row.v4_svc_id : row.parent_v4_svc_id);
  const fetched = await api.fetchRecord({ pair, companyId: must(row.v4_company_id), svcId });
  return fetched === null ? 'not_found' : sideOf(fetched, config, row, must(row.v4_svc_id));
}

/** V3 has no route for one record: it is looked for by its key. */
async function readV3(
  api: Api,
  config: Config,
  pair: ModelPair,
  row: StoryRow,
): Promise<Shown | 'unknown' | 'not_found'> {
  const key = row.path === '' ? row.platform_id : row.parent_platform_id;
  const svcId = must(row.path === '' ? row.v3_svc_id : row.parent_v3_svc_id);
  const [region, companyId] = [must(row.region), must(row.v3_company_id)];
  if (key === null) return 'unknown';
  const page = await orError(() =>
    api.fetchRawList({
      stream: { generation: 'v3', region, model: pair.v3, companyId },
      pair,
      parameters: [
        ['platform_id[eq]', key],
        [`${config.fieldPrefix}company_id[eq]`, String(companyId)],
        ['include_deleted_records', 'true'],
        ...(pair.expand.length > 0 ? [['expand', pair.expand.join(',')] as const] : []),
      ],
    }),
  );
  if (page instanceof SvcError) {
    if (page.code === 'http_status' || page.code === 'bad_response') return 'unknown';
    throw page;
  }
  // A service that does not know the filter returns other records, too.
  if (page.records.some(({ platformId }) => platformId !== key)) return 'unknown';
  const text = decodeBody(page.body, page.encoding);
  const members = findRecordInPage(text, pageFormat(config, 'v3', pair), svcId);
  return members === null ? 'not_found' : sideOf(members, config, row, must(row.v3_svc_id));
}

function sideOf(
  record: RecordMembers,
  { fieldPrefix }: Config,
  { path }: StoryRow,
  svcId: bigint,
): Shown | 'not_found' {
  const members = findMembers(path === '' ? [record] : record[path], fieldPrefix, svcId);
  if (members === null) return 'not_found';
  const keyOf = (value: unknown) =>
    value === null || value === undefined || value === '' ? null : String(value);
  const side = {
    company_id: String(record[`${fieldPrefix}company_id`]),
    platform_id: keyOf(members['platform_id']),
    platform_unique_id: keyOf(members['platform_unique_id']),
  };
  return { side, members };
}

/**
 * Judges what was read. That a service shows no record proves something only if it shows others, because it may not have
 * the route or the filter.
 */
export function judgeReadings(readings: readonly PairReading[]) {
  const regions = new Set(readings.flatMap(({ row, v3 }) => (typeof v3 === 'object' ? [row.region] : [])));
  const agree: PairReading[] = [];
  const disagreements: Disagreement[] = [];
  let gone = 0;
  if (readings.every(({ v4 }) => v4 === 'not_found')) {
    return { agree, disagreements, gone, unproven: readings.length };
  }
  for (const reading of readings) {
    const verdict = judgeReading(reading, regions.has(reading.row.region));
    if (verdict === 'agrees') agree.push(reading);
    else if (verdict === 'gone') gone += 1;
    else disagreements.push(buildDisagreement(reading, verdict));
  }
  return { agree, disagreements, gone, unproven: 0 };
}

function judgeReading(
  { row, v3, v4 }: PairReading,
  isV3Shown: boolean,
): DisagreementCode | 'agrees' | 'gone' {
  if (v4 === 'not_found') return wasDeletedInV4(row) ? 'gone' : 'v4_not_found';
  if (v3 === 'not_found' && isV3Shown) return 'v3_not_found';
  return findDisagreement(row, typeof v3 === 'string' ? null : v3, v4) ?? 'agrees';
}

function wasDeletedInV4({ status, reason }: StoryRow): boolean {
  return status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(reason ?? '');
}

/** What disagrees about a pair of which V4 shows its record; null if nothing does. */
function findDisagreement(row: StoryRow, v3: PairSide | null, v4: PairSide): DisagreementCode | null {
  const isV3Company = v3 === null || v3.company_id === String(row.v3_company_id);
  if (!isV3Company || v4.company_id !== String(row.v4_company_id)) return 'company_differs';
  if (row.matched_by === 'decision') {
    return v3 !== null && v3.platform_id !== row.platform_id ? 'platform_id_changed' : null;
  }
  if (v3 !== null && v3.platform_id !== v4.platform_id) return 'platform_id_differs';
  if (v4.platform_id !== row.platform_id) return v3 === null ? 'platform_id_differs' : 'platform_id_changed';
  // Several records have this key, so it alone does not identify the pair.
  const byUniqueId = row.matched_by === 'platform_unique_id' && v3 !== null;
  return byUniqueId && v3.platform_unique_id !== v4.platform_unique_id ? 'unique_id_differs' : null;
}

function buildDisagreement({ row, v3, v4 }: PairReading, code: DisagreementCode): Disagreement {
  const { evidence: _, ...finding } = toFinding(row);
  return {
    ...finding,
    code,
    v3: typeof v3 === 'string' ? null : v3,
    v4: typeof v4 === 'string' ? null : v4,
  };
}

/** The fields that differ, by model and path, most frequent first, each with its first pair. */
function countDifferences(readings: readonly PairReading[]): FieldDifference[] {
  const differences = new Map<string, FieldDifference>();
  for (const { row, differing } of readings) {
    for (const { name: field, v3, v4 } of differing) {
      const { model, path, v3_svc_id, v4_svc_id } = row;
      const key = JSON.stringify([model, path, field]);
      const example = { v3_svc_id: String(v3_svc_id), v4_svc_id: String(v4_svc_id), v3, v4 };
      const counted = differences.get(key) ?? { model, path, field, pairs: 0, example };
      differences.set(key, { ...counted, pairs: counted.pairs + 1 });
    }
  }
  return [...differences.values()].sort((a, b) => b.pairs - a.pairs);
}
