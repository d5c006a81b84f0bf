import type { ApplyTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { targetKind } from '../stores.js';
import type { Unseen } from './column-sample.js';
import { type Proposal, prepareEvidence, propose } from './propose.js';
import { proposePatterns, proposeScopes, type ScopeColumns } from './propose-patterns.js';

/** Targets that can be read. */
export type ScanTarget = Exclude<ApplyTarget, { kind: 'warehouse' }>;

/** Where to scan: the place of a target, with one table (null: all). */
export interface ScanPlace {
  readonly target: ScanTarget;
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
    const { columns, unseen } = await targetKind(place.target).sample(context, place.target, place.table);
    const proposals = columns.flatMap((column) => [
      propose(evidenceOf(column)),
      ...proposePatterns(column, evidenceOf),
    ]);
    scanned.push({ place, proposals, scopes: proposeScopes(context.remap, columns), unseen });
  }
  return scanned;
}
