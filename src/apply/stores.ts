import { lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ApplyTarget, isServer, isTextFile } from '../config/apply-targets.js';
import { groupBy } from '../text/rows.js';
import type { ApplyContext, DataStore, LedgerRun, SurveyOptions } from './context.js';
import { openSqliteStore } from './dialects/sqlite-dialect.js';
import { openFileStore } from './files/file-store.js';
import { blocks, type Note, PLAN_VERSION, type Plan, type TargetPlan } from './plan.js';

/** A store, and the names of its targets. */
export interface OpenStore extends DataStore {
  readonly targets: readonly string[];
}

/** Opens one store for each database, whose tables may depend on each other, and one for each file. */
export async function openStores(
  context: ApplyContext,
  targets: readonly ApplyTarget[],
): Promise<OpenStore[]> {
  const places = groupBy(targets.entries(), ([at, target]) =>
    isTextFile(target) ? String(at) : placeKey(target),
  );
  const stores: OpenStore[] = [];
  for (const place of places.values()) {
    const own = place.map(([, target]) => target);
    stores.push({ ...(await openStore(context, own)), targets: own.map(({ name }) => name) });
  }
  return stores;
}

/** The runs in the ledgers of all stores. */
export async function listRuns(stores: readonly DataStore[]): Promise<LedgerRun[]> {
  const runs: LedgerRun[] = [];
  for (const store of stores) runs.push(...(await store.runs()));
  return runs;
}

/** Closes every store, even if closing one fails. */
export async function closeStores(stores: readonly DataStore[]): Promise<void> {
  await Promise.allSettled(stores.map((store) => store.close()));
}

/**
 * Plans every target without changing anything. The plan keeps the order of `targets`.
 *
 * @throws SvcError `bad_input`, `config`, `locked`, `interrupted`
 */
export async function survey(
  { onProgress, tool, remapVersion, policy }: ApplyContext,
  stores: readonly OpenStore[],
  targets: readonly Pick<ApplyTarget, 'name'>[],
  options: SurveyOptions = {},
): Promise<Plan> {
  const found: TargetPlan[] = [];
  for (const store of stores) {
    const name = `looking at ${store.targets.join(', ')}`;
    onProgress({ kind: 'step', name, done: 0, total: null });
    found.push(...(await store.survey(options)));
  }
  const order = targets.map(({ name }) => name);
  found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return {
    planVersion: PLAN_VERSION,
    tool,
    remap: { sha256: remapVersion.sha256, builtAt: remapVersion.builtAt },
    policy,
    targets: refuseSharedPlaces(found, stores),
  };
}

interface Place {
  readonly target: TargetPlan;
  readonly input: string;
  /** Where the result is written. */
  readonly output: string;
}

/**
 * Blocks targets of different stores that write the same file or table, or where one writes what another reads. Each
 * store compares its own targets.
 */
function refuseSharedPlaces(plans: readonly TargetPlan[], stores: readonly OpenStore[]): TargetPlan[] {
  const places = plans.map((target): Place => {
    const { definition, output, place } = target;
    const input = 'file' in definition ? fileIdentity(definition.file) : place;
    return { target, input, output: output === null ? input : fileIdentity(output) };
  });
  return places.map((one, at) => {
    const own = stores.find(({ targets }) => targets.includes(one.target.name));
    const others = places.slice(0, at).filter(({ target }) => own?.targets.includes(target.name) !== true);
    const notes = others.flatMap((other) => sharedNotes(one, other));
    return notes.length === 0 ? one.target : { ...one.target, notes: [...one.target.notes, ...notes] };
  });
}

function sharedNotes(one: Place, other: Place): Note[] {
  const { name } = other.target;
  if (one.input === other.input)
    return [blocks('same_file', `Target ${name} names the same file or table: name all its columns there.`)];
  if (one.output === other.output)
    return [blocks('same_output', `${one.target.output} is the output of target ${name} too: name another.`)];
  if (one.output === other.input || one.input === other.output)
    return [
      blocks(
        'same_output',
        `The output of this target or of target ${name} is the input of the other: name another output.`,
      ),
    ];
  return [];
}

/**
 * Opens the targets of one place; of a file there is only one. Drivers of servers are loaded only when they are needed: loading one
 * takes as long as a small run.
 */
async function openStore(context: ApplyContext, targets: readonly ApplyTarget[]): Promise<DataStore> {
  const [first] = targets;
  switch (first?.kind) {
    case undefined:
      throw new Error('a store without targets');
    case 'csv':
    case 'ndjson':
      return openFileStore(context, first);
    case 'sqlite': {
      const own = targets.filter((one) => one.kind === 'sqlite');
      return openSqliteStore(context, first.file, own);
    }
    case 'postgres': {
      const own = targets.filter((one) => one.kind === 'postgres');
      return (await import('./dialects/postgres-dialect.js')).openPostgresStore(context, own);
    }
    case 'mysql': {
      const own = targets.filter((one) => one.kind === 'mysql');
      return (await import('./dialects/mysql-dialect.js')).openMysqlStore(context, own);
    }
  }
}

/** Identifies the place of a target: the same text for the same database or file. */
export function placeKey(target: ApplyTarget): string {
  return isServer(target) ? [target.kind, target.urlEnv, target.tls].join('\0') : fileIdentity(target.file);
}

/** Identifies a file independently of its spelling: by device and inode or, if it does not exist, by its real path. */
function fileIdentity(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats !== undefined) return `${stats.dev}:${stats.ino}`;
  const isLink = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  const folder = dirname(file);
  if (isLink || statSync(folder, { throwIfNoEntry: false }) === undefined) return file;
  return join(realpathSync(folder), basename(file));
}
