// The last step of the build: `dist/bundle`, what `bin` and the library run. Node.js takes longer to find and load 400
// small modules than many a command works, in each process and again in each thread.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });

export default {
  input: [
    ...['crash', 'cli', 'program', 'index'].map((name) => `dist/${name}.js`),
    ...['apply', 'check-file', 'export', 'remap', 'scan'].map((name) => `dist/commands/${name}-thread.js`),
    // Apart from the threads: one that is used again, as tests do, runs only its first file anew.
    ...[
      'commands/apply-work',
      'commands/undo-work',
      'match/build-remap',
      'scan/scan-files',
      'scan/fix/fix-files',
    ].map((name) => `dist/${name}.js`),
  ],
  platform: 'node',
  // These two are a hundred modules each.
  resolve: { alias: { undici: fileURLToPath(new URL('.undici.cjs', import.meta.url)) } },
  external: (id) =>
    packages.some((name) => !['zod', 'undici'].includes(name) && (id === name || id.startsWith(`${name}/`))),
  output: { dir: 'dist/bundle', cleanDir: true, chunkFileNames: '[name].js' },
};
