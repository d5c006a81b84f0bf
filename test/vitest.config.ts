import { defineConfig } from 'vitest/config';
import { CAMPAIGN_SIZE } from './support/campaign.js';

/** The test files of `npm test`, `npm run test:campaign` and `npm run soak`. */
const FILES = {
  small: 'test/**/*.test.ts',
  full: 'test/**/*.campaign.test.ts',
  soak: 'test/soak/*.soak.ts',
} as const;

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: [FILES[CAMPAIGN_SIZE]],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most tests wait for processes and sockets: two files at once also where one core is reported free.
    maxWorkers: 2,
    // `.ci/run` counts from the JSON files.
    reporters:
      process.env['CI'] === undefined
        ? ['default']
        : ['default', ['json', { outputFile: `.vitest/${CAMPAIGN_SIZE}.json` }]],
  },
});
