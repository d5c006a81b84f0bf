// Bundles the TypeScript sources into dist/. Texts such as schema.sql and the pages of `help` become part of the program.
import { readFileSync } from 'node:fs';
import { dts } from 'rolldown-plugin-dts';

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });
const dir = process.env.SVC_DIST ?? 'dist';
// zod is a hundred modules of its own: bundled, it loads faster.
const isExternal = (id) =>
  packages.some((name) => name !== 'zod' && (id === name || id.startsWith(`${name}/`)));

const program = {
  input: { cli: 'src/cli.ts', index: 'src/index.ts', 'write-schemas': 'src/write-schemas.ts' },
  platform: 'node',
  external: isExternal,
  moduleTypes: { '.sql': 'text', '.md': 'text', '.jsonc': 'text' },
  output: { dir, cleanDir: true, chunkFileNames: '[name].js' },
};

/** Types of the library. Builds for tests do without. */
const types = {
  input: { index: 'src/index.ts' },
  external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  plugins: [dts({ emitDtsOnly: true })],
  output: { dir: `${dir}/types` },
};

export default process.env.SVC_DIST === undefined ? [program, types] : program;
