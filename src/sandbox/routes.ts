import { MODELS } from './shapes/models.js';
import type { ModelShape } from './shapes/shape.js';

/** What a path of the service stands for. */
export type Route =
  | { readonly kind: 'v3_list'; readonly region: string; readonly shape: ModelShape }
  | { readonly kind: 'v4_companies' }
  | { readonly kind: 'v4_list'; readonly companyId: bigint; readonly shape: ModelShape }
  | {
      readonly kind: 'v4_record';
      readonly companyId: bigint;
      readonly shape: ModelShape;
      readonly svcId: bigint;
    };

/** Path of a region's V3: `/v3` where there is only one region, else `/{region}/v3`. */
export function v3Prefix(region: string, regions: readonly string[]): string {
  return regions.length === 1 ? '/v3' : `/${region}/v3`;
}

/** Finds the route of a path; null where the service has none. */
export function findRoute(path: string, regions: readonly string[]): Route | null {
  for (const region of regions) {
    const prefix = `${v3Prefix(region, regions)}/`;
    if (!path.startsWith(prefix)) continue;
    const shape = MODELS.find(({ v3 }) => v3 === path.slice(prefix.length));
    return shape === undefined ? null : { kind: 'v3_list', region, shape };
  }
  return findV4Route(path);
}

function findV4Route(path: string): Route | null {
  if (path === '/v4/core/companies') return { kind: 'v4_companies' };
  const match = /^\/v4\/core\/companies\/(\d{1,19})\/(\w+)(?:\/(\d{1,19}))?$/.exec(path);
  const shape = MODELS.find(({ v4 }) => v4 === match?.[2]);
  if (match === null || shape === undefined) return null;
  const companyId = BigInt(match[1] ?? '');
  if (match[3] === undefined) return { kind: 'v4_list', companyId, shape };
  return { kind: 'v4_record', companyId, shape, svcId: BigInt(match[3]) };
}
