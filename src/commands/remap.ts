import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { RemapSummary } from '../match/build-remap.js';
import { STATUSES } from '../reasons.js';
import { writeText } from '../runtime/write-output.js';
import { isExported, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Io } from './command.js';
import { readDatabase } from './database.js';
import type { Given } from './define-command.js';
import { rebuildRemap } from './rebuild-remap.js';
import { printText } from './with-outputs.js';

/** `remap`: joins the two exports, rebuilds the remap table, and prints its counts. */
export async function runRemap(given: Given<unknown>, io: Io): Promise<number> {
  const config = await given.config();
  await assertBothExported(config);
  const summary = await rebuildRemap(config, io);
  const { unfinishedStreams: open } = summary;
  if (open > 0) {
    const text = `Warning: ${countOf(open, 'list was', 'lists were')} not read to the end; records that depend on them have the reason scope_incomplete.`;
    await writeText(io.stderr, [`${text} → svc-migrate run\n`]);
  }
  await printText(renderRemapSummary(summary), io);
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

function renderRemapSummary(summary: RemapSummary): string {
  const lines = STATUSES.map((status) => {
    const own = Object.entries(summary.counts).filter(([name]) => name.split('/')[0] === status);
    return `  ${status.padEnd(10)} ${groupDigits(own.reduce((total, [, count]) => total + count, 0)).padStart(12)}`;
  });
  return [
    `Remap: ${groupDigits(summary.rows)} rows: each V3 id, and each V4 id without one.`,
    'Every exported record and child is accounted for.',
    ...lines,
    `sha256 ${summary.sha256}`,
    'Next: svc-migrate check',
    '',
  ].join('\n');
}
