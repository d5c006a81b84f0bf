import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Loads .sql, .md and .jsonc files as texts, as the build does. */
const texts: Plugin = {
  name: 'texts',
  enforce: 'pre',
  load: (id) =>
    /\.(sql|md|jsonc)$/.test(id) ? `export default ${JSON.stringify(readFileSync(id, 'utf8'))};` : null,
};

export default defineConfig({
  plugins: [texts],
  test: {
    root: ROOT,
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 3,
  },
});
