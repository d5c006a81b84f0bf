import type { Config } from '../config/config.js';
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
import type { StreamRow } from '../store/stream-row.js';
import { ensureStreams, listStreams, listUnfinished, type PlannedStream } from '../store/streams.js';
import { begin } from './decide.js';
import { prepareApply } from './saver.js';
import { isoOf, type ReadingRules } from './step.js';

export interface Beginning {
  readonly generation: Generation;
  readonly config: Config;
  readonly fingerprint: Fingerprint;
  readonly planned: readonly PlannedStream[];
  readonly rules: ReadingRules;
  readonly restart: boolean;
  readonly onlyModels: readonly string[];
  readonly onlyCompanies: readonly bigint[];
  readonly nowMs: number;
  readonly onProgress: OnProgress;
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

/**
 * Begins an export, or goes on with an unfinished one: then streams it has read already are not read
 * again. Call inside a transaction.
 *
 * @throws SvcError `other_configuration`, `usage`
 */
export function beginExport(db: Db, options: Beginning): Begun {
  const { generation, planned, nowMs } = options;
  assertAcceptable(db, options);
  const before = new Set(listUnfinished(db, generation));
  ensureStreams(db, planned, isoOf(nowMs));
  const isOther = saveFingerprint(db, generation, options.fingerprint);
  const names = new Set(planned.map(({ key }) => nameOf(key)));
  const all = listStreams(db, generation);
  const selected = all.filter((row) => names.has(nameOf(row)) && isSelected(row, options));
  assertSelection(selected, planned);
  const isOpen = !options.restart && readMeta(db, metaKey(generation)) !== RENEW;
  const continued = isOpen && selected.some(({ id }) => before.has(id));
  const unplanned = all.filter((row) => !names.has(nameOf(row)));
  reopen(db, unplanned);
  const anew = isOther ? all.filter((row) => !unplanned.includes(row)) : selected;
  const begun = beginStreams(
    db,
    anew,
    { ...options, restart: options.restart || isOther },
    continued && !isOther,
  );
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

/** Lists are prepared in one transaction, which takes seconds where there are hundreds of thousands. */
const PROGRESS_EVERY = 10_000;

const RENEW = 'renew';

function metaKey(generation: Generation): string {
  return `next_export_${generation}`;
}

/**
 * Refuses a configuration that does not fit what is stored. V4 may be read anew with another one.
 *
 * @throws SvcError `other_configuration`
 */
export function assertAcceptable(
  db: Db,
  { generation, fingerprint, restart }: Pick<Beginning, 'generation' | 'fingerprint' | 'restart'>,
): void {
  const differences = compareFingerprint(db, fingerprint);
  const isV4Only = differences.every(({ name }) => name.startsWith('v4'));
  if (differences.length === 0 || (generation === 'v4' && restart && isV4Only)) return;
  throw otherConfiguration(differences);
}

function beginStreams(
  db: Db,
  rows: readonly StreamRow[],
  { restart, rules, nowMs, config, onProgress }: Beginning,
  continued: boolean,
): StreamRow[] {
  const apply = prepareApply(db);
  return rows.map((row, at) => {
    if (at % PROGRESS_EVERY === 0) {
      onProgress({ kind: 'step', name: 'preparing lists', done: at, total: rows.length });
    }
    if (continued && isFresh(row, nowMs, config.maxAgeMs)) return row;
    const step = begin(row, restart, rules, nowMs);
    return step.row === row ? row : apply(row, step, false).row;
  });
}

/** Streams that are about to be dropped bit by bit no longer count as read. */
function reopen(db: Db, rows: readonly StreamRow[]): void {
  const apply = prepareApply(db);
  for (const row of rows) apply(row, { row: { ...row, state: 'running' }, discard: [] }, false);
}

/** Read by the export that is being continued, and recently enough for the gate to come. */
function isFresh(row: StreamRow, nowMs: number, maxAgeMs: number): boolean {
  return !isUnfinished(row) && row.readAt !== null && nowMs - Date.parse(row.readAt) < maxAgeMs / 2;
}

function isSelected(row: StreamRow, { onlyModels, onlyCompanies }: Beginning): boolean {
  const isModel = onlyModels.length === 0 || onlyModels.includes(row.model);
  if (onlyCompanies.length === 0 || row.companyId === null) return isModel;
  return isModel && onlyCompanies.includes(row.companyId);
}

function assertSelection(selected: readonly StreamRow[], planned: readonly PlannedStream[]): void {
  if (selected.length > 0 || planned.length === 0) return;
  throw new SvcError('usage', 'No list belongs to the models and companies that were named.', {
    hint: 'Check --model against the configuration and --company against the company ids.',
  });
}

function nameOf({ generation, region, model, companyId }: StreamKey): string {
  return JSON.stringify([generation, region, model, companyId?.toString() ?? null]);
}
