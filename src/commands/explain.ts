import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { type ExplainQuestion, explainRecord } from '../inspect/explain/explain.js';
import { renderExplanationJson } from '../inspect/explain/render-json.js';
import { renderExplanation } from '../inspect/explain/render-text.js';
import { writeText } from '../runtime/write-output.js';
import { parseSvcId } from '../store/lookup.js';
import { guardDatabase } from '../store/open.js';
import type { Io } from './io.js';
import { assertPlace } from './narrow.js';
import { readDatabase } from './read-database.js';

export interface ExplainCommand extends Omit<ExplainQuestion, 'id'> {
  readonly config: Config;
  /** As typed. */
  readonly id: string | undefined;
  readonly json: boolean;
}

/**
 * `explain`: the whole story of a record or child. No network. 0 also where nothing is known of it: that is an
 * answer.
 *
 * @throws SvcError `usage` (model, id), `incomplete` without a remap, and as `readDatabase` does
 */
export async function runExplain({ config, json, ...asked }: ExplainCommand, io: Io): Promise<number> {
  assertPlace(config, asked);
  const question = { ...asked, id: idOf(asked) };
  return readDatabase(config, async (db) => {
    const answer = guardDatabase(config.database, () => explainRecord(db, config, question));
    await writeText(io.stdout, [json ? renderExplanationJson(answer) : renderExplanation(answer, io.width)]);
    return 0;
  });
}

function idOf({ id, platformId }: Omit<ExplainCommand, 'config' | 'json'>): bigint | null {
  if ((id === undefined) === (platformId === null)) {
    throw new SvcError('usage', 'Name either an id or --platform-id.', {
      hint: 'Such as: svc-migrate explain accounting/invoices 1001.',
    });
  }
  if (id === undefined) return null;
  const parsed = parseSvcId(id);
  if (parsed !== null) return parsed;
  throw new SvcError('usage', `"${id}" is no id.`, {
    hint: 'Ids are 64-bit integers in plain digits; for keys of the platform there is --platform-id.',
  });
}
