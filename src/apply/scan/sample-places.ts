import type { ApplyTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { closeStores, openStores } from '../stores.js';
import type { PlaceSample, Unseen } from './column-sample.js';
import { type Proposal, prepareEvidence, propose } from './propose.js';
import { proposePatterns, proposeScopes, type ScopeColumns } from './propose-patterns.js';

/** Where to scan: the place of a target, with one table (null: all). */
export interface ScanPlace {
  readonly target: ApplyTarget;
  readonly table: string | null;
}

export interface Scanned {
  readonly place: ScanPlace;
  readonly proposals: readonly Proposal[];
  readonly scopes: readonly ScopeColumns[];
  readonly unseen: readonly Unseen[];
}

/**
 * Finds columns and JSON paths whose values are ids of the service; changes nothing.
 *
 * @throws SvcError `bad_input`, `config`, `locked`, `interrupted`
 */
export async function scan(context: ApplyContext, places: readonly ScanPlace[]): Promise<Scanned[]> {
  const evidenceOf = prepareEvidence(context.remap, context.ids.refs());
  const scanned: Scanned[] = [];
  for (const place of places) {
    const { columns, unseen } = await samplePlace(context, place);
    const proposals = columns.flatMap((column) => [
      propose(evidenceOf(column)),
      ...proposePatterns(column, evidenceOf),
    ]);
    scanned.push({ place, proposals, scopes: proposeScopes(context.remap, columns), unseen });
  }
  return scanned;
}

async function samplePlace(context: ApplyContext, { target, table }: ScanPlace): Promise<PlaceSample> {
  const stores = await openStores(context, [target]);
  try {
    const sample = stores[0]?.sample;
    if (sample === undefined) throw new Error(`${target.name} cannot be scanned`);
    return await sample(table);
  } finally {
    await closeStores(stores);
  }
}
