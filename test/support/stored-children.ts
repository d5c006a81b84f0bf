/** A child of a record, as tests write it. */
export interface Child {
  readonly path: string;
  readonly svcId: bigint;
  readonly platformId: string | null;
  readonly platformUniqueId: string | null;
  readonly deleted: boolean;
}

/** The children as they are stored: ordered by path and id, of those with the same path and id the last; null if none. */
export function renderChildren(children: readonly Child[]): string | null {
  if (children.length === 0) return null;
  const last = [...new Map(children.map((child) => [`${child.svcId} ${child.path}`, child])).values()];
  const lines = last.sort(byPlace).map(({ path, svcId, platformId, platformUniqueId, deleted }) => {
    return [path, svcId.toString(), platformId, platformUniqueId, deleted ? 1 : 0];
  });
  return JSON.stringify(lines);
}

function byPlace(a: Child, b: Child): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.svcId < b.svcId ? -1 : 1;
}
