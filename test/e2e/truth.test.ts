import { describe, expect, it } from 'vitest';
import { reasonsOf, STATUSES } from '../../src/reasons.js';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import { campaign } from '../support/campaign.js';
import { compareWithTruth } from '../support/compare-truth.js';
import { judgeSeeds } from '../support/judge-seeds.js';
import { doWholeJob } from '../support/whole-job.js';

const SEEDS = campaign({ small: { clean: 1, ugly: 2 }, full: { clean: 10, ugly: 40 } });

/** Need streams that were not read in full, which a healthy service does not have; or decisions, see decided-truth. */
const NOT_HERE = new Set([
  'unmatched/scope_incomplete',
  'v4_only/scope_incomplete',
  'unmatched/decided_none',
  'v4_only/decided_none',
]);

describe('the whole job against the ground truth', () => {
  it(`passes ${SEEDS.clean} clean seeds without a false alarm, every record and child as it truly is`, async () => {
    const { rows, alarms, differences } = await judgeSeeds(1, SEEDS.clean);
    process.stdout.write(
      `clean: ${SEEDS.clean} seeds, ${rows} rows, ${differences.length} differences, ${alarms.length} false alarms\n`,
    );
    expect({ alarms, differences }).toEqual({ alarms: [], differences: [] });
  });

  it(`gives every record and child of ${SEEDS.ugly} ugly seeds its true outcome`, async () => {
    let rows = 0;
    const seen = new Set<string>();
    const differences: string[] = [];
    for (let seed = 1; seed <= SEEDS.ugly; seed += 1) {
      const sandbox = await startSandbox({ seed, scenario: 'ugly', scale: 300 });
      const job = await doWholeJob(sandbox);
      try {
        const compared = compareWithTruth(job.db, sandbox.truth());
        rows += compared.rows;
        for (const outcome of compared.outcomes) seen.add(outcome);
        differences.push(...compared.differences.slice(0, 5).map((text) => `seed ${seed} ${text}`));
      } finally {
        job.close();
        await sandbox.close();
      }
    }
    process.stdout.write(
      `ugly: ${SEEDS.ugly} seeds, ${rows} rows, ${differences.length} differences, ${seen.size} outcomes\n`,
    );
    expect(differences).toEqual([]);
    expect(missingOutcomes(seen)).toEqual([]);
  });
});

/** Outcomes of the contract that no seed showed: the comparison would say nothing about them. */
function missingOutcomes(seen: ReadonlySet<string>): string[] {
  const all = STATUSES.flatMap((status) => reasonsOf(status).map((reason) => `${status}/${reason}`));
  return ['matched', ...all].filter((outcome) => !seen.has(outcome) && !NOT_HERE.has(outcome));
}
