import { STREAM_STATES } from '../domain.js';
import { explainRecord } from '../inspect/explain/explain-record.js';
import { renderExplanation, renderExplanationJson } from '../inspect/explain/story.js';
import { findingSchema, id } from '../report/report-schema.js';
import { writeText } from '../runtime/write-output.js';
import { guardDatabase } from '../store/open.js';
import { addFlags } from '../text/escape.js';
import * as z from '../zod.js';
import { idScopeOf } from './catalogue/options.js';
import type { explain } from './catalogue/use-commands.js';
import type { GivenTo, Io } from './command.js';
import { readDatabase } from './database.js';
import { writeResult } from './with-outputs.js';

/** The JSON of `explain`. */
export const schema = z.strictObject({
  schemaVersion: z.literal(1),
  model: z.string(),
  id,
  remapBuiltAt: z.string(),
  stale: z.boolean(),
  warnings: z.array(z.string()),
  more: z.boolean().describe('Whether there are more rows than these.'),
  unknown: z.array(z.string()),
  stories: z.array(
    z.looseObject({
      takenFor: z.array(z.enum(['v3', 'v4'])).describe('How the given id was understood.'),
      row: findingSchema,
      title: z.string(),
      sentence: z.string(),
      because: z.array(z.string()),
      next: z.string(),
      lists: z.array(
        z.looseObject({ generation: z.enum(['v3', 'v4']), state: z.enum(STREAM_STATES).nullable() }),
      ),
    }),
  ),
});

/** `explain`: shows everything known about a record or child. No network. Exits with 1 if nothing is known. */
export async function run({ options, config: loadConfig }: GivenTo<typeof explain>, io: Io): Promise<number> {
  const config = await loadConfig();
  const { id, json: target, company: companyId = null } = options;
  const question = { ...idScopeOf(options, config), companyId, id };
  const answer = await readDatabase(config, async (db) =>
    guardDatabase(config.database, () => explainRecord(db, config, question)),
  );
  await writeText(
    io.stderr,
    answer.warnings.map((text) => `Warning: ${addFlags(text, io.flags ?? '')}\n`),
  );
  const json = () => renderExplanationJson(answer);
  await writeResult(target, { json, text: () => renderExplanation(answer, io.width) }, io);
  return answer.stories.length === 0 ? 1 : 0;
}
