import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OPTIONS = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2022,
  verbatimModuleSyntax: true,
};

/** A script for Node, which runs no TypeScript, in a folder of its own. */
export interface CompiledChild {
  readonly script: string;
  remove(): void;
}

/** Makes plain JavaScript of a TypeScript file, named from the repository's root, and of all it imports. */
export function compileChild(entry: string): CompiledChild {
  const folder = mkdtempSync(join(tmpdir(), 'svc-child-'));
  const done = new Set<string>();
  const compile = (file: string): void => {
    if (done.has(file) || !file.endsWith('.ts')) return;
    done.add(file);
    const source = readFileSync(file, 'utf8');
    const target = join(folder, relative(ROOT, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, ts.transpileModule(source, { compilerOptions: OPTIONS }).outputText);
    for (const { fileName } of ts.preProcessFile(source).importedFiles) {
      if (fileName.startsWith('.')) compile(join(dirname(file), fileName.replace(/\.js$/, '.ts')));
    }
  };
  compile(join(ROOT, entry));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // `bin` has the better-sqlite3 of older Nodes.
  for (const name of ['node_modules', 'bin']) symlinkSync(join(ROOT, name), join(folder, name));
  return {
    script: join(folder, entry.replace(/\.ts$/, '.js')),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
