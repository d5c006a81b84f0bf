import { explainRecord } from '../inspect/explain/explain-record.js';
import { renderExplanation, renderExplanationJson } from '../inspect/explain/render-explanation.js';
import { writeText } from '../runtime/write-output.js';
import { guardDatabase } from '../store/open.js';
import type { explain } from './catalogue/decide-commands.js';
import { idScopeOf } from './catalogue/options.js';
import type { GivenTo, Io } from './command.js';
import { readDatabase } from './database.js';
import { writeResult } from './with-outputs.js';

/** `explain`: shows everything known about a record or child. No network. Exits with 1 if nothing is known. */
export async function runExplain(
  { options, config: loadConfig }: GivenTo<typeof explain>,
  io: Io,
): Promise<number> {
  const config = await loadConfig();
  const { id, json: target, company: companyId = null } = options;
  const question = { ...idScopeOf(options, config), companyId, id };
  const answer = await readDatabase(config, async (db) =>
    guardDatabase(config.database, () => explainRecord(db, config, question)),
  );
  await writeText(
    io.stderr,
    answer.warnings.map((text) => `Warning: ${text}\n`),
  );
  const json = () => renderExplanationJson(answer);
  await writeResult(target, { json, text: () => renderExplanation(answer, io.width) }, io);
  return answer.stories.length === 0 ? 1 : 0;
}
