import { SvcError } from '../errors.js';
import { guardDatabase } from '../store/open.js';
import { purgePayloads } from '../store/stream-contents.js';
import { countOf } from '../text/numbers.js';
import type { CommandLine, Io } from './command.js';
import { withDatabase } from './database.js';
import { printText } from './with-outputs.js';

/** `purge --payloads`: deletes record payloads from the database; keeps ids and the remap. */
export async function runPurge(given: CommandLine, io: Io): Promise<number> {
  const { database } = await given.config();
  if (!given.isSet('payloads')) {
    throw new SvcError('usage', 'Say what to purge; nothing was changed.', {
      hint: 'svc-migrate purge --payloads',
    });
  }
  const hold = { file: database, mode: 'write', command: 'purge', nowMs: io.clock.now() } as const;
  const dropped = await withDatabase(hold, async (db) =>
    io.runUninterruptible(() => guardDatabase(database, () => purgePayloads(db))),
  );
  const text = `Deleted ${countOf(dropped, 'payload')} from ${database}; ids and remap are unchanged.`;
  await printText(`${text}\nNext: svc-migrate status\n`, io);
  return 0;
}
