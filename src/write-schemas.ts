import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { configSchema } from './config/settings.js';
import { reportSchema } from './report/report-schema.js';

/** The JSON Schemas of the package. The build runs this file, with the folder to write to. */
const SCHEMAS = {
  'config.schema.json': z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }),
  'report.schema.json': z.toJSONSchema(reportSchema, { io: 'output', unrepresentable: 'any' }),
};

const [folder = 'schema'] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const [name, schema] of Object.entries(SCHEMAS)) {
  writeFileSync(join(folder, name), `${JSON.stringify(schema, null, 2)}\n`);
}
