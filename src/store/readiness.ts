import { type Config, digestInputFiles, type FileSettings } from '../config/config.js';
import { type Blocker, type Generation, isUnfinished, STREAM_STATES, shownState } from '../domain.js';
import { SvcError } from '../errors.js';
import { countOf } from '../text/numbers.js';
import { readStoredFingerprint } from './fingerprint.js';
import { readExportSeq, readMeta, readRemapInputs, writeMeta } from './meta.js';
import {
  findMissingInV3,
  type ListedModel,
  MAX_NAMED_LISTS,
  type MissingLists,
  nameOfList,
  readMissingInV4,
} from './planned-lists.js';
import { assertDigests } from './remap-digest.js';
import { EVERYTHING, type Scope } from './remap-rows.js';
import { type RemapRun, readLastRun } from './remap-tables.js';
import { iterateStreams, readStreamGroups, type StreamGroup } from './scoped-streams.js';
import type { Db } from './sqlite.js';
import { assertV4Companies, type ListRow } from './streams.js';

/** The data that decide whether a remap is complete and current. */
export interface Readiness {
  /** Model pairs in the scope. */
  readonly models: readonly ListedModel[];
  /** The lists in the scope. */
  readonly groups: readonly StreamGroup[];
  /** The first of the planned lists without a row, and their number. */
  readonly missing: Readonly<Record<Generation, MissingLists>>;
  /** The first lists that were not read to their end. */
  readonly unfinished: Readonly<Record<Generation, readonly ListRow[]>>;
  /** Whether an export of V4 was ever started. */
  readonly isV4Begun: boolean;
  readonly lastRun: RemapRun | undefined;
  readonly exportSeq: bigint;
  /** Settings whose files changed since the remap was built. */
  readonly changedInputs: readonly string[];
  /** Whether the remap was built from complete lists, which were exported with the present fingerprint. */
  readonly wasComplete: boolean;
}

/** Maximum number of unfinished lists in `Readiness`. */
export const OPEN_LISTS = 20;
/** The states of lists that were not read to their end. */
export const UNFINISHED = STREAM_STATES.filter((state) => isUnfinished({ state }));

/** Whether the export changed after the remap was built. */
export function isStale(run: RemapRun, exportSeq: bigint): boolean {
  return run.export_seq !== exportSeq;
}

/** Why the data are incomplete; empty if every planned list was read and the remap is current. */
export function findIncomplete(facts: Readiness): Blocker[] {
  return [...findOpenLists(facts), remapBlocker(facts)].filter((blocker) => blocker !== null);
}

/** Which planned lists were not read in full. */
export function findOpenLists(facts: Readiness): Blocker[] {
  const found = [
    missingStreams(facts, 'v3'),
    missingStreams(facts, 'v4'),
    unfinishedStreams(facts, 'v3'),
    unfinishedStreams(facts, 'v4'),
  ];
  return found.filter((blocker) => blocker !== null);
}

/** The data that decide whether there is anything to compare. */
export interface Comparable {
  readonly v3Records: number;
  /** Whether V4 lists any company. */
  readonly hasV4Company: boolean;
  /** Whether any V4 company, paired or not, has records. */
  readonly hasV4Records: boolean;
  /** Whether any `platform_id` of a model exists in both generations. */
  readonly hasSharedKey: boolean;
}

/** Why there is nothing to compare; at most one. */
export function findNotReady(facts: Comparable, groups: readonly StreamGroup[]): Blocker[] {
  const { v3Records, hasV4Company, hasV4Records, hasSharedKey } = facts;
  const isMisnamed = (generation: Generation) => hasNoList(groups, generation);
  if (v3Records === 0) {
    const text = isMisnamed('v3')
      ? 'V3 answered 404 to every configured list: the names of the models or the addresses are wrong.'
      : 'V3 shows no record. Check its addresses, the key and the company filters.';
    return [notReady('no_v3_records', text, 'svc-migrate doctor')];
  }
  if (!hasV4Records && isMisnamed('v4')) {
    const text =
      'V4 answered 404 to every configured list: the names of the models or the address are wrong.';
    return [notReady('no_v4_records', text, 'svc-migrate doctor')];
  }
  if (!hasV4Company) {
    const text = 'V4 lists no company. Ask the operator whether the connections were copied.';
    return [notReady('no_v4_records', text, 'svc-migrate doctor')];
  }
  if (!hasV4Records) {
    const text = 'V4 shows no record: its first sync has not started or has not finished.';
    return [notReady('no_v4_records', text, 'svc-migrate run --wait')];
  }
  if (hasSharedKey) return [];
  const text =
    'V3 and V4 share no platform_id in any model: these look like two different sets of companies. Check both addresses and keys.';
  return [notReady('no_common_key', text, 'svc-migrate doctor')];
}

/** Whether a generation was asked for lists, and answered 404 to all of them. */
export function hasNoList(
  streams: readonly Pick<StreamGroup, 'generation' | 'state'>[],
  generation: Generation,
): boolean {
  const own = streams.filter((stream) => stream.generation === generation);
  return own.length > 0 && own.every(({ state }) => state === 'absent');
}

function notReady(code: Blocker['code'], text: string, next: string): Blocker {
  return { code, outcome: 'not_ready', text, next };
}

/** Whether an export of this generation was ever started. */
export function isExported(facts: Pick<Readiness, 'groups' | 'isV4Begun'>, generation: Generation): boolean {
  const isBegun = facts.groups.some((group) => group.generation === generation);
  return isBegun || (generation === 'v4' && facts.isV4Begun);
}

function missingStreams(facts: Readiness, generation: Generation): Blocker | null {
  const { count, first } = facts.missing[generation];
  const never = !isExported(facts, generation);
  if (count === 0 && !(never && facts.models.length > 0)) return null;
  const name = generation.toUpperCase();
  return {
    code: `${generation}_not_exported`,
    outcome: 'incomplete',
    text: never
      ? `${name} was not exported yet.`
      : `${countOf(count, `${name} list`)} not started: ${firstFew(first.map(nameOfList), count)}.`,
    next: 'svc-migrate run',
  };
}

function unfinishedStreams({ groups, unfinished }: Readiness, generation: Generation): Blocker | null {
  const open = groups.filter((group) => group.generation === generation && isUnfinished(group));
  if (open.length === 0) return null;
  const names = unfinished[generation].map((stream) => {
    const state = shownState(stream.state, stream.pages > 0);
    return `${nameOfList(stream)} (${stream.endNote?.replace(/\.$/, '') ?? state})`;
  });
  const count = open.reduce((sum, { lists }) => sum + lists, 0);
  return {
    code: 'stream_unfinished',
    outcome: 'incomplete',
    text: `${countOf(count, `${generation.toUpperCase()} list`)} not read to the end: ${firstFew(names, count)}.`,
    next: areRefused(open) ? 'svc-migrate doctor' : 'svc-migrate run',
  };
}

/** Whether the service refused the requests of all lists, which another run does not change; false for none. */
export function areRefused(lists: readonly Pick<ListRow, 'endReason'>[]): boolean {
  return lists.length > 0 && lists.every(({ endReason }) => endReason === 'http_status');
}

function firstFew(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED_LISTS).join('; ');
  return count > MAX_NAMED_LISTS ? `${shown}; ${countOf(count - MAX_NAMED_LISTS, 'more', 'more')}` : shown;
}

function remapBlocker(facts: Readiness): Blocker | null {
  if (facts.lastRun === undefined) {
    const text = 'There is no remap yet.';
    return { code: 'remap_missing', outcome: 'incomplete', text, next: 'svc-migrate remap' };
  }
  const { changedInputs } = facts;
  const isOld = isStale(facts.lastRun, facts.exportSeq);
  if (!isOld && changedInputs.length === 0) return null;
  const text = isOld
    ? 'The remap is older than the exported data.'
    : `Files that the configuration names changed since the remap was built (${changedInputs.join(', ')}).`;
  return { code: 'remap_stale', outcome: 'incomplete', text, next: 'svc-migrate remap' };
}

/** The settings that determine which lists are read. */
interface ListSettings {
  readonly models: readonly ListedModel[];
  readonly v3: { readonly regions: readonly { readonly region: string }[] };
}

/** Reads from the database how complete it is, within a scope. */
export function readReadiness(db: Db, config: ListSettings & Partial<FileSettings>, scope: Scope): Readiness {
  const lastRun = readLastRun(db);
  if (lastRun === undefined) assertDigests(db, []);
  const models = config.models.filter((model) => scope.models?.includes(model.v3) ?? true);
  const groups = readStreamGroups(db, scope);
  assertV4Companies(db);
  return {
    models,
    groups,
    missing: {
      v3: findMissingInV3(groups, models, config.v3.regions),
      v4: readMissingInV4(db, models, scope),
    },
    unfinished: { v3: firstUnfinished(db, scope, 'v3'), v4: firstUnfinished(db, scope, 'v4') },
    isV4Begun: isV4Begun(db),
    lastRun,
    exportSeq: readExportSeq(db),
    changedInputs: listChangedInputs(db, config),
    wasComplete: lastRun !== undefined && wasComplete(db, lastRun),
  };
}

function firstUnfinished(db: Db, scope: Scope, generation: Generation): ListRow[] {
  return [...iterateStreams(db, scope, { generation, states: UNFINISHED, limit: OPEN_LISTS })];
}

/** An export of V4 saves its fingerprint first. */
function isV4Begun(db: Db): boolean {
  return (
    readMeta(db, 'fingerprint_v4') !== null ||
    db.prepare('SELECT 1 FROM v4_company LIMIT 1').get() !== undefined
  );
}

const COMPLETE_REMAP = 'complete_remap';

/** Saves that the remap was built from complete lists, if it was. Call it in the transaction that builds the remap. */
export function saveCompleteness(db: Db, { models, v3 }: ListSettings): void {
  const facts = readReadiness(db, { models, v3 }, EVERYTHING);
  if (facts.lastRun === undefined || findOpenLists(facts).length > 0) return;
  writeMeta(db, COMPLETE_REMAP, describeBuild(db, facts.lastRun));
}

/** Whether the remap was built from complete lists, which were exported with the present fingerprint. */
export function wasComplete(db: Db, run: RemapRun): boolean {
  return readMeta(db, COMPLETE_REMAP) === describeBuild(db, run);
}

/** Identifies a build and the fingerprint of its export. */
function describeBuild(db: Db, { id, sha256 }: RemapRun): string {
  return JSON.stringify([String(id), sha256, readStoredFingerprint(db)]);
}

/** Whether the export or a file changed since the remap was built. */
export function isRemapStale({ lastRun, exportSeq, changedInputs }: Readiness): boolean {
  return lastRun !== undefined && (isStale(lastRun, exportSeq) || changedInputs.length > 0);
}

/**
 * Refuses a remap that was built from incomplete lists or with other files. One that is only older than the export is
 * accepted.
 *
 * @throws SvcError `incomplete`; its hint names the command to run
 */
export function assertCompleteRemap(facts: Readiness): void {
  const { lastRun, exportSeq, changedInputs } = facts;
  const isOld = lastRun !== undefined && isStale(lastRun, exportSeq);
  if (isOld && facts.wasComplete && changedInputs.length === 0) return;
  refuseIncomplete(facts);
}

/**
 * Refuses a remap that is incomplete or stale.
 *
 * @throws SvcError `incomplete`; its hint names the command to run
 */
export function assertUsableRemap(db: Db, config: Config): void {
  refuseIncomplete(readReadiness(db, config, EVERYTHING));
}

/** @throws SvcError `incomplete`; its hint names the command to run */
export function refuseIncomplete(facts: Readiness): void {
  const [first, ...others] = findIncomplete(facts);
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` ${others.map((blocker) => blocker.text).join(' ')}`;
  const state = first.code === 'remap_stale' ? 'out of date' : 'incomplete';
  const anyway = facts.lastRun === undefined ? '' : ', or pass --allow-incomplete to use it as it is';
  throw new SvcError('incomplete', `The remap is ${state}. ${first.text}${more}`, {
    hint: `Run \`${first.next}\`${anyway}.`,
  });
}

/** Empty if the settings are not given. */
function listChangedInputs(db: Db, { companies, decisions }: Partial<FileSettings>): string[] {
  if (companies === undefined || decisions === undefined) return [];
  const before = readRemapInputs(db);
  const now = digestInputFiles({ companies, decisions });
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((setting) => before[setting] !== now[setting])
    .sort();
}
