// Bundles the TypeScript sources into dist/. Texts such as schema.sql and the pages of `help` become part of the program.
import { readFileSync } from 'node:fs';

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
/** Loaded by most commands: bundled, they take half the time to load. */
const bundled = [
  'zod',
  'commander',
  '@commander-js/extra-typings',
  'jsonc-parser',
  'string-width',
  'wrap-ansi',
];
const external = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
  (name) => !bundled.includes(name),
);
const dir = process.env.SVC_DIST ?? 'dist';

const shared = {
  platform: 'node',
  external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
  resolve: { mainFields: ['module', 'main'] },
  moduleTypes: { '.sql': 'text', '.md': 'text', '.jsonc': 'text' },
  checks: { ineffectiveDynamicImport: false },
};

/** What every command line needs is one file: each further file takes a millisecond to load. */
const program = {
  ...shared,
  input: { cli: 'src/cli.ts' },
  output: {
    dir,
    cleanDir: true,
    comments: false,
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] },
  },
};

const schemas = {
  ...shared,
  input: { 'write-schemas': 'src/write-schemas.ts' },
  output: { dir, chunkFileNames: 'schemas-[name].js' },
};

export default [program, schemas];
