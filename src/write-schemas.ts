import { mkdirSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { configSchema } from './config/settings.js';
import { reportSchema } from './report/report-schema.js';

/** Writes the JSON Schemas that ship in the package; part of the build. */
function writeSchema(name: string, schema: z.ZodType, io: 'input' | 'output'): void {
  const folder = new URL('../schema/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  writeFileSync(new URL(`${name}.schema.json`, folder), `${JSON.stringify(json, null, 2)}\n`);
}

writeSchema('config', configSchema, 'input');
writeSchema('report', reportSchema, 'output');
