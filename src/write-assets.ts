import { mkdirSync, writeFileSync } from 'node:fs';
import { buildJsonSchemas } from './commands/output-schemas.js';
import { renderCommands, renderMan } from './commands/reference.js';
import { readVersion } from './runtime/version.js';

/** Writes what ships in the package and follows from the code; part of the build. */
function writeAsset(path: string, text: string): void {
  const file = new URL(`../${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}

for (const [name, schema] of buildJsonSchemas()) {
  writeAsset(`schema/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
writeAsset('man/svc-migrate.1', renderMan(readVersion()));
writeAsset('dist/docs/commands.md', renderCommands());
