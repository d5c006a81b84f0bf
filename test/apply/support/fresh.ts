import type { ReportLimit } from '../../../src/domain.js';

/** The limit on the exports' age, kept. */
export const FRESH: ReportLimit = {
  name: 'maxAge',
  model: null,
  allowed: 1,
  actual: 0,
  base: null,
  unit: 'hours',
  configured: true,
  pass: true,
  detail: null,
  contributors: [],
};
