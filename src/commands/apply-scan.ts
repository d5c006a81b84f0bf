import { dirname, relative } from 'node:path';
import type { ApplyResult } from '../apply/actions.js';
import type { ApplyContext } from '../apply/context.js';
import type { Proposal } from '../apply/scan/propose.js';
import { buildTargets, renderScan } from '../apply/scan/render-scan.js';
import { type Scanned, type ScanPlace, scan } from '../apply/scan/sample-places.js';
import { placeKey } from '../apply/stores.js';
import { type ApplyTarget, isServer } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import type { ApplyRequest } from './apply-request.js';

/** `apply --scan`: proposes targets, with evidence and a piece of configuration to paste. */
export async function proposeTargets(
  context: ApplyContext,
  { targets, table }: Pick<ApplyRequest, 'targets' | 'table'>,
  config: Config,
  width: number,
): Promise<ApplyResult> {
  const scanned = await scan(context, listPlaces(targets, table));
  const proposed = buildTargets(scanned, (path) => nearPath(path, dirname(config.file)));
  const isSome = proposed.length > 0;
  return {
    exitCode: 0,
    text: renderScan(scanned, proposed, width),
    json: { action: 'scan', places: scanned.map(describePlace), apply: { targets: proposed } },
    next: isSome
      ? 'paste the targets that are right, then svc-migrate apply'
      : 'name the columns yourself: svc-migrate apply --help',
    plan: null,
  };
}

function listPlaces(targets: readonly ApplyTarget[], table: string | null): ScanPlace[] {
  const places = new Map<string, ScanPlace>();
  for (const target of targets) {
    if (target.kind === 'warehouse') continue;
    const key = placeKey(target);
    if (!places.has(key)) places.set(key, { target, table });
  }
  return [...places.values()];
}

/** A path relative to the configuration, for files below its folder. */
function nearPath(path: string, folder: string): string {
  const near = relative(folder, path);
  return near === '' || near.startsWith('..') ? path : near;
}

function describePlace({ place, proposals, unseen }: Scanned): object {
  const { target } = place;
  const where = isServer(target) ? { urlEnv: target.urlEnv, urlFile: target.urlFile } : { file: target.file };
  return { kind: target.kind, ...where, columns: proposals.map(describeProposal), unseen };
}

function describeProposal({ evidence, standing, best, isNamed, pattern }: Proposal): object {
  const { sample, seen, overlaps } = evidence;
  const { table, column, path, isWhole } = sample;
  return {
    table,
    column,
    path,
    pattern,
    standing,
    model: best?.model ?? null,
    isNamed,
    seen,
    isWhole,
    overlaps,
  };
}
