import { decodeBody } from '../api/body.js';
import type { Api } from '../api/client.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage, type RecordMembers } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import type { ModelPair, OnProgress } from '../domain.js';
import { isRequestError, orError, SvcError } from '../errors.js';
import { readRemapRun, toFinding } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { countPairs, readPairSample, type StoryRow } from '../store/story-rows.js';
import { at, must } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { groupBy, inBatches } from '../text/rows.js';
import { type Column, renderTable } from '../text/table.js';
import { cutText, wrapLines } from '../text/wrap.js';
import { buildFieldLines, type FieldLine, findMembers } from './side-by-side.js';

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

export interface PairReading {
  readonly row: StoryRow;
  /** `unknown`: V3 cannot be asked for it. */
  readonly v3: PairSide | 'unknown' | 'not_found';
  readonly v4: PairSide | 'not_found';
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
    exitCode: exitCodeOf(disagreements.length, failed, pairs.length),
    remap: { builtAt, sha256 },
    coverage: {
      ...countPairs(db),
      drawn: pairs.length,
      readInV3: read.filter(({ v3 }) => typeof v3 === 'object').length,
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
  };
}

function exitCodeOf(disagree: number, failed: number, drawn: number): 0 | 1 | 4 | 5 {
  if (disagree > 0) return 1;
  return failed > 0 ? 4 : drawn === 0 ? 5 : 0;
}

interface Shown {
  readonly side: PairSide;
  readonly members: RecordMembers;
}

async function readPair(api: Api, config: Config, row: StoryRow): Promise<PairReading | SvcError> {
  const pair = must(
    config.models.find(({ v3 }) => v3 === row.model),
    'model',
  );
  const answers = await orError(() =>
    Promise.all([readV3(api, config, pair, row), readV4(api, config, pair, row)]),
  );
  if (answers instanceof SvcError) {
    if (isRequestError(answers)) return answers;
    throw answers;
  }
  const [v3, v4] = answers;
  const isShown = typeof v3 === 'object' && typeof v4 === 'object';
  const fields = isShown ? buildFieldLines(v3.members, v4.members, config.fieldPrefix) : [];
  return {
    row,
    v3: typeof v3 === 'object' ? v3.side : v3,
    v4: typeof v4 === 'object' ? v4.side : v4,
    differing: fields.filter(({ verdict }) => verdict === 'differs' || verdict === 'one_side'),
  };
}

async function readV4(api: Api, config: Config, pair: ModelPair, row: StoryRow) {
  const svcId = must(row.path === '' ? row.v4_svc_id : row.parent_v4_svc_id);
  const record = await api.fetchRecord({ pair, companyId: must(row.v4_company_id), svcId });
  return shownIn(record, config, row, must(row.v4_svc_id));
}

/** V3 has no route for one record: it is looked for by its key. */
async function readV3(api: Api, config: Config, pair: ModelPair, row: StoryRow) {
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
  const record = findRecordInPage(text, pageFormat(config, 'v3', pair), svcId);
  return shownIn(record, config, row, must(row.v3_svc_id));
}

function shownIn(
  record: RecordMembers | null,
  { fieldPrefix }: Config,
  { path }: StoryRow,
  svcId: bigint,
): Shown | 'not_found' {
  const members = record === null ? null : findMembers(record, path, `${fieldPrefix}id`, svcId);
  if (record === null || members === null) return 'not_found';
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
  const isV4Shown = readings.some(({ v4 }) => v4 !== 'not_found');
  const judged = (isV4Shown ? readings : []).map((reading) => ({
    reading,
    verdict: judgeReading(reading, regions.has(reading.row.region)),
  }));
  return {
    agree: judged.flatMap(({ reading, verdict }) => (verdict === 'agrees' ? [reading] : [])),
    disagreements: judged.flatMap(({ reading: { row, v3, v4 }, verdict: code }) => {
      if (code === 'agrees' || code === 'gone') return [];
      const shown = { v3: typeof v3 === 'object' ? v3 : null, v4: typeof v4 === 'object' ? v4 : null };
      return [{ ...toFinding(row), code, ...shown }];
    }),
    gone: judged.filter(({ verdict }) => verdict === 'gone').length,
    unproven: readings.length - judged.length,
  };
}

type Verdict = keyof typeof DISAGREEMENTS | 'agrees' | 'gone';

function judgeReading({ row, v3, v4 }: PairReading, isV3Shown: boolean): Verdict {
  if (v4 === 'not_found') return wasDeletedInV4(row) ? 'gone' : 'v4_not_found';
  if (v3 === 'not_found' && isV3Shown) return 'v3_not_found';
  return compareSides(row, typeof v3 === 'object' ? v3 : null, v4);
}

function wasDeletedInV4({ status, reason }: StoryRow): boolean {
  return status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(reason ?? '');
}

function compareSides(row: StoryRow, v3: PairSide | null, v4: PairSide): Verdict {
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
const MAX_CELL = 40;

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
  const [verdict, next] = ENDS[result.exitCode];
  return (
    wrapLines(lines, width) +
    renderRows(DISAGREEMENT_COLUMNS, disagreementRows(result), width) +
    renderRows(DIFFERENCE_COLUMNS, differenceRows(result), width) +
    wrapLines([verdict, `Next: ${next}`], width)
  );
}

function renderRows(columns: readonly Column[], rows: readonly string[][], width: number): string {
  if (rows.length === 0) return '';
  return `${renderTable(columns, rows.slice(0, MAX_SHOWN), width).join('\n')}\n`;
}

const DISAGREEMENT_COLUMNS: readonly Column[] = [
  { title: 'disagree' },
  { title: 'V3 id' },
  { title: 'V4 id' },
  { title: 'V3 key' },
  { title: 'V4 key' },
  { title: 'why' },
];

function disagreementRows({ disagreements }: Verification): string[][] {
  return disagreements.map(({ model, path, v3_svc_id, v4_svc_id, platform_id, v3, v4, code }) => [
    `${model} ${path}`.trimEnd(),
    cell(v3_svc_id),
    cell(v4_svc_id),
    cell(v3?.platform_id ?? platform_id),
    cell(v4?.platform_id ?? null),
    DISAGREEMENTS[code],
  ]);
}

const DIFFERENCE_COLUMNS: readonly Column[] = [
  { title: 'fields that differ' },
  { title: 'field' },
  { title: 'pairs', numeric: true },
  { title: 'such as' },
];

function differenceRows({ differences }: Verification): string[][] {
  return differences.map(({ model, path, field, pairs, example }) => [
    `${model} ${path}`.trimEnd(),
    cell(field),
    groupDigits(pairs),
    `${cell(example.v3)} → ${cell(example.v4)} (V3 ${example.v3_svc_id})`,
  ]);
}

function cell(text: string | null): string {
  return text === null ? '–' : escapeUnseen(cutText(text, MAX_CELL));
}
