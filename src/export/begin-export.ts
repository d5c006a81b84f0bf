import type { Config, Endpoint } from '../config/config.js';
import { type Generation, isUnfinished, type OnProgress, type StreamKey } from '../domain.js';
import { SvcError } from '../errors.js';
import {
  compareFingerprint,
  type Fingerprint,
  otherConfiguration,
  saveFingerprint,
} from '../store/fingerprint.js';
import { readMeta, writeMeta } from '../store/meta.js';
import type { Db } from '../store/open.js';
import {
  ensureStreams,
  listStreams,
  listUnfinished,
  type PlannedStream,
  type StreamRow,
} from '../store/streams.js';
import { begin } from './decide.js';
import type { PageSupply } from './prefetch.js';
import { prepareApply } from './saver.js';
import { isoOf, type ReadingRules } from './step.js';

export interface ExportOptions {
  readonly db: Db;
  /** The database's file, for messages. */
  readonly file: string;
  readonly config: Config;
  readonly fingerprint: Fingerprint;
  readonly supply: PageSupply;
  /** Stops the export after the transaction under way; its reason is thrown if it is an error of its own. */
  readonly signal: AbortSignal;
  readonly clock: { now(): number };
  readonly onProgress: OnProgress;
  /** Reads everything anew instead of going on or topping up. */
  readonly restart?: boolean;
  readonly onlyModels?: readonly string[];
  /** Ids of the generation that is exported. V3 lists of all companies at once are not narrowed. */
  readonly onlyCompanies?: readonly bigint[];
}

/** What the two exports bring along. */
export interface ExportPlan {
  readonly generation: Generation;
  readonly planned: readonly PlannedStream[];
  readonly endpoints: readonly Endpoint[];
  readonly rules: ReadingRules;
  /** Companies whose records are counted and not kept. */
  readonly excluded: readonly bigint[];
  /** Done in the transaction that begins the export. */
  readonly saveListing: () => void;
}

export interface Begun {
  /** Streams to read now. */
  readonly rows: readonly StreamRow[];
  /** Streams that this export is about: those to read, and those that an unfinished export has read. */
  readonly selected: readonly StreamRow[];
  /** Streams of earlier exports that are no longer planned. */
  readonly unplanned: readonly StreamRow[];
  /** Whether an unfinished export is continued. */
  readonly continued: boolean;
}

/** Lists are prepared in one transaction, which takes seconds where there are hundreds of thousands. */
const PROGRESS_EVERY = 10_000;

const RENEW = 'renew';

const metaKey = (generation: Generation) => `next_export_${generation}`;

/**
 * Begins an export, or goes on with an unfinished one: then streams it has read already are not read
 * again. Call inside a transaction.
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
  if (selected.length === 0 && planned.length > 0) {
    throw new SvcError('usage', 'No list belongs to the models and companies that were named.', {
      hint: 'Check --model against the configuration and --company against the company ids.',
    });
  }
  const isOpen = options.restart !== true && readMeta(db, metaKey(generation)) !== RENEW;
  const continued = isOpen && selected.some(({ id }) => before.has(id));
  const unplanned = all.filter((row) => !names.has(nameOf(row)));
  const apply = prepareApply(db);
  // streams that are about to be dropped bit by bit no longer count as read
  for (const row of unplanned) apply(row, { row: { ...row, state: 'running' }, discard: [] }, false);
  const anew = isOther ? all.filter((row) => !unplanned.includes(row)) : selected;
  const begun = anew.map((row, at) => {
    if (at % PROGRESS_EVERY === 0) {
      onProgress({ kind: 'step', name: 'preparing lists', done: at, total: anew.length });
    }
    if (continued && !isOther && isFresh(row, nowMs, config.maxAgeMs)) return row;
    const step = begin(row, restart, rules, nowMs);
    return step.row === row ? row : apply(row, step, false).row;
  });
  const rows = begun.filter((row) => row.state === 'running' && isSelected(row, options));
  return { rows, selected, unplanned, continued };
}

/**
 * Remembers how an export ended. One that went on with an unfinished export and came no further must not
 * keep the streams that were read from being read anew, so the next one begins afresh.
 */
export function endExport(db: Db, generation: Generation, isStuck: boolean): void {
  writeMeta(db, metaKey(generation), isStuck ? RENEW : 'continue');
}

/**
 * Refuses a configuration that does not fit what is stored. V4 may be read anew with another one.
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

/** Read by the export that is being continued, and recently enough for the gate to come. */
function isFresh(row: StreamRow, nowMs: number, maxAgeMs: number): boolean {
  return !isUnfinished(row) && row.readAt !== null && nowMs - Date.parse(row.readAt) < maxAgeMs / 2;
}

function isSelected(row: StreamRow, { onlyModels = [], onlyCompanies = [] }: ExportOptions): boolean {
  const isModel = onlyModels.length === 0 || onlyModels.includes(row.model);
  if (onlyCompanies.length === 0 || row.companyId === null) return isModel;
  return isModel && onlyCompanies.includes(row.companyId);
}

function nameOf({ generation, region, model, companyId }: StreamKey): string {
  return JSON.stringify([generation, region, model, companyId?.toString() ?? null]);
}
