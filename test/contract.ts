import { join } from 'node:path';
import { Sqlite } from '../src/store/sqlite.js';
import { CONTRACT_COLUMNS, type RemapCells } from './support/remap-cells.js';

/**
 * The tests that hold the product to its contract, whatever it is made of. They know it by what users see: exit codes,
 * rows of the view `remap`, cells of users' tables, and bytes of files.
 */
export const CONTRACT = {
  truth: ['test/e2e/truth.test.ts', 'test/e2e/scenarios.test.ts'],
  'table of matching': ['test/match/join-table.test.ts'],
  'oracle of matching': ['test/match/oracle.test.ts'],
  'oracle of pairing': ['test/match/pair-companies.test.ts'],
  exports: ['test/export/properties.test.ts', 'test/export/kill.test.ts'],
  'model of apply': ['test/model/apply.test.ts'],
  'oracle of apply': ['test/apply/oracle.test.ts'],
  'kills of apply': ['test/apply/kills.test.ts'],
  'faults of the service': ['test/reliability/faults.test.ts'],
  'kills and signals': ['test/reliability/kill.test.ts', 'test/reliability/signals.test.ts'],
  'changing services': ['test/reliability/mutate.test.ts'],
  damage: ['test/reliability/damage.test.ts'],
  gate: ['test/reliability/gate.test.ts'],
  'hostile texts': ['test/reliability/hostile.test.ts'],
  secrets: ['test/reliability/secrets.test.ts'],
} as const;

/** The rows of the view `remap` in a project's database, in its order; ids are exact. */
export function readRemapRows(folder: string, database = 'svc-migrate.db'): RemapCells[] {
  return readCells<RemapCells>(join(folder, database), `select ${CONTRACT_COLUMNS.join(', ')} from remap`);
}

/** Rows of a query on a SQLite file; integers are exact. */
export function readCells<Row>(file: string, query: string): Row[] {
  const db = new Sqlite(file, { readonly: true });
  try {
    return db.defaultSafeIntegers(true).prepare<[], Row>(query).all();
  } finally {
    db.close();
  }
}
