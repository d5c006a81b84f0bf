import { mkdirSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { configSchema } from './config/settings.js';
import { reportSchema } from './report/report-schema.js';

/** Writes the JSON Schemas that the package ships; the build runs it. */
const schemas = {
  config: z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }),
  report: z.toJSONSchema(reportSchema, { io: 'output', unrepresentable: 'any' }),
};

mkdirSync('schema', { recursive: true });
for (const [name, schema] of Object.entries(schemas)) {
  writeFileSync(`schema/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`);
}
