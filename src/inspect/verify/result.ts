import type { ContradictionList } from '../../store/conservation.js';
import type { MappedPair } from '../../store/mapped-pairs.js';
import type { Disagreement, Side } from './compare.js';

/** A pair that disagrees with the two APIs. */
export interface WrongPair {
  readonly pair: MappedPair;
  readonly code: Disagreement;
  /** What the APIs say now; null where they show nothing. */
  readonly v3: Side | null;
  readonly v4: Side | null;
}

/** Which pairs were read. */
export interface Coverage {
  readonly kind: 'all' | 'sample';
  /** Pairs in the remap, in so many models of companies. */
  readonly pairs: number;
  readonly strata: number;
  readonly seed: number | null;
  /** Pairs drawn by chance, and those added so that no stratum is left out. */
  readonly drawn: number;
  readonly extra: number;
}

/** What `verify` found. */
export interface VerifyResult {
  readonly remap: {
    readonly builtAt: string;
    readonly sha256: string;
  };
  readonly contradictions: readonly ContradictionList[];
  readonly coverage: Coverage;
  readonly agree: number;
  readonly wrong: readonly WrongPair[];
  /** Deleted in V4 when exported, and not shown any more. */
  readonly gone: number;
  /** Deleted in V4 since the export. */
  readonly deletedSince: number;
  readonly failed: number;
  readonly unread: number;
  /** Why the first read failed. */
  readonly firstError: string | null;
  /** About all pairs, from those drawn by chance; null where all were asked for or none could be read. */
  readonly rate: { readonly read: number; readonly wrong: number; readonly atMost: number } | null;
}

/** 0 all agree, 1 something disagrees, 4 not everything could be read, 5 there is no pair. */
export function judgeVerify(result: VerifyResult): 0 | 1 | 4 | 5 {
  const { contradictions, wrong, failed, unread, coverage } = result;
  if (wrong.length > 0 || contradictions.length > 0) return 1;
  if (failed + unread > 0) return 4;
  return coverage.pairs === 0 ? 5 : 0;
}
