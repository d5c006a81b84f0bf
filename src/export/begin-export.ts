import type { Config, Endpoint } from '../config/config.js';
import { type Clock, type Generation, isUnfinished, type OnProgress, type StreamKey } from '../domain.js';
import { SvcError } from '../errors.js';
import {
  compareFingerprint,
  type Fingerprint,
  otherConfiguration,
  saveFingerprint,
} from '../store/fingerprint.js';
import type { Db } from '../store/open.js';
import {
  ensureStreams,
  listStreams,
  listUnfinished,
  type PlannedStream,
  type StreamRow,
} from '../store/streams.js';
import { begin } from './decide-page.js';
import { isoOf, type ReadingRules, startReading } from './passes.js';
import type { PageSupply } from './prefetch.js';
import { prepareApply } from './saver.js';

export interface ExportOptions {
  readonly db: Db;
  /** The database's file, for messages. */
  readonly file: string;
  readonly config: Config;
  readonly fingerprint: Fingerprint;
  readonly supply: PageSupply;
  /** Stops the export after the current transaction; its reason is thrown if it is an error other than AbortError. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onProgress: OnProgress;
  /** Reads everything again, instead of continuing or updating. */
  readonly restart?: boolean;
  readonly onlyModels?: readonly string[];
  /** Company ids of the exported generation. V3 lists that are not split by company are always selected. */
  readonly onlyCompanies?: readonly bigint[];
  /** Whether no list may be selected, as of a V3 company that V4 does not list; by default that is refused. */
  readonly mayBeEmpty?: boolean | undefined;
  /** The count of each V4 list once the backfill had settled, by `listLabel`; null for a list that V4 does not have. */
  readonly settledCounts?: ReadonlyMap<string, number | null> | undefined;
}

/** The differences between the exports of V3 and V4. */
export interface ExportPlan {
  readonly generation: Generation;
  readonly planned: readonly PlannedStream[];
  readonly endpoints: readonly Endpoint[];
  readonly rules: ReadingRules;
  /** Companies whose records are counted but not stored. */
  readonly excluded: readonly bigint[];
  /** Called in the transaction that begins the export. */
  readonly saveListing: () => void;
}

export interface Begun {
  /** Streams to read now. */
  readonly rows: readonly StreamRow[];
  /** Streams of this export: those to read now, and those that the continued export has read. */
  readonly selected: readonly StreamRow[];
  /** Streams of earlier exports that are no longer planned. */
  readonly unplanned: readonly StreamRow[];
  /** Whether an unfinished export is continued. */
  readonly continued: boolean;
}

/** Lists between progress reports: hundreds of thousands are prepared in one transaction, which takes seconds. */
const PROGRESS_EVERY = 10_000;

/**
 * Begins an export, or continues an unfinished one without reading its finished streams again. Call it inside a
 * transaction.
 *
 * @throws SvcError `other_configuration`, `usage`
 */
export function beginExport(options: ExportOptions, { generation, planned, rules }: ExportPlan): Begun {
  const { db, config, fingerprint, onProgress } = options;
  const nowMs = options.clock.now();
  assertAcceptable(db, generation, fingerprint, options.restart ?? false);
  const before = new Set(listUnfinished(db, generation));
  ensureStreams(db, planned, isoOf(nowMs));
  const isOther = saveFingerprint(db, generation, fingerprint);
  const restart = options.restart === true || isOther;
  const names = new Set(planned.map(({ key }) => nameOf(key)));
  const all = listStreams(db, generation);
  const selected = all.filter((row) => names.has(nameOf(row)) && isSelected(row, options));
  if (selected.length === 0 && planned.length > 0 && options.mayBeEmpty !== true) {
    throw new SvcError('usage', 'No list belongs to the models and companies that were named.', {
      hint: 'Check --model against the configuration and --company against the company ids.',
    });
  }
  const continued = options.restart !== true && selected.some(({ id }) => before.has(id));
  const unplanned = all.filter((row) => !names.has(nameOf(row)));
  const apply = prepareApply(db);
  // these are deleted in chunks, so they no longer count as read; those that are planned again are read from the start
  for (const row of unplanned) apply(row, startReading(row, nowMs), false);
  const toBegin = isOther ? all.filter((row) => names.has(nameOf(row))) : selected;
  const begun = toBegin.map((row, at) => {
    if (at % PROGRESS_EVERY === 0) {
      onProgress({ kind: 'step', name: 'preparing lists', done: at, total: toBegin.length });
    }
    if (continued && !isOther && isFresh(row, nowMs, config.maxAgeMs) && !hasMoved(row, options)) return row;
    const step = begin(row, restart, rules, nowMs);
    return step.row === row ? row : apply(row, step, false).row;
  });
  const rows = begun.filter((row) => row.state === 'running' && isSelected(row, options));
  return { rows, selected, unplanned, continued };
}

/**
 * Refuses a configuration that differs from that of the stored data. With `restart`, V4's settings may differ.
 *
 * @throws SvcError `other_configuration`
 */
export function assertAcceptable(
  db: Db,
  generation: Generation,
  fingerprint: Fingerprint,
  restart: boolean,
): void {
  const differences = compareFingerprint(db, fingerprint);
  const isV4Only = differences.every(({ name }) => name.startsWith('v4'));
  if (differences.length === 0 || (generation === 'v4' && restart && isV4Only)) return;
  throw otherConfiguration(differences);
}

/** Whether the stream was read, and is recent enough for the report that follows: half of the maximum age. */
function isFresh(row: StreamRow, nowMs: number, maxAgeMs: number): boolean {
  return !isUnfinished(row) && row.readAt !== null && nowMs - Date.parse(row.readAt) < maxAgeMs / 2;
}

/** Whether the backfill went on after the stream was read. */
function hasMoved(row: StreamRow, { settledCounts }: ExportOptions): boolean {
  return settledCounts !== undefined && settledCounts.get(listLabel(row)) !== row.totalCountLast;
}

/** A V4 list as people are told of it. */
export function listLabel({ model, companyId }: Pick<StreamKey, 'model' | 'companyId'>): string {
  return `${model} of company ${companyId}`;
}

function isSelected(row: StreamRow, { onlyModels = [], onlyCompanies = [] }: ExportOptions): boolean {
  const isModel = onlyModels.length === 0 || onlyModels.includes(row.model);
  if (onlyCompanies.length === 0 || row.companyId === null) return isModel;
  return isModel && onlyCompanies.includes(row.companyId);
}

function nameOf({ generation, region, model, companyId }: StreamKey): string {
  return JSON.stringify([generation, region, model, companyId?.toString() ?? null]);
}
