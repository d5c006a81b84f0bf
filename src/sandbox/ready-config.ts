import { regionsOf } from './connections.js';
import type { Json, JsonObject } from './json.js';
import { MODELS } from './shapes/models.js';
import type { World } from './world.js';

/**
 * A configuration for `svc-migrate` that fits the service: its addresses, all models, the start of the backfill
 * window and, in the clean scenario, limits that its findings stay within.
 */
export function buildConfig(world: World, v3: Readonly<Record<string, string>>, v4: string): JsonObject {
  const speed = { concurrency: 8, requestsPerSecond: 500 };
  const regions: Record<string, Json> = {};
  for (const region of regionsOf(world.scenario)) {
    regions[region] = { baseUrl: v3[region] ?? '', apiKeyEnv: 'SVC_MIGRATE_V3_API_KEY' };
  }
  return {
    v3: { regions, ...speed },
    v4: { baseUrl: v4, apiKeyEnv: 'SVC_MIGRATE_V4_API_KEY', ...speed },
    models: MODELS.map((shape) => ({
      v3: shape.v3,
      v4: shape.v4,
      expand: shape.lineItems === 'none' ? [] : ['line_items'],
      children: shape.lineItems === 'ids' ? ['line_items'] : [],
    })),
    companies: { match: 'auto' },
    backfill: {
      since: new Date(world.times.sinceMs).toISOString(),
      dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
    },
    ...(world.scenario === 'clean'
      ? { limits: { outside_backfill_window: '100%', connection_inert: '100%' } }
      : {}),
  };
}
