import { mkdirSync, writeFileSync } from 'node:fs';
import { listSchemas, renderCommands, renderMan, renderSchema } from './commands/reference.js';
import { readVersion } from './runtime/version.js';

/** Writes what ships in the package and follows from the code; part of the build. */
function writeAsset(path: string, text: string): void {
  const file = new URL(`../${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}

for (const one of listSchemas()) writeAsset(`schema/${one.name}.schema.json`, await renderSchema(one));
writeAsset('man/svc-migrate.1', renderMan(readVersion()));
writeAsset('dist/docs/commands.md', renderCommands());
