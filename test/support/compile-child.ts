import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Bundles a TypeScript file, named from the repository's root, without packages other than zod. */
export async function compileChild(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-child-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // `bin`, seen from two folders below, has the better-sqlite3 of older Nodes.
  for (const name of ['node_modules', 'bin']) symlinkSync(join(ROOT, name), join(folder, name));
  const dir = join(folder, 'src', 'child');
  await build({
    input: join(ROOT, entry),
    platform: 'node',
    transform: { target: 'node20' },
    moduleTypes: { '.sql': 'text', '.md': 'text', '.jsonc': 'text' },
    external: (id) => /^[a-z@]/.test(id) && id !== 'zod',
    output: { dir },
    logLevel: 'warn',
  });
  return join(dir, basename(entry).replace(/\.ts$/, '.js'));
}
