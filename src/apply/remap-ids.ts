import type { ModelRef } from '../config/apply-targets.js';

/** What becomes of a value: its V4 id, or why there is none (`status/reason`, or `unknown/…`). */
export type Judgement =
  | { readonly v4: bigint; readonly reason: null }
  | { readonly v4: null; readonly reason: string };

/** The remap, as apply needs it. */
export interface RemapIds {
  readonly sha256: string;
  readonly builtAt: string;
  /** `region`: null if it is not known; ids that differ between regions are then ambiguous. */
  judge(ref: ModelRef, region: string | null, id: bigint): Judgement;
  /** Whether the remap has rows of a model. */
  hasModel(ref: ModelRef): boolean;
}
