import type { Config } from '../config/config.js';
import { type Clock, type Generation, isUnfinished } from '../domain.js';
import { SvcError } from '../errors.js';
import { noteDerivation } from '../store/derivation.js';
import { assertSameExport, saveFingerprint } from '../store/fingerprint.js';
import { dropStream } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import {
  COMPANY_LIST_PLAN,
  ensureStreams,
  isCompanyList,
  listStreams,
  type PlannedStream,
  readCompanyList,
  type StreamRow,
  streamName,
} from '../store/streams.js';
import { must } from '../text/at.js';
import type { Saver } from './save-page.js';
import { beginReading, type SweepOverlap, startReading } from './walk.js';

export const SWEEP_OVERLAP_MS: Readonly<Record<Generation, SweepOverlap>> = { v3: 15 * 60_000, v4: null };

export interface ExportSelection {
  readonly db: Db;
  readonly config: Config;
  readonly generation: Generation;
  readonly clock: Clock;
  readonly restart: boolean;
  readonly models: readonly string[];
  /** Empty: all. Lists that hold all companies are always read. */
  readonly companies: readonly bigint[];
  /** Whether no list may belong to models and companies. */
  readonly mayBeEmpty: boolean;
  /** V4's counts after its backfill had settled, by `streamName`; null: not watched. */
  readonly settledCounts: ReadonlyMap<string, number | null> | null;
}

export interface Begun {
  readonly rows: readonly StreamRow[];
  /** Lists of this export: those to read now, and those that the export it continues has read. */
  readonly selected: readonly StreamRow[];
}

export function planV3({ v3, models, companies: { include, exclude } }: Config): PlannedStream[] {
  const split = v3.companies.filter((id) => include.length === 0 || include.includes(id));
  const named = [...new Set(v3.companies.length > 0 ? split : include)].filter((id) => !exclude.includes(id));
  const companies = v3.companies.length > 0 || include.length > 0 ? named : [null];
  return v3.regions.flatMap(({ region }) =>
    models.flatMap(({ v3: model }) =>
      companies.map((companyId): PlannedStream => {
        return { key: { generation: 'v3', region, model, companyId }, route: model };
      }),
    ),
  );
}

export function planV4({ models }: Config, companyIds: readonly bigint[]): PlannedStream[] {
  return companyIds.flatMap((companyId) =>
    models.flatMap(({ v3, v4 }): PlannedStream[] =>
      v4 === null ? [] : [{ key: { generation: 'v4', region: '', model: v3, companyId }, route: v4 }],
    ),
  );
}

/** Returns whether it continues an unfinished export. Call it inside a transaction. @throws SvcError `other_configuration` */
export function openExport(selection: ExportSelection, saver: Saver): boolean {
  const { db, config, generation, restart, clock } = selection;
  assertSameExport(db, config, restart ? generation : null);
  const isOther = saveFingerprint(db, config, generation);
  if (!restart && !isOther) return isUnderway(selection);
  for (const row of listStreams(db, generation)) {
    const isWanted = isOther || isCompanyList(row) || isSelected(row, selection);
    if (isWanted && row.startedAt !== null) saver.saveStep(row, startReading(row, clock.now()));
  }
  return false;
}

/** Begins the planned lists and deletes others. Call it inside a transaction. @throws SvcError `usage` if there is none */
export function beginLists(
  selection: ExportSelection,
  planned: readonly PlannedStream[],
  continued: boolean,
  saver: Saver,
): Begun {
  const { db, config, generation, mayBeEmpty } = selection;
  ensureStreams(db, planned);
  const names = new Set(planned.map(({ key }) => streamName(key)));
  const all = listStreams(db, generation).filter((row) => !isCompanyList(row));
  const selected = all.filter((row) => names.has(streamName(row)) && isSelected(row, selection));
  if (selected.length === 0 && planned.length > 0 && !mayBeEmpty) throw noListNamed();
  for (const row of all) if (!names.has(streamName(row))) dropStream(db, row.id);
  const begun = selected.map((row) => beginList(row, selection, continued, saver));
  const rows = begun.filter(({ state }) => state === 'running');
  noteDerivation(db, config, rows);
  return { rows, selected };
}

export function beginCompanyList(selection: ExportSelection, continued: boolean, saver: Saver): StreamRow {
  const { db } = selection;
  ensureStreams(db, [COMPANY_LIST_PLAN]);
  const row = must(readCompanyList(db), 'list of companies');
  return beginList(row, selection, continued, saver);
}

function beginList(row: StreamRow, selection: ExportSelection, continued: boolean, saver: Saver): StreamRow {
  const moved = hasMoved(row, selection);
  if (continued && isFresh(row, selection) && !moved) return row;
  const { generation, clock } = selection;
  const step = beginReading(row, moved, SWEEP_OVERLAP_MS[generation], clock.now());
  return saver.saveStep(row, step).row;
}

/** Whether an export has begun its lists, which it does after V4's list of companies, and not read them all. */
function isUnderway(selection: ExportSelection): boolean {
  return listStreams(selection.db, selection.generation).some(
    (row) => isUnfinished(row) && !isCompanyList(row) && isSelected(row, selection),
  );
}

/** Whether a list was read, and is recent enough for the report that follows: half of the maximum age. */
function isFresh(row: StreamRow, { clock, config }: ExportSelection): boolean {
  const { readAt } = row;
  return !isUnfinished(row) && readAt !== null && clock.now() - Date.parse(readAt) < config.maxAgeMs / 2;
}

function hasMoved(row: StreamRow, { settledCounts }: ExportSelection): boolean {
  if (settledCounts === null || isCompanyList(row)) return false;
  return settledCounts.get(streamName(row)) !== row.totalCountLast;
}

function isSelected({ model, companyId }: StreamRow, { models, companies }: ExportSelection): boolean {
  const isModel = models.length === 0 || models.includes(model);
  return isModel && (companies.length === 0 || companyId === null || companies.includes(companyId));
}

function noListNamed(): SvcError {
  return new SvcError('usage', 'No list belongs to the models and companies that were named.', {
    hint: 'Check --model against the configuration and --company against the company ids.',
  });
}
