import type { Config } from '../config/config.js';
import type { Scope } from '../store/remap.js';
import type { StreamRow } from '../store/stream-row.js';
import { driftByModel } from './drift-section.js';
import type { Folded } from './fold.js';
import { type CountByModel, type GateResult, judge } from './gate.js';
import type { DriftSection } from './section-schemas.js';

/** What is judged beside the rows. */
export interface Measured {
  readonly streams: readonly StreamRow[];
  /** Of the oldest stream, null where unknown. */
  readonly ageMs: number | null;
  readonly drift: DriftSection;
  readonly staleDecisions: CountByModel;
}

/** Judges the counts of one scope by the limits that concern it. */
export function judgeFolded(
  folded: Folded,
  { streams, ageMs, drift, staleDecisions }: Measured,
  config: Config,
  scope: Scope,
): GateResult {
  const perModel = (pick: 'rejected' | 'uniqueIdConflicts') =>
    new Map([...folded.models].map(([model, tally]) => [model, tally[pick]]));
  const counts = {
    rows: folded.rows,
    v3Rows: folded.v3Rows,
    rejected: perModel('rejected'),
    shortStreams: countShort(streams),
    uniqueIdConflicts: perModel('uniqueIdConflicts'),
    drift: driftByModel(drift),
    staleDecisions,
    ageMs,
  };
  return judge(counts, limitsInScope(config.limits, scope), config.maxAgeMs);
}

function countShort(streams: readonly StreamRow[]): Map<string, number> {
  const short = new Map<string, number>();
  for (const { state, model } of streams) {
    if (state === 'short') short.set(model, (short.get(model) ?? 0) + 1);
  }
  return short;
}

function limitsInScope(limits: Config['limits'], scope: Scope): Config['limits'] {
  const models = Object.entries(limits.models).filter(([model]) => scope.models?.includes(model) ?? true);
  return { global: limits.global, models: Object.fromEntries(models) };
}
