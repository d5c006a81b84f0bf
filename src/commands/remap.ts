import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { countOutcomes } from '../store/finding-rows.js';
import { isExported, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { countOf } from '../text/numbers.js';
import type { Given, Io } from './command.js';
import { readDatabase } from './database.js';
import { rebuildRemap } from './rebuild-remap.js';
import { describeOutcomes } from './status.js';
import { printText } from './with-outputs.js';

/** `remap`: joins the two exports, rebuilds the remap table, and prints its counts. */
export async function run(given: Given<unknown>, io: Io): Promise<number> {
  const config = await given.config();
  await assertBothExported(config);
  const summary = await rebuildRemap(config, io);
  const { unfinishedStreams: open } = summary;
  if (open > 0) {
    const text = `Warning: ${countOf(open, 'list was', 'lists were')} not read to the end; records that depend on them have the reason scope_incomplete.`;
    await writeText(io.stderr, [`${text} → svc-migrate run\n`]);
  }
  const outcomes = await readDatabase(config, async (db) => countOutcomes(db, null));
  await printText(renderRemapSummary(summary.sha256, describeOutcomes(outcomes)), io);
  return 0;
}

async function assertBothExported(config: Config): Promise<void> {
  const facts = await readDatabase(config, async (db) => readReadiness(db, config, EVERYTHING));
  for (const generation of ['v3', 'v4'] as const) {
    if (isExported(facts, generation)) continue;
    throw new SvcError(
      'incomplete',
      `${generation.toUpperCase()} was not exported yet: there is nothing to join.`,
      {
        hint: `Run \`svc-migrate export ${generation}\` first.`,
      },
    );
  }
}

function renderRemapSummary(sha256: string, outcomes: readonly string[]): string {
  return [
    'Every exported record and line item is accounted for:',
    ...outcomes,
    `sha256 ${sha256}`,
    'Next: svc-migrate check',
    '',
  ].join('\n');
}
