// The last step of the build. `dist/bundle` is what `bin` and the library run. Node.js takes longer to find and load 400
// small modules than many a command works, in each process and again in each thread.
import { readFileSync } from 'node:fs';
import { dts } from 'rolldown-plugin-dts';

const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });

const program = {
  input: [
    ...['crash', 'cli', 'program', 'index'].map((name) => `dist/${name}.js`),
    'dist/runtime/thread.js',
    // What a thread is started for.
    ...['apply-thread', 'backup', 'export-thread', 'rebuild-remap', 'scan'].map(
      (name) => `dist/commands/${name}.js`,
    ),
  ],
  platform: 'node',
  // zod is a hundred modules of its own.
  external: (id) => packages.some((name) => name !== 'zod' && (id === name || id.startsWith(`${name}/`))),
  output: { dir: 'dist/bundle', cleanDir: true, chunkFileNames: '[name].js' },
};

/** `dist/types/index.d.ts`: the declarations of the library, and of nothing else, in one file. */
const types = {
  input: 'dist/index.d.ts',
  external: /^[^./]/,
  plugins: [dts({ emitDtsOnly: true, dtsInput: true })],
  output: { dir: 'dist/types', cleanDir: true },
};

export default [program, types];
