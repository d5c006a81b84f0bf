import { mkdirSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { renderMan } from './commands/render-man.js';
import { configSchema } from './config/settings.js';
import { reportSchema } from './report/report-schema.js';
import { readVersion } from './version.js';

/** Writes the JSON Schemas and the manual page that ship in the package; part of the build. */
function writeAsset(path: string, text: string): void {
  const file = new URL(`../${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}

function writeSchema(name: string, schema: z.ZodType, io: 'input' | 'output'): void {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  writeAsset(`schema/${name}.schema.json`, `${JSON.stringify(json, null, 2)}\n`);
}

writeSchema('config', configSchema, 'input');
writeSchema('report', reportSchema, 'output');
writeAsset('man/svc-migrate.1', renderMan(readVersion()));
