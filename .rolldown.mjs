// Bundles the TypeScript sources into dist/. Texts such as schema.sql and the pages of `help` become part of the program.
import { cpSync, readFileSync } from 'node:fs';

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });

export default {
  input: { cli: 'src/cli.ts', index: 'src/index.ts', 'write-schemas': 'src/write-schemas.ts' },
  platform: 'node',
  // zod is a hundred modules of its own: bundled, it loads faster.
  external: (id) => packages.some((name) => name !== 'zod' && (id === name || id.startsWith(`${name}/`))),
  moduleTypes: { '.sql': 'text', '.md': 'text', '.jsonc': 'text' },
  output: { dir: process.env.SVC_DIST ?? 'dist', cleanDir: true, chunkFileNames: '[name].js' },
};
