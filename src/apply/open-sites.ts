import type { ApplyTarget, FileTarget, PostgresTarget, SqliteTarget } from '../config/apply-targets.js';
import type { ApplyContext, Site } from './context.js';
import { openPostgresSite } from './dialects/postgres.js';
import { openSqliteSite } from './dialects/sqlite.js';
import { openFileSite } from './files/file-site.js';
import { fileIdentity } from './shared-places.js';

/** A site with the names of the targets that lie in it. */
export interface OpenSite extends Site {
  readonly targets: readonly string[];
}

/** Tables of one database share a site, so that what ties them is seen; each file is one. */
export function openSites(context: ApplyContext, targets: readonly ApplyTarget[]): OpenSite[] {
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
    ...files.map((target) => named(openFileSite(context, target), [target])),
    ...[...databases.values()].map((own) => named(openSqliteSite(context, own[0]?.file ?? '', own), own)),
    ...[...servers.values()].map((own) => named(openPostgresSite(context, own), own)),
  ];
}

function addTo<T>(groups: Map<string, T[]>, key: string, item: T): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [item]);
  else group.push(item);
}

function named(site: Site, targets: readonly ApplyTarget[]): OpenSite {
  return { ...site, targets: targets.map(({ name }) => name) };
}

/** Closes every site, also where closing one fails. */
export async function closeSites(sites: readonly Site[]): Promise<void> {
  await Promise.allSettled(sites.map((site) => site.close()));
}
