import { expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import type { Config } from '../../src/config/config.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { INVOICES } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, newIo, type TestIo, withDatabase } from './support.js';

const COMMANDS: Readonly<Record<string, (config: Config, io: TestIo) => Promise<number>>> = {
  report: (config, io) => runNamed('report', givenOf(config), io),
  check: (config, io) => judgeRemap({ config, outputs: {} }, io),
  findings: (config, io) => runNamed('findings', givenOf(config, { limit: '0' }), io),
  explain: (config, io) => runNamed('explain', givenOf(config, {}, [INVOICES, '1']), io),
  status: (config, io) => runNamed('status', givenOf(config), io),
  'status --json -': (config, io) => runNamed('status', givenOf(config, { json: '-' }), io),
  'explain --json -': (config, io) =>
    runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, '1']), io),
};

it.each(Object.entries(COMMANDS))('%s has closed the database before it prints', (_, run) =>
  withDatabase(MIXED, {}, async ({ config }) => {
    const io = newIo({});
    let writes = 0;
    const write = io.stdout.write.bind(io.stdout);
    io.stdout.write = ((...args: Parameters<typeof write>) => {
      writes += 1;
      const other = new Sqlite(config.database, { timeout: 0 });
      // both fail while another connection reads: the first in WAL mode, the second otherwise
      other.pragma('journal_mode = DELETE');
      other.exec('BEGIN EXCLUSIVE; ROLLBACK');
      other.close();
      return write(...args);
    }) as typeof write;
    await run(config, io);
    expect(writes).toBeGreaterThan(0);
  }),
);
