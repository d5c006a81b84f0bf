import type { Api } from '../../api/client.js';
import type { Config } from '../../config/config.js';
import {
  type Generation,
  isUnfinished,
  type OnProgress,
  type RowUnit,
  type RunUninterruptible,
} from '../../domain.js';
import type { SvcError } from '../../errors.js';
import type { ExportSummary } from '../../export/run-export.js';
import type { Saver } from '../../export/saver.js';
import type { Db } from '../../store/open.js';
import { type OpenRow, readCompanyPairs, readOpenParents, readOpenRows } from '../../store/open-findings.js';
import { listStreams, readV4Companies, type StreamRow } from '../../store/streams.js';
import { renderJson } from '../../text/escape.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { countSides, describeIds, type KeyCount, sumIds, titleOfKey } from '../../text/reason-counts.js';
import { compare, groupBy } from '../../text/rows.js';
import { wrapLines } from '../../text/text-layout.js';
import { askAgain, planRecheck } from './plan-recheck.js';

export interface RecheckOptions {
  /** Requests the open findings again and stores what has changed. */
  readonly readAgain: () => Promise<ReadAgainResult>;
  readonly rebuildRemap: () => Promise<unknown>;
  /** The open findings of the current remap, by identity. */
  readonly readOpen: () => Promise<ReadonlyMap<string, OpenRow>>;
  /** The current status and reason of earlier rows, in their order; null if the row is gone. */
  readonly readOutcomes: (rows: readonly OpenRow[]) => Promise<readonly (string | null)[]>;
  readonly onProgress: OnProgress;
}

/** A finding that was open at the start and no longer is. */
export interface HealedFinding {
  readonly row: OpenRow;
  /** `status/reason`. */
  readonly before: string;
  /** Null: no row has its id any more. */
  readonly after: string | null;
}

/** The result of a recheck. */
export interface RecheckResult {
  /** Findings that were open at the start. */
  readonly open: number;
  /** What was requested; null if there was nothing to request. */
  readonly read: ReadAgainResult | null;
  readonly healed: readonly HealedFinding[];
  /** Open from the start to the end, by current `status/reason`. */
  readonly persisted: readonly KeyCount[];
  /** Open at the end and not at the start, by `status/reason`. */
  readonly appeared: readonly KeyCount[];
}

/**
 * Requests the open findings again and rebuilds the remap. A finding persists if it is open both at the start and at the end.
 */
export async function recheck(options: RecheckOptions): Promise<RecheckResult> {
  const before = await options.readOpen();
  let read: ReadAgainResult | null = null;
  if (before.size > 0) {
    options.onProgress({ kind: 'stage', name: 'recheck' });
    read = await options.readAgain();
    await options.rebuildRemap();
  }
  const open = await options.readOpen();
  const closed = [...before].filter(([identity]) => !open.has(identity)).map(([, row]) => row);
  const outcomes = await options.readOutcomes(closed);
  const healed = closed.map((row, at) => ({ row, before: outcomeOf(row), after: outcomes[at] ?? null }));
  const [persisted, appeared] = [true, false].map((wasOpen) =>
    countRows([...open].filter(([identity]) => before.has(identity) === wasOpen).map(([, row]) => row)),
  );
  return { open: before.size, read, healed, persisted: persisted ?? [], appeared: appeared ?? [] };
}

/** The number of rows by `status/reason` and unit. */
function countRows(rows: readonly OpenRow[]): KeyCount[] {
  return [...groupBy(rows, (row) => `${outcomeOf(row)} ${unitOf(row)}`).values()].flatMap((own) => {
    const [first] = own;
    return first === undefined ? [] : [{ key: outcomeOf(first), unit: unitOf(first), count: own.length }];
  });
}

function unitOf({ path, v3_svc_id }: Pick<OpenRow, 'path' | 'v3_svc_id'>): RowUnit {
  return `${v3_svc_id === null ? 'v4' : 'v3'}_${path === '' ? 'record' : 'line_item'}`;
}

/** `unmatched/unexplained`. */
function outcomeOf({ status, reason }: OpenRow): string {
  return reason === null ? status : `${status}/${reason}`;
}

/** Indexes open findings by identity: the id of one side with model, path and company. */
export function indexOpen(rows: Iterable<OpenRow>): Map<string, OpenRow> {
  const open = new Map<string, OpenRow>();
  for (const row of rows) {
    const { model, path, region, v3_company_id, v3_svc_id, v4_company_id, v4_svc_id } = row;
    const identity =
      v3_svc_id === null
        ? `v4 ${model} ${path} ${v4_company_id} ${v4_svc_id}`
        : `v3 ${model} ${path} ${region} ${v3_company_id} ${v3_svc_id}`;
    open.set(identity, row);
  }
  return open;
}

/** The exit code: 0 if everything was read, 4 if something could not be. */
export function judgeRecheck({ read }: RecheckResult): 0 | 4 {
  return read !== null && read.failed + read.unfinished > 0 ? 4 : 0;
}

/** Reads lists again as an export does; models and companies narrow it. */
export type ReadLists = (
  generation: Generation,
  models: readonly string[],
  companies: readonly bigint[],
  onProgress: OnProgress,
) => Promise<ExportSummary>;

export interface ReadAgainOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: Pick<Api, 'fetchRecord' | 'fetchRawList' | 'fetchV4Companies'>;
  readonly saver: Saver;
  readonly readLists: ReadLists;
  readonly onProgress: OnProgress;
  readonly runUninterruptible: RunUninterruptible;
}

/** What was requested. */
export interface ReadAgainResult {
  /** Records requested one by one. */
  readonly asked: number;
  /** Lists that were read again. */
  readonly lists: number;
  /** Records that were new or had changed, of those requested one by one. */
  readonly changed: number;
  /** V3 ids that V3 no longer shows, not even as deleted. */
  readonly vanished: readonly { readonly region: string; readonly model: string; readonly svcId: string }[];
  readonly failed: number;
  /** Lists not read to their end. */
  readonly unfinished: number;
  readonly firstError: string | null;
}

/**
 * Requests the records and lists of the open findings again and stores the changes. The caller rebuilds the remap.
 *
 * @throws SvcError `auth`, `redirect`, `config`, and as an export does
 */
export async function readAgain(options: ReadAgainOptions): Promise<ReadAgainResult> {
  const { db, config, api, saver, onProgress, runUninterruptible } = options;
  const plan = await runUninterruptible(() =>
    planRecheck({
      findings: [...readOpenRows(db)],
      parents: [...readOpenParents(db)],
      streams: listStreams(db),
      pairs: readCompanyPairs(db),
      config,
    }),
  );
  const single = await askAgain(plan.questions, { db, config, api, saver, onProgress });
  const lists = [...new Set([...plan.lists, ...single.lists])];
  let arrived: readonly bigint[] = [];
  if (plan.readsCompanies || lists.some(({ generation }) => generation === 'v4')) {
    const known = new Set(readV4Companies(db));
    const { companies } = await api.fetchV4Companies();
    arrived = [...new Set(companies.map(({ companyId }) => companyId))].filter((id) => !known.has(id));
  }
  const read = await readLists(groupLists(lists, arrived, config), lists.length, options);
  return {
    asked: plan.questions.length,
    lists: lists.length,
    changed: single.changed,
    vanished: single.vanished.map(({ stream: { region, model }, value: svcId }) => {
      return { region, model, svcId };
    }),
    failed: single.failed,
    unfinished: read.unfinished,
    firstError: (single.firstError ?? read.firstError)?.message ?? null,
  };
}

interface ListGroup {
  readonly generation: Generation;
  readonly models: readonly string[];
  readonly companies: readonly bigint[];
}

async function readLists(
  groups: readonly ListGroup[],
  total: number,
  { readLists: readGroup, onProgress }: ReadAgainOptions,
) {
  // Each group is an export of its own; people see one count of lists.
  let ended = 0;
  const onEvent: OnProgress = (event) => {
    if (event.kind === 'note' || event.kind === 'wait') onProgress(event);
    if (event.kind !== 'stream') return;
    ended = Math.min(total, ended + 1);
    onProgress({ kind: 'step', name: 'lists again', done: ended, total });
  };
  let unfinished = 0;
  let firstError: SvcError | null = null;
  for (const { generation, models, companies } of groups) {
    const summary = await readGroup(generation, models, companies, onEvent);
    firstError ??= summary.firstError;
    const own = summary.streams.filter(
      ({ model, companyId }) =>
        models.includes(model) &&
        (companyId === null || companies.length === 0 || companies.includes(companyId)),
    );
    unfinished += own.filter(isUnfinished).length;
  }
  return { unfinished, firstError };
}

/**
 * Groups lists into exports: unfinished and finished lists separately, because an export that continues skips finished
 * ones; V4 companies whose lists of the same models are to be read. `arrived`: companies that V4 did not list before.
 */
function groupLists(lists: readonly StreamRow[], arrived: readonly bigint[], config: Config): ListGroup[] {
  const inV4 = config.models.filter(({ v4 }) => v4 !== null);
  const wanted = [
    ...lists
      .filter(({ generation, companyId }) => generation === 'v3' || companyId !== null)
      .map((one) => ({
        ...one,
        company: one.generation === 'v3' ? null : one.companyId,
        begun: isUnfinished(one),
      })),
    // Lists of new companies would otherwise be created and never read.
    ...arrived.flatMap((company) =>
      inV4.map(({ v3 }) => ({ generation: 'v4' as const, company, model: v3, begun: true })),
    ),
  ];
  const byCompany = groupBy(wanted, ({ generation, company, begun }) => `${generation} ${company} ${begun}`);
  const named = [...byCompany.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    return [{ ...first, models: [...new Set([first, ...more].map(({ model }) => model))].sort() }];
  });
  const groups = groupBy(named, ({ generation, begun, models }) =>
    JSON.stringify([generation, begun, models]),
  );
  return [...groups.values()].flatMap((own) =>
    own.slice(0, 1).map(({ generation, models }) => {
      return { generation, models, companies: own.flatMap(({ company }) => company ?? []) };
    }),
  );
}

const MAX_LISTED = 10;
/** Reasons that fit on a screen with the rest. */
const MAX_REASONS = 8;

/** Renders what was requested, resolved, and still open; the first reasons only, unless `isVerbose`. */
export function renderRecheck(result: RecheckResult, width: number, isVerbose: boolean): string {
  const { open, read, healed, persisted, appeared } = result;
  const resolved = healed.map(({ row, before, after }) => ({
    label: `${titleOfKey(before)} → ${after === null ? 'gone' : titleOfKey(after)}`,
    ...{ key: before, unit: unitOf(row), count: 1 },
  }));
  const titled = (counts: readonly KeyCount[]) =>
    counts.map((one) => ({
      ...one,
      label: isVerbose ? `${titleOfKey(one.key)} (${one.key})` : titleOfKey(one.key),
    }));
  const lines = [
    `${countOf(open, 'open finding')}, ids of V3 or V4 that are not matched and not deleted.`,
    ...(read === null ? [] : [describeRequests(read)]),
    ...describeCounts('Resolved', resolved, isVerbose),
    ...describeCounts('Still open', titled(persisted), isVerbose),
    ...(appeared.length === 0 ? [] : describeCounts('New', titled(appeared), isVerbose)),
    ...(read === null ? [] : describeTrouble(read)),
    'Next: svc-migrate check',
  ];
  return wrapLines(lines, width);
}

/** The total, and the most frequent labels, with line items counted at their records. */
function describeCounts(
  title: string,
  counts: readonly (KeyCount & { readonly label: string })[],
  isVerbose: boolean,
): string[] {
  const sides = [...groupBy(counts, ({ label }) => label)]
    .map(([label, own]) => ({ label, ids: countSides(own) }))
    .sort((a, b) => sumIds(b.ids) - sumIds(a.ids) || compare(a.label, b.label));
  const shown = isVerbose ? sides : sides.slice(0, MAX_REASONS);
  const more = sides.length - shown.length;
  return [
    `${title}: ${groupDigits(counts.reduce((sum, { count }) => sum + count, 0))}`,
    ...shown.map(({ label, ids }) => `  ${label}: ${describeIds(ids)}`),
    ...(more > 0 ? [`  … and ${countOf(more, 'more reason')}: see --verbose`] : []),
  ];
}

function describeRequests({ asked, changed, lists }: ReadAgainResult): string {
  return `  ${countOf(asked, 'request')} for single records, ${countOf(changed, 'record')} new or changed; ${countOf(lists, 'list')} read again`;
}

function describeTrouble({ vanished, failed, unfinished, firstError }: ReadAgainResult): string[] {
  const lines: string[] = [];
  if (vanished.length > 0) {
    const records = countOf(vanished.length, 'V3 record');
    const them = vanished.length === 1 ? 'it' : 'them';
    const shown = vanished.slice(0, MAX_LISTED);
    const models = [...new Set(vanished.map(({ model }) => ` --model ${model}`))].join('');
    lines.push(
      `${records} vanished without a tombstone: V3 no longer shows ${them}, not even as deleted.`,
      ...shown.map(({ region, model, svcId }) => `  ${model} V3 ${svcId} (${region})`),
      ...(vanished.length > MAX_LISTED ? [`  … and ${groupDigits(vanished.length - MAX_LISTED)} more`] : []),
      `  Only a full export removes ${them}: \`svc-migrate export v3 --restart${models}\``,
    );
  }
  if (failed + unfinished > 0) {
    lines.push(
      `${countOf(failed, 'request')} failed and ${countOf(unfinished, 'list')} not read to the end: run the same command again. First: ${firstError ?? ''}`,
    );
  }
  return lines;
}

/** The result for scripts, with every resolved finding; ids are strings of digits. */
export function renderRecheckJson(result: RecheckResult): string {
  const { open, read, healed, persisted, appeared } = result;
  return renderJson({
    schemaVersion: 1,
    exitCode: judgeRecheck(result),
    open,
    read,
    persisted: sumByKey(persisted),
    appeared: sumByKey(appeared),
    healed: healed.map(({ row: { status: _status, reason: _reason, ...row }, before, after }) => ({
      ...row,
      before,
      after,
    })),
  });
}

function sumByKey(counts: readonly KeyCount[]): Record<string, number> {
  return Object.fromEntries(
    [...groupBy(counts, ({ key }) => key)].map(([key, own]) => [
      key,
      own.reduce((sum, { count }) => sum + count, 0),
    ]),
  );
}
