import type { Config } from '../config/config.js';
import type { ExportedParts } from './exported-parts.js';
import type { ExportScope, ScopeCompany } from './scope.js';

/** One model of a company pair: how far its lists were read, and what explains missing records. */
export interface PairedModel {
  readonly v3ReadInFull: boolean;
  readonly v4ReadInFull: boolean;
  /** V4 has no such model. */
  readonly v4Absent: boolean;
  /** Whether further reading cannot change the pair of companies. */
  readonly pairIsFinal: boolean;
  readonly v3ReadUntilMs: number | null;
  readonly windowStartMs: number | null;
  readonly isWindowInferred: boolean;
  /** Whether the V4 company holds no record in any model, although all its lists were read. */
  readonly isInert: boolean;
}

/** Makes the function that describes a model of a company pair. */
export function preparePairedModel(
  config: Config,
  scope: ExportScope,
  parts: ExportedParts,
): (model: number, v3: ScopeCompany, v4: ScopeCompany) => PairedModel {
  const windowOf = prepareWindow(config.backfill, parts);
  const isInert = new Map<ScopeCompany, boolean>();
  return (model, v3, v4) => {
    const ofV3 = scope.find(3, model, v3.region, null) ?? scope.find(3, model, v3.region, v3.companyId);
    const isInV4 = scope.models[model]?.isInV4 === true;
    const ofV4 = scope.find(4, model, '', v4.companyId);
    const inert = isInert.get(v4) ?? isEmpty(scope, v4.companyId);
    isInert.set(v4, inert);
    return {
      v3ReadInFull: ofV3?.readInFull === true,
      v4ReadInFull: !isInV4 || ofV4?.readInFull === true,
      v4Absent: !isInV4 || ofV4?.isAbsent === true,
      pairIsFinal: v3.scopeFull || v3.matchedBy === 'file',
      v3ReadUntilMs: ofV3?.readUntilMs ?? null,
      ...windowOf(v4.companyId),
      isInert: inert,
    };
  };
}

/** Whether all lists of a V4 company were read in full and contain no record. */
function isEmpty({ models, find }: ExportScope, companyId: bigint): boolean {
  return models.every(({ isInV4 }, model) => {
    const list = find(4, model, '', companyId);
    return !isInV4 || (list?.readInFull === true && list.stored === 0);
  });
}

/** A V4 company needs this many dated records before the start of its window is inferred. */
const DATES_TO_INFER = 20;

/**
 * Makes the function that returns the start of a V4 company's window: the configured one, otherwise the earliest `latest_ms`
 * of its records. A configured start relative to now moves on although V4's data do not, so an earlier date in V4
 * overrides it.
 */
function prepareWindow({ sinceMs, isRelative = false }: Config['backfill'], parts: ExportedParts) {
  const found = new Map<string, { dated: number; earliestMs: number }>();
  for (const { generation, companyId, dated, earliestMs } of parts.all()) {
    if (generation === 3) continue;
    const before = found.get(companyId);
    found.set(companyId, {
      dated: (before?.dated ?? 0) + dated,
      earliestMs: Math.min(before?.earliestMs ?? earliestMs, earliestMs),
    });
  }
  return (companyId: bigint): Pick<PairedModel, 'windowStartMs' | 'isWindowInferred'> => {
    const configured = { windowStartMs: sinceMs, isWindowInferred: false };
    const { dated = 0, earliestMs = 0 } = found.get(String(companyId)) ?? {};
    if (dated < DATES_TO_INFER || (sinceMs !== null && !(isRelative && earliestMs < sinceMs)))
      return configured;
    return { windowStartMs: earliestMs, isWindowInferred: true };
  };
}
