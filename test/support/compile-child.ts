import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const COMPILED = new Map<string, Promise<string>>();

/**
 * Makes one JavaScript file of a TypeScript file, named from the repository's root, and of all it imports but packages;
 * zod is part of it, because that starts sooner. It goes with the temporary files of the run.
 */
export function compileChild(entry: string): Promise<string> {
  const script = COMPILED.get(entry) ?? compile(entry);
  COMPILED.set(entry, script);
  return script;
}

async function compile(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-child-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // `bin`, seen from two folders below, has the better-sqlite3 of older Nodes.
  for (const name of ['node_modules', 'bin']) symlinkSync(join(ROOT, name), join(folder, name));
  const dir = join(folder, 'src', 'child');
  await build({
    input: join(ROOT, entry),
    platform: 'node',
    transform: { target: 'node20' },
    external: (id) => /^[a-z@]/.test(id) && id !== 'zod',
    output: { dir },
    logLevel: 'warn',
  });
  return join(dir, basename(entry).replace(/\.ts$/, '.js'));
}
