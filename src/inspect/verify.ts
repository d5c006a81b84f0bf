import { decodeBody } from '../api/body.js';
import type { Api } from '../api/client.js';
import { findMembers, findRecordInPage, type RecordMembers } from '../api/pages.js';
import type { Config } from '../config/config.js';
import type { ModelPair, OnProgress } from '../domain.js';
import { isRequestError, orError, SvcError } from '../errors.js';
import { readRemapRun, toFinding } from '../store/remap.js';
import { countPairs, type RemapEntry, readPairSample } from '../store/remap-entries.js';
import type { Db } from '../store/sqlite.js';
import { at, must } from '../text/at.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { groupBy, inBatches } from '../text/rows.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import { buildFieldLines, type FieldLine, showCell } from './side-by-side.js';

const DISAGREEMENTS = {
  v3_not_found: 'V3 does not show it',
  v4_not_found: 'V4 does not show it',
  company_differs: 'another company',
  platform_id_differs: 'the two have different platform_ids',
  platform_id_changed: 'it has another platform_id than when it was exported',
  unique_id_differs: 'the two have different platform_unique_ids, by which they were paired',
} as const;

type Verification = Awaited<ReturnType<typeof verifyPairs>>;

export interface PairSide {
  readonly company_id: string;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
}

/** A side is null if the service does not show it. */
export interface PairReading {
  readonly row: RemapEntry;
  /** `unknown`: V3 cannot be asked for it. */
  readonly v3: PairSide | null | 'unknown';
  readonly v4: PairSide | null;
  readonly differing: readonly FieldLine[];
}

const SHOWS_NOTHING = 'V4 showed none of the records that it was asked for by id.';

const BATCH = 40;

/** @throws SvcError `auth`, `redirect`; the signal's reason */
export async function verifyPairs(api: Api, db: Db, config: Config, sample: number, onProgress: OnProgress) {
  const { builtAt, sha256 } = must(readRemapRun(db), 'remap');
  const pairs = readPairSample(db, sample);
  const readings: (PairReading | SvcError)[] = [];
  for (const batch of inBatches(pairs, BATCH)) {
    onProgress({ kind: 'step', name: 'pairs', done: readings.length, total: pairs.length });
    const answers = await Promise.all(batch.map((row) => readPair(api, config, row)));
    readings.push(...answers);
    if (answers.every((answer) => answer instanceof SvcError)) break;
  }
  const read = readings.filter((reading) => 'v4' in reading);
  const error = readings.find((reading) => reading instanceof SvcError);
  const { agree, disagreements, gone, unproven } = judgeReadings(read);
  const failed = pairs.length - read.length + unproven;
  return {
    schemaVersion: 1,
    exitCode: disagreements.length > 0 ? 1 : failed > 0 ? 4 : pairs.length === 0 ? 5 : 0,
    remap: { builtAt, sha256 },
    coverage: {
      ...countPairs(db),
      drawn: pairs.length,
      readInV3: read.filter(({ v3 }) => isShown(v3)).length,
    },
    agree: agree.length,
    disagree: disagreements.length,
    /** Deleted in V4 when exported, and no longer shown. */
    gone,
    /** Not read, because of an error of their own, or because everything before failed. */
    failed,
    firstError: error?.message ?? (unproven > 0 ? SHOWS_NOTHING : null),
    disagreements,
    differences: countDifferences(agree),
  } as const;
}

function isShown(side: PairReading['v3']): side is PairSide {
  return typeof side === 'object' && side !== null;
}

async function readPair(api: Api, config: Config, row: RemapEntry): Promise<PairReading | SvcError> {
  const pair = must(config.models.find(({ v3 }) => v3 === row.model));
  const answers = await orError(() =>
    Promise.all([readV3(api, config, pair, row), readV4(api, config, pair, row)]),
  );
  if (answers instanceof SvcError) {
    if (isRequestError(answers)) return answers;
    throw answers;
  }
  const [v3, v4] = answers;
  const isBoth = v3 !== 'unknown' && v3 !== null && v4 !== null;
  const fields = isBoth ? buildFieldLines(v3.members, v4.members, config.fieldPrefix) : [];
  return {
    row,
    v3: v3 === 'unknown' ? v3 : (v3?.side ?? null),
    v4: v4?.side ?? null,
    differing: fields.filter(({ verdict }) => verdict === 'differs' || verdict === 'one_side'),
  };
}

async function readV4(api: Api, config: Config, pair: ModelPair, row: RemapEntry) {
  const svcId = must(row.path === '' ? row.v4_svc_id : row.parent_v4_svc_id);
  const record = await api.fetchRecord({ pair, companyId: must(row.v4_company_id), svcId });
  return sideIn(record, config, row, must(row.v4_svc_id));
}

/** V3 has no route for one record: it is looked for by its key. */
async function readV3(api: Api, config: Config, pair: ModelPair, row: RemapEntry) {
  const key = row.path === '' ? row.platform_id : row.parent_platform_id;
  const svcId = must(row.path === '' ? row.v3_svc_id : row.parent_v3_svc_id);
  const [region, companyId] = [must(row.region), must(row.v3_company_id)];
  // A filter may take `null` for no value.
  if (key === null || key === 'null') return 'unknown';
  const page = await orError(() =>
    api.fetchRawList({
      stream: { generation: 'v3', region, model: pair.v3, companyId },
      pair,
      parameters: [
        ['platform_id[eq]', key],
        [`${config.fieldPrefix}company_id[eq]`, String(companyId)],
        ['include_deleted_records', 'true'],
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
  const record = findRecordInPage(text, { generation: 'v3', ...config }, svcId);
  return sideIn(record, config, row, must(row.v3_svc_id));
}

function sideIn(
  record: RecordMembers | null,
  { fieldPrefix }: Config,
  { path }: RemapEntry,
  svcId: bigint,
): { readonly side: PairSide; readonly members: RecordMembers } | null {
  const members =
    path === '' || record === null ? record : findMembers(record[path], `${fieldPrefix}id`, svcId);
  if (record === null || members === null) return null;
  const keyOf = (name: string) => {
    const value = members[name] ?? '';
    return value === '' ? null : String(value);
  };
  const side = {
    company_id: String(record[`${fieldPrefix}company_id`]),
    platform_id: keyOf('platform_id'),
    platform_unique_id: keyOf('platform_unique_id'),
  };
  return { side, members };
}

/**
 * Judges what was read. That a service shows no record proves something only if it shows others, because it may not have
 * the route or the filter.
 */
export function judgeReadings(readings: readonly PairReading[]) {
  const regions = new Set(readings.flatMap(({ row, v3 }) => (isShown(v3) ? [row.region] : [])));
  const isV4Shown = readings.some(({ v4 }) => v4 !== null);
  const judged = (isV4Shown ? readings : []).map((reading) => ({
    reading,
    verdict: judgeReading(reading, regions.has(reading.row.region)),
  }));
  return {
    agree: judged.flatMap(({ reading, verdict }) => (verdict === 'agrees' ? [reading] : [])),
    disagreements: judged.flatMap(({ reading: { row, v3, v4 }, verdict: code }) =>
      code === 'agrees' || code === 'gone'
        ? []
        : [{ ...toFinding(row), code, v3: isShown(v3) ? v3 : null, v4 }],
    ),
    gone: judged.filter(({ verdict }) => verdict === 'gone').length,
    unproven: readings.length - judged.length,
  };
}

type Verdict = keyof typeof DISAGREEMENTS | 'agrees' | 'gone';

function judgeReading({ row, v3, v4 }: PairReading, isV3Shown: boolean): Verdict {
  if (v4 === null) return wasDeletedInV4(row) ? 'gone' : 'v4_not_found';
  if (v3 === null && isV3Shown) return 'v3_not_found';
  return compareSides(row, isShown(v3) ? v3 : null, v4);
}

function wasDeletedInV4({ status, reason }: RemapEntry): boolean {
  return status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(reason ?? '');
}

function compareSides(row: RemapEntry, v3: PairSide | null, v4: PairSide): Verdict {
  const isV3Company = v3 === null || v3.company_id === String(row.v3_company_id);
  if (!isV3Company || v4.company_id !== String(row.v4_company_id)) return 'company_differs';
  if (row.matched_by === 'decision') {
    return v3 !== null && v3.platform_id !== row.platform_id ? 'platform_id_changed' : 'agrees';
  }
  if (v3 !== null && v3.platform_id !== v4.platform_id) return 'platform_id_differs';
  if (v4.platform_id !== row.platform_id) return v3 === null ? 'platform_id_differs' : 'platform_id_changed';
  // Several records have this key, so it alone does not identify the pair.
  const byUniqueId = row.matched_by === 'platform_unique_id' && v3 !== null;
  return byUniqueId && v3.platform_unique_id !== v4.platform_unique_id ? 'unique_id_differs' : 'agrees';
}

/** The fields that differ, by model and path, most frequent first, each with its first pair. */
function countDifferences(readings: readonly PairReading[]) {
  const lines = readings.flatMap(({ row, differing }) => differing.map((line) => ({ row, line })));
  const groups = groupBy(lines, ({ row, line }) => JSON.stringify([row.model, row.path, line.name]));
  const differences = [...groups.values()].map((group) => {
    const { row, line } = at(group, 0);
    const { model, path, v3_svc_id, v4_svc_id } = row;
    const example = { v3_svc_id: String(v3_svc_id), v4_svc_id: String(v4_svc_id), v3: line.v3, v4: line.v4 };
    return { model, path, field: line.name, pairs: group.length, example };
  });
  return differences.sort((a, b) => b.pairs - a.pairs);
}

const ENDS: Readonly<Record<Verification['exitCode'], readonly [verdict: string, next: string]>> = {
  0: ['All pairs that were read agree.', 'svc-migrate check'],
  1: ['WRONG: pairs disagree with the services.', 'svc-migrate run'],
  4: ['INCOMPLETE: some pairs could not be read.', 'svc-migrate verify'],
  5: ['NOTHING TO VERIFY: the remap has no pair.', 'svc-migrate run'],
};

const MAX_SHOWN = 10;

export function renderVerification(result: Verification, width: number): string {
  const { remap, coverage, agree, disagree, gone, failed, firstError } = result;
  const { pairs, matched, drawn, readInV3 } = coverage;
  const lines = [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}….`,
    `Read again: ${groupDigits(drawn)} of ${countOf(pairs, 'pair')} (${groupDigits(matched)} matched) from V4 by id, ${groupDigits(readInV3)} of them from V3, too.`,
    `  ${groupDigits(agree)} agree, ${groupDigits(disagree)} disagree.`,
    ...(gone > 0 ? [`  ${groupDigits(gone)} were deleted in V4 and are no longer shown.`] : []),
    ...(failed > 0 ? [`  ${groupDigits(failed)} could not be read: ${firstError ?? ''}`] : []),
  ];
  const tables = [...renderDisagreements(result, width), ...renderDifferences(result, width)];
  const [verdict, next] = ENDS[result.exitCode];
  return [
    wrapLines(lines, width),
    ...tables.map((line) => `${line}\n`),
    wrapLines([verdict, `Next: ${next}`], width),
  ].join('');
}

function renderDisagreements({ disagreements }: Verification, width: number): string[] {
  const titles = ['disagree', 'V3 id', 'V4 id', 'V3 key', 'V4 key', 'why'];
  const rows = disagreements
    .slice(0, MAX_SHOWN)
    .map(({ model, path, v3_svc_id, v4_svc_id, platform_id, v3, v4, code }) => [
      `${model} ${path}`.trimEnd(),
      ...[v3_svc_id, v4_svc_id, v3?.platform_id ?? platform_id, v4?.platform_id ?? null].map(showCell),
      DISAGREEMENTS[code],
    ]);
  const columns = titles.map((title) => ({ title }));
  return rows.length === 0 ? [] : renderTable(columns, rows, width);
}

function renderDifferences({ differences }: Verification, width: number): string[] {
  const titles = ['fields that differ', 'field', 'pairs', 'such as'];
  const rows = differences
    .slice(0, MAX_SHOWN)
    .map(({ model, path, field, pairs, example }) => [
      `${model} ${path}`.trimEnd(),
      showCell(field),
      groupDigits(pairs),
      `${showCell(example.v3)} → ${showCell(example.v4)} (V3 ${example.v3_svc_id})`,
    ]);
  const columns = titles.map((title) => ({ title, numeric: title === 'pairs' }));
  return rows.length === 0 ? [] : renderTable(columns, rows, width);
}
