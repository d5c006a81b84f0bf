/** What was asked of a fix; it crosses threads, so it is plain data. */
export interface FixSettings {
  readonly companies: KnownCompanies;
  /** Whether to put comments above uses that remain. */
  readonly isMarking: boolean;
}

export interface KnownCompanies {
  /** Whether every company has the same id in V3 and V4. */
  readonly areSame: boolean;
  /** V4 ids by `region address`, a space and the V3 id: pairs that the remap is sure of. */
  readonly v4Ids: Readonly<Record<string, string>>;
}

/** The V4 id of a company; null if it is not known. */
export function v4CompanyOf({ areSame, v4Ids }: KnownCompanies, v3Url: string, v3Id: string): string | null {
  return areSame ? v3Id : (v4Ids[`${v3Url} ${v3Id}`] ?? null);
}
