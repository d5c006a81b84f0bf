/** What a patch may take for granted; it crosses threads, so it is plain data. */
export interface FixSettings {
  readonly companies: KnownCompanies;
  /** Whether a comment marks what is not fixed. */
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
