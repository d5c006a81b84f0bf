import type { Config } from './config.js';

/**
 * What an export depends on, flat: name → value. Names that start with `v3` or `v4` concern only that side.
 * Keys, page sizes and speeds are not part of it, nor is anything that only judges what was read.
 */
export function buildFingerprint(config: Config): Record<string, string> {
  const entries: Record<string, string> = {
    fieldPrefix: config.fieldPrefix,
    'v3.companies': listOf(sorted(config.v3.companies)),
    'v4.baseUrl': config.v4.baseUrl,
    'v4.companies': listOf(sorted(config.v4.companies)),
    'v4.companyIdField': config.v4.companyIdField ?? '(usual)',
    'v4.includeDeleted': String(config.v4.includeDeleted),
    'companies.include': listOf(sorted(config.companies.include)),
    'companies.exclude': listOf(sorted(config.companies.exclude)),
    'backfill.dateFields': listOf(config.backfill.dateFields),
  };
  for (const { region, baseUrl } of config.v3.regions) entries[`v3.regions.${region}`] = baseUrl;
  for (const model of config.models) {
    entries[`models.${model.v3}`] = `expand ${listOf(model.expand)}, children ${listOf(model.children)}`;
    entries[`v4.models.${model.v3}`] = model.v4 ?? '(absent)';
  }
  return entries;
}

function sorted(ids: readonly bigint[]): bigint[] {
  return [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

function listOf(values: readonly (string | bigint)[]): string {
  return values.length === 0 ? '(none)' : values.join(' ');
}
