import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import type { Case } from './cases.js';
import { changedRows, type KillPlace } from './kill-lives.js';
import { sqliteLedger } from './ledger.js';
import { createTables, dumpTables, type JournalMode, readTables, targetsOf } from './sqlite-tables.js';

/** A SQLite database for processes that are killed. */
export function createSqlitePlace(
  file: string,
  context: ApplyContext,
  cases: readonly Case[],
  journal: JournalMode,
): KillPlace {
  createTables(file, cases, journal);
  const targets = targetsOf(cases, file);
  return {
    cases,
    order: {
      place: { kind: 'sqlite', file },
      url: '',
      remap: context.remap.name,
      targets,
      policy: context.policy,
      batchRows: context.tuning.batchRows,
    },
    openStore: () => openSqliteStore(context, file, targets),
    look: () =>
      onCopy(file, async (copy) => ({
        tables: readTables(copy, cases),
        ledger: await changedRows(sqliteLedger(copy)),
      })),
    show: (row) => JSON.stringify(row),
    dump: () => onCopy(file, async (copy) => dumpTables(copy)),
    isHalfDone: async () => bytesOf(`${file}-journal`) > 0 || bytesOf(`${file}-wal`) > 0,
  };
}

/** Looks at a copy: what a killed process left behind must be found by the next one as it is. */
async function onCopy<T>(file: string, look: (copy: string) => Promise<T>): Promise<T> {
  const copy = `${file}.copy`;
  const parts = ['', '-journal', '-wal'].filter((part) => existsSync(file + part));
  for (const part of parts) copyFileSync(file + part, copy + part);
  try {
    // Rolls back.
    new Sqlite(copy).exec('BEGIN IMMEDIATE').exec('ROLLBACK').close();
    return await look(copy);
  } finally {
    for (const part of ['', '-journal', '-wal', '-shm']) rmSync(copy + part, { force: true });
  }
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
