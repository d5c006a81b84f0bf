import type { Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';

/** The smallest configuration: everything else is default. */
export const MINIMAL = {
  v3: { regions: { default: { baseUrl: 'https://v3.example/v3' } } },
  v4: { baseUrl: 'https://v4.example' },
};

export const NOW_MS = Date.UTC(2026, 10, 20);

export function sampleConfig(more: Readonly<Record<string, unknown>> = {}): Config {
  return parseConfigValue({ ...MINIMAL, ...more }, '/project/svc-migrate.config.json', NOW_MS);
}
