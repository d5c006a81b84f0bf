import { Command } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import type { Decision, NamedCompanyPair } from '../domain.js';
import type { RemapSummary } from '../match/build-remap.js';
import { countOf } from '../text/numbers.js';
import type { DefineCommand, Io } from './command.js';

export const remapCommand: DefineCommand = (run) =>
  new Command('remap')
    .summary('join V3 and V4 on (model, company, platform_id)')
    .description(
      'Rebuilds the whole remap from what is in the database, in one transaction. Needs no network.',
    )
    .addHelpText('after', '\nExample:\n  svc-migrate remap')
    .action((_, command) =>
      run(command, [], async (io) => {
        const config = await io.config();
        const summary = await rebuildRemap(config, await readAnswers(config), io);
        return { exitCode: 0, text: () => renderSummary(summary) };
      }),
    );

/** What people settled, with the digests of the files that say it. */
export interface Answers {
  readonly named: readonly NamedCompanyPair[];
  readonly decisions: readonly Decision[];
  readonly inputs: Readonly<Record<string, string>>;
}

/** Reads companies.csv and decisions.csv. @throws SvcError `bad_input` with every problem */
export async function readAnswers(config: Config): Promise<Answers> {
  const { digestInputFiles } = await import('../config/config.js');
  const { readCompaniesFile, readDecisionsFile } = await import('../config/user-files.js');
  // The digests come first: a file that changes meanwhile makes the remap stale.
  const inputs = digestInputFiles(config);
  return { inputs, named: await readCompaniesFile(config), decisions: await readDecisionsFile(config) };
}

/** Replaces the remap. A signal ends the process at once; the earlier remap stays. */
export async function rebuildRemap(config: Config, answers: Answers, io: Io): Promise<RemapSummary> {
  const { buildRemap } = await import('../match/build-remap.js');
  const { assertSameExport } = await import('../store/fingerprint.js');
  const { writeDatabase } = await import('./database.js');
  io.onProgress({ kind: 'stage', name: 'remap' });
  const { clock, onProgress } = io;
  return writeDatabase(config, 'write', (db) => {
    assertSameExport(db, config);
    return io.runUninterruptible(() => buildRemap({ ...answers, db, config, clock, onProgress }));
  });
}

function renderSummary({ rows, isComplete }: RemapSummary): string {
  const state = isComplete ? '' : ' Not every list was read in full.';
  return `The remap has ${countOf(rows, 'row')}.${state}\nNext: svc-migrate ${isComplete ? 'check' : 'run'}\n`;
}
