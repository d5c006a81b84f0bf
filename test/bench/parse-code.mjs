/** The floor of `scan`: every file is read and parsed, and nothing is looked at. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Language, Parser } from 'web-tree-sitter';

const [folder] = process.argv.slice(2);
await Parser.init();
const parser = new Parser();
parser.setLanguage(
  await Language.load(
    createRequire(import.meta.url).resolve('@vscode/tree-sitter-wasm/wasm/tree-sitter-typescript.wasm'),
  ),
);
for (const name of readdirSync(folder, { recursive: true }).filter((one) => one.endsWith('.ts')))
  parser.parse(readFileSync(join(folder, name), 'utf8')).delete();
