// Bundles the TypeScript sources into dist/. Texts such as schema.sql and the pages of `help` become part of the program.
import { readFileSync } from 'node:fs';
import { dts } from 'rolldown-plugin-dts';

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

const library = {
  ...shared,
  input: { index: 'src/index.ts', 'write-schemas': 'src/write-schemas.ts' },
  output: { dir, chunkFileNames: 'library-[name].js' },
};

/** Types of the library. Builds for tests do without. */
const types = {
  input: { index: 'src/index.ts' },
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  plugins: [dts({ emitDtsOnly: true })],
  output: { dir: `${dir}/types` },
};

export default process.env.SVC_DIST === undefined ? [program, library, types] : [program, library];
