import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    // `npm run soak` runs what takes too long for every change.
    include: [process.env['SOAK'] === undefined ? 'test/**/*.test.ts' : 'test/soak/*.soak.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most tests wait for processes and sockets: two files at once also where one core is reported free.
    maxWorkers: 2,
    // `.ci/run` counts from it.
    reporters:
      process.env['CI'] === undefined
        ? ['default']
        : ['default', ['json', { outputFile: '.vitest/results.json' }]],
  },
});
