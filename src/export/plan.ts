import type { Config } from '../config/config.js';
import type { ModelPair } from '../domain.js';
import type { PlannedStream } from '../store/streams.js';

/** Every V3 list to read: each region's models, for all companies at once or split by company. */
export function planV3(config: Config): PlannedStream[] {
  const companies = v3Companies(config);
  return config.v3.regions.flatMap(({ region }) =>
    config.models.flatMap(({ v3 }) =>
      companies.map((companyId): PlannedStream => {
        return { key: { generation: 'v3', region, model: v3, companyId }, route: v3 };
      }),
    ),
  );
}

/** Every V4 list to read: the models V4 has, for each company it listed. */
export function planV4(config: Config, companyIds: readonly bigint[]): PlannedStream[] {
  return companyIds.flatMap((companyId) =>
    config.models.filter(hasV4).map(({ v3, v4 }): PlannedStream => {
      return { key: { generation: 'v4', region: '', model: v3, companyId }, route: v4 };
    }),
  );
}

function v3Companies(config: Config): (bigint | null)[] {
  const { include, exclude } = config.companies;
  const split = config.v3.companies;
  if (split.length === 0 && include.length === 0) return [null];
  const wanted =
    split.length === 0 ? include : split.filter((id) => include.length === 0 || include.includes(id));
  return [...new Set(wanted)].filter((id) => !exclude.includes(id));
}

function hasV4(pair: ModelPair): pair is ModelPair & { readonly v4: string } {
  return pair.v4 !== null;
}
