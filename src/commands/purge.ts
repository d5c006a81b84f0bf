import { statSync } from 'node:fs';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { guardDatabase } from '../store/open.js';
import { countPayloads } from '../store/payloads.js';
import { purgePayloads } from '../store/stream-contents.js';
import { countOf, formatBytes } from '../text/numbers.js';
import { askYesNo, terminalOf } from './ask.js';
import type { purge } from './catalogue/use-commands.js';
import type { Given, GivenTo, Io } from './command.js';
import { readDatabase, withDatabase } from './database.js';
import { printText } from './with-outputs.js';

/** `purge --payloads`: deletes record payloads from the database, after a question; keeps ids and the remap. */
export async function run(given: GivenTo<typeof purge>, io: Io): Promise<number> {
  const config = await given.config();
  const { database } = config;
  if (!given.options.payloads) {
    throw new SvcError('usage', 'Say what to purge; nothing was changed.', {
      hint: 'svc-migrate purge --payloads',
    });
  }
  if (!given.options.yes) {
    const count = await readDatabase(config, async (db) => countPayloads(db));
    const question = `Delete ${countOf(count, 'payload')} from ${database} (${formatBytes(statSync(database).size)})?`;
    if (!(await confirm(question, given, io))) {
      await printText('Nothing was changed.\n', io);
      return 0;
    }
  }
  const hold = { file: database, mode: 'write', command: 'purge', nowMs: io.clock.now() } as const;
  const dropped = await withDatabase(hold, async (db) =>
    io.runUninterruptible(() => guardDatabase(database, () => purgePayloads(db))),
  );
  const text = `Deleted ${countOf(dropped, 'payload')} from ${database}; ids and remap are unchanged.`;
  await printText(`${text}\nNext: svc-migrate status\n`, io);
  return 0;
}

/** @throws SvcError `usage` where nobody can be asked, `interrupted` after Ctrl-C */
async function confirm(question: string, given: Given<unknown>, io: Io): Promise<boolean> {
  const input = terminalOf(given, io);
  if (input === null) {
    throw new SvcError('usage', `${question} Nothing was changed.`, { hint: 'Confirm it with --yes.' });
  }
  await writeText(io.stderr, ['Ids, keys and the remap stay. Drift cannot be measured afterwards.\n']);
  return askYesNo(question, input, io);
}
