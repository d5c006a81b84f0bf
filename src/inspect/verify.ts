import { decodeBody } from '../api/body.js';
import type { Api } from '../api/client.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage, type RecordMembers } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import type { ModelPair, OnProgress } from '../domain.js';
import { isRequestError, SvcError } from '../errors.js';
import { toFinding } from '../store/findings.js';
import { type RemapRun, readRemapRun } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { countPairs, readPairSample, type StoryRow } from '../store/story-rows.js';
import { must } from '../text/at.js';
import { buildFieldLines } from './side-by-side.js';

export interface VerifyOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: Api;
  readonly sample: number | null;
  readonly onProgress: OnProgress;
}

export interface PairSide {
  readonly company_id: string;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
  readonly deleted: boolean;
}

/** How a pair can disagree with the services. */
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
    readonly kind: 'all' | 'sample';
    /** Rows with both ids, the matched rows among them, and their groups of model, companies and outcome. */
    readonly pairs: number;
    readonly matched: number;
    readonly strata: number;
    readonly drawn: number;
    /** Pairs whose V3 record was read, too. */
    readonly readInV3: number;
  };
  readonly agree: number;
  readonly disagree: number;
  /** Deleted in V4 when exported, and no longer shown. */
  readonly gone: number;
  /** Deleted in V4 since the export. */
  readonly deletedSince: number;
  readonly failed: number;
  /** Not asked for, because everything before failed. */
  readonly unread: number;
  readonly firstError: string | null;
  readonly disagreements: readonly Disagreement[];
  readonly differences: readonly FieldDifference[];
}

interface LiveSide {
  readonly side: PairSide;
  readonly members: RecordMembers;
}

/** `unknown`: V3 cannot be asked for it. */
type V3Answer = LiveSide | 'unknown' | 'not_found';

interface PairReading {
  readonly row: StoryRow;
  readonly v3: V3Answer;
  readonly v4: LiveSide | null;
  readonly error: SvcError | null;
}

/** Pairs per batch; the client itself limits concurrent requests. */
const BATCH = 200;
const MAX_LISTED = 1000;

/**
 * Reads pairs of the remap again and compares their keys. Writes nothing. That a service shows no record proves something
 * only if it shows others, because it may not have the route or filter.
 *
 * @throws SvcError `auth`, `redirect`; the signal's reason
 */
export async function verifyPairs(options: VerifyOptions): Promise<Verification> {
  const { db, onProgress } = options;
  const run = must(readRemapRun(db), 'remap');
  const pairs = readPairSample(db, options.sample);
  const readings: PairReading[] = [];
  const tally = createTally(db, run, options, pairs.length);
  for (let from = 0; from < pairs.length; from += BATCH) {
    onProgress({ kind: 'step', name: 'pairs', done: from, total: pairs.length });
    const batch = await Promise.all(pairs.slice(from, from + BATCH).map((row) => readPair(options, row)));
    readings.push(...batch.filter((reading) => !tally.take(reading)));
    if (batch.every(({ error }) => error !== null)) break;
  }
  return tally.finish(readings);
}

async function readPair({ api, config }: VerifyOptions, row: StoryRow): Promise<PairReading> {
  const pair = must(
    config.models.find(({ v3 }) => v3 === row.model),
    `model ${row.model}`,
  );
  try {
    const [v3, v4] = await Promise.all([readV3(api, config, pair, row), readV4(api, config, pair, row)]);
    return { row, v3, v4, error: null };
  } catch (error) {
    if (!isRequestError(error)) throw error;
    return { row, v3: 'unknown', v4: null, error };
  }
}

async function readV4(api: Api, config: Config, pair: ModelPair, row: StoryRow): Promise<LiveSide | null> {
  const svcId = row.path === '' ? row.v4_svc_id : row.parent_v4_svc_id;
  if (svcId === null || row.v4_company_id === null) return null;
  const fetched = await api.fetchRecord({ pair, companyId: row.v4_company_id, svcId });
  return fetched === null ? null : sideOf(fetched.members, config, row, must(row.v4_svc_id));
}

/** V3 has no route for one record: it is looked for by its key. */
async function readV3(api: Api, config: Config, pair: ModelPair, row: StoryRow): Promise<V3Answer> {
  const key = row.path === '' ? row.platform_id : row.parent_platform_id;
  const svcId = row.path === '' ? row.v3_svc_id : row.parent_v3_svc_id;
  const { region, v3_company_id: companyId } = row;
  if (key === null || svcId === null || region === null || companyId === null) return 'unknown';
  try {
    const page = await api.fetchRawList({
      stream: { generation: 'v3', region, model: pair.v3, companyId },
      pair,
      parameters: [
        ['platform_id[eq]', key],
        [`${config.fieldPrefix}company_id[eq]`, String(companyId)],
        ['include_deleted_records', 'true'],
        ...(pair.expand.length > 0 ? [['expand', pair.expand.join(',')] as const] : []),
      ],
    });
    // A service that does not know the filter returns other records, too.
    if (page.records.some(({ platformId }) => platformId !== key)) return 'unknown';
    const text = decodeBody(page.body, page.encoding);
    const members = findRecordInPage(text, pageFormat(config, 'v3', pair), svcId);
    if (members === null) return 'not_found';
    return sideOf(members, config, row, must(row.v3_svc_id)) ?? 'not_found';
  } catch (error) {
    if (error instanceof SvcError && (error.code === 'http_status' || error.code === 'bad_response'))
      return 'unknown';
    throw error;
  }
}

/** The record, or the child in it, that one side of a pair names. */
function sideOf(record: RecordMembers, config: Config, row: StoryRow, svcId: bigint): LiveSide | null {
  const prefix = config.fieldPrefix;
  const items: unknown = row.path === '' ? [record] : record[row.path];
  const list: readonly unknown[] = Array.isArray(items) ? items : [];
  const members = list.filter(isMembers).find((item) => String(item[`${prefix}id`]) === String(svcId));
  if (members === undefined) return null;
  const keyOf = (value: unknown) =>
    value === null || value === undefined || value === '' ? null : String(value);
  const side = {
    company_id: String(record[`${prefix}company_id`]),
    platform_id: keyOf(members['platform_id']),
    platform_unique_id: keyOf(members['platform_unique_id']),
    deleted: keyOf(members[`${prefix}deleted_at`]) !== null,
  };
  return { side, members };
}

function isMembers(value: unknown): value is RecordMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What disagrees about a pair of which V4 shows its record; null if nothing does. */
export function findDisagreement(row: StoryRow, v3: PairSide | null, v4: PairSide): DisagreementCode | null {
  const companies = [v3?.company_id ?? String(row.v3_company_id), v4.company_id];
  if (companies[0] !== String(row.v3_company_id) || companies[1] !== String(row.v4_company_id)) {
    return 'company_differs';
  }
  if (row.matched_by === 'decision') {
    return v3 !== null && v3.platform_id !== row.platform_id ? 'platform_id_changed' : null;
  }
  if (v3 !== null && v3.platform_id !== v4.platform_id) return 'platform_id_differs';
  if (v4.platform_id !== row.platform_id) return v3 === null ? 'platform_id_differs' : 'platform_id_changed';
  // Several records have this key, so it alone does not identify the pair.
  const byUniqueId = row.matched_by === 'platform_unique_id' && v3 !== null;
  return byUniqueId && v3.platform_unique_id !== v4.platform_unique_id ? 'unique_id_differs' : null;
}

/** Counts readings. `take` returns false for those whose meaning depends on later ones. */
function createTally(db: Db, run: RemapRun, { config, sample }: VerifyOptions, drawn: number) {
  const counts = { agree: 0, gone: 0, deletedSince: 0, failed: 0, readInV3: 0 };
  const disagreements: Disagreement[] = [];
  const differences = new Map<string, FieldDifference>();
  let disagree = 0;
  let firstError: string | null = null;
  let taken = 0;
  /** Where a record was found: V4, and regions of V3. */
  const answering = new Set<string>();
  const fail = (error: SvcError): void => {
    counts.failed += 1;
    firstError ??= error.message;
  };
  const blame = ({ row, v3, v4 }: PairReading, code: DisagreementCode): void => {
    disagree += 1;
    if (disagreements.length >= MAX_LISTED) return;
    const { evidence: _, ...finding } = toFinding(row);
    disagreements.push({ ...finding, code, v3: liveOf(v3)?.side ?? null, v4: v4?.side ?? null });
  };
  const compare = (reading: PairReading, v4: LiveSide): void => {
    const v3 = liveOf(reading.v3);
    const code = findDisagreement(reading.row, v3?.side ?? null, v4.side);
    if (code !== null) {
      blame(reading, code);
      return;
    }
    counts.agree += 1;
    if (v4.side.deleted && !wasDeletedInV4(reading.row)) counts.deletedSince += 1;
    if (v3 !== null) addDifferences(differences, reading.row, v3.members, v4.members, config.fieldPrefix);
  };
  const isHidden = (reading: PairReading) => reading.v4 === null || reading.v3 === 'not_found';
  const take = (reading: PairReading): boolean => {
    taken += 1;
    const { row, v3, v4, error } = reading;
    if (liveOf(v3) !== null) {
      answering.add(`v3 ${row.region}`);
      counts.readInV3 += 1;
    }
    if (v4 !== null) answering.add('v4');
    if (error !== null) fail(error);
    else if (v4 !== null && v3 !== 'not_found') compare(reading, v4);
    else return !isHidden(reading);
    return true;
  };
  const judgeHidden = (reading: PairReading): void => {
    const { row, v4 } = reading;
    if (v4 === null && !answering.has('v4')) fail(showsNothing());
    else if (v4 === null && wasDeletedInV4(row)) counts.gone += 1;
    else if (v4 === null) blame(reading, 'v4_not_found');
    else if (answering.has(`v3 ${row.region}`)) blame(reading, 'v3_not_found');
    else compare({ ...reading, v3: 'unknown' }, v4);
  };
  const finish = (hidden: readonly PairReading[]): Verification => {
    hidden.forEach(judgeHidden);
    const all = countPairs(db);
    const { readInV3, ...others } = counts;
    const unread = drawn - taken;
    const isPartial = counts.failed + unread > 0;
    return {
      schemaVersion: 1,
      exitCode: disagree > 0 ? 1 : isPartial ? 4 : drawn === 0 ? 5 : 0,
      remap: { builtAt: run.builtAt, sha256: run.sha256 },
      coverage: {
        kind: sample === null || drawn === Number(all.pairs) ? 'all' : 'sample',
        pairs: Number(all.pairs),
        matched: Number(all.matched),
        strata: Number(all.strata),
        drawn,
        readInV3,
      },
      ...others,
      disagree,
      unread,
      firstError,
      disagreements,
      differences: [...differences.values()].sort((a, b) => b.pairs - a.pairs),
    };
  };
  return { take, finish };
}

function liveOf(answer: V3Answer): LiveSide | null {
  return typeof answer === 'string' ? null : answer;
}

function wasDeletedInV4({ status, reason }: StoryRow): boolean {
  return status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(reason ?? '');
}

function showsNothing(): SvcError {
  return new SvcError('bad_response', 'V4 showed none of the records that it was asked for by id.');
}

function addDifferences(
  differences: Map<string, FieldDifference>,
  row: StoryRow,
  v3: RecordMembers,
  v4: RecordMembers,
  fieldPrefix: string,
): void {
  for (const { name, verdict, v3: left, v4: right } of buildFieldLines(v3, v4, fieldPrefix)) {
    if (verdict !== 'differs' && verdict !== 'one_side') continue;
    const { model, path } = row;
    const key = JSON.stringify([model, path, name]);
    const before = differences.get(key);
    const example = {
      v3_svc_id: String(row.v3_svc_id),
      v4_svc_id: String(row.v4_svc_id),
      v3: left,
      v4: right,
    };
    differences.set(
      key,
      before === undefined
        ? { model, path, field: name, pairs: 1, example }
        : { ...before, pairs: before.pairs + 1 },
    );
  }
}
