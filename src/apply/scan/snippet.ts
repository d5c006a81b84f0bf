import type { ApplyTarget } from '../../config/apply-targets.js';
import type { Proposal } from './propose.js';
import type { Scanned } from './scan.js';

/** Targets as a configuration file would have them, from what is likely; `fileOf` shortens paths for people. */
export function buildTargets(scanned: readonly Scanned[], fileOf: (path: string) => string): object[] {
  const names = new Set<string>();
  return scanned.flatMap(({ place, proposals }) => {
    const tables = new Map<string | null, Proposal[]>();
    for (const proposal of proposals.filter(({ standing }) => standing === 'likely')) {
      const { table } = proposal.evidence.sample;
      tables.set(table, [...(tables.get(table) ?? []), proposal]);
    }
    return [...tables].map(([table, own]) => {
      const name = freeName(table ?? fileOf(nameOf(place.target)), names);
      return {
        name,
        ...placeOf(place.target, fileOf),
        ...(table === null ? {} : { table }),
        ids: own.map(idOf),
      };
    });
  });
}

function nameOf(target: ApplyTarget): string {
  return target.kind === 'postgres' ? target.name : target.file;
}

function freeName(wanted: string, names: Set<string>): string {
  let name = wanted;
  for (let at = 2; names.has(name); at += 1) name = `${wanted}-${at}`;
  names.add(name);
  return name;
}

function placeOf(target: ApplyTarget, fileOf: (path: string) => string): object {
  if (target.kind === 'postgres') {
    const url =
      target.urlEnv === undefined ? { urlFile: fileOf(target.urlFile ?? '') } : { urlEnv: target.urlEnv };
    const ledger = target.ledgerSchema === 'svc_migrate' ? {} : { ledgerSchema: target.ledgerSchema };
    const tls = target.tls === undefined ? {} : { tls: target.tls };
    return { kind: target.kind, ...url, ...tls, ...ledger };
  }
  const header = target.kind === 'csv' && !target.header ? { header: false } : {};
  return { kind: target.kind, file: fileOf(target.file), ...header };
}

function idOf({ evidence, best }: Proposal): object {
  const { column, path } = evidence.sample;
  return { column, ...(path === null ? {} : { path }), model: best?.model };
}
