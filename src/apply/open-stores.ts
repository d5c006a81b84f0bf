import type { ApplyTarget, FileTarget, PostgresTarget, SqliteTarget } from '../config/apply-targets.js';
import type { ApplyContext, DataStore } from './context.js';
import { openPostgresStore } from './dialects/postgres.js';
import { openSqliteStore } from './dialects/sqlite.js';
import { openFileStore } from './files/file-store.js';
import { fileIdentity } from './shared-places.js';

/** A store with the names of the targets that lie in it. */
export interface OpenStore extends DataStore {
  readonly targets: readonly string[];
}

/** Tables of one database share a store, so that what ties them is seen; each file is one. */
export function openStores(context: ApplyContext, targets: readonly ApplyTarget[]): OpenStore[] {
  const files: FileTarget[] = [];
  const databases = new Map<string, SqliteTarget[]>();
  const servers = new Map<string, PostgresTarget[]>();
  for (const target of targets) {
    if (target.kind === 'sqlite') addTo(databases, fileIdentity(target.file), target);
    else if (target.kind === 'postgres')
      addTo(servers, `${target.urlEnv ?? ''}\0${target.urlFile ?? ''}\0${target.tls ?? ''}`, target);
    else files.push(target);
  }
  return [
    ...files.map((target) => named(openFileStore(context, target), [target])),
    ...[...databases.values()].map((own) => named(openSqliteStore(context, own[0]?.file ?? '', own), own)),
    ...[...servers.values()].map((own) => named(openPostgresStore(context, own), own)),
  ];
}

function addTo<T>(groups: Map<string, T[]>, key: string, item: T): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [item]);
  else group.push(item);
}

function named(store: DataStore, targets: readonly ApplyTarget[]): OpenStore {
  return { ...store, targets: targets.map(({ name }) => name) };
}

/** Closes every store, also where closing one fails. */
export async function closeStores(stores: readonly DataStore[]): Promise<void> {
  await Promise.allSettled(stores.map((store) => store.close()));
}
