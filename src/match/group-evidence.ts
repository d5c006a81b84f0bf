/** Ids an evidence names at most. */
export const NAMED = 5;

/** Ids as an evidence names them: the lowest ones, as text. */
export function nameIds(ids: readonly bigint[]): readonly string[] {
  const sorted = [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted.slice(0, NAMED).map(String);
}

/** The names of who shares a key in one place. */
export interface Sharing {
  readonly v3Live: readonly string[];
  readonly v4Live: readonly string[];
  readonly v4: readonly string[];
}

interface Sharer {
  readonly gen: 3 | 4;
  readonly deleted: boolean;
}

/** Names the objects of one key in one place. */
export function nameSharing<M extends Sharer>(members: readonly M[], idOf: (one: M) => bigint): Sharing {
  const v4 = members.filter(({ gen }) => gen === 4);
  return {
    v3Live: nameIds(members.filter(({ gen, deleted }) => gen === 3 && !deleted).map(idOf)),
    v4Live: nameIds(v4.filter(({ deleted }) => !deleted).map(idOf)),
    v4: nameIds(v4.map(idOf)),
  };
}

/** The live object that supersedes, or the candidates nobody could tell apart; JSON. */
export function renderSharing(
  kind: 'superseded' | 'dup_v3' | 'dup_v4',
  gen: 3 | 4,
  { v3Live, v4Live, v4 }: Sharing,
): string {
  if (kind !== 'superseded') return JSON.stringify({ v3_svc_ids: v3Live, v4_svc_ids: v4 });
  return JSON.stringify(gen === 3 ? { live_v3_svc_ids: v3Live } : { live_v4_svc_ids: v4Live });
}

/**
 * The evidence of a decided row: what evidence said before, the decision, and V4's key where it is not the row's
 * (`v4Key`; undefined: it is the same). JSON.
 */
export function renderDecided(
  evidence: string | null,
  { note, insteadOf }: { readonly note: string; readonly insteadOf: string | null },
  v4Key?: string | null,
): string {
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({
    ...before,
    ...(v4Key === undefined ? {} : { v4_platform_id: v4Key }),
    decision: { note, instead_of: insteadOf },
  });
}
