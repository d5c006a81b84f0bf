import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/config/user-files.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import { findContradictions } from '../../src/store/conservation.js';
import { EVERYTHING } from '../../src/store/remap-rows.js';
import { readDecisionCounts, readIdleDecisions } from '../../src/store/remap-tables.js';
import { campaign } from '../support/campaign.js';
import { compareWithTruth } from '../support/compare-truth.js';
import { contradictTruth, settleAmbiguous } from '../support/decide-by-truth.js';
import { doWholeJob, type Job } from '../support/whole-job.js';

const SEEDS = campaign({ small: 1, full: 10 });

function remapWith({ db, config }: Job, decisions: readonly Decision[]): string {
  return buildRemap({ db, config, named: [], decisions, clock: { now: () => 0 }, onProgress: () => {} })
    .sha256;
}

function countsOf({ db }: Job): Record<string, number> {
  const counts: Record<string, number> = { taken: 0, not_needed: 0, stale: 0 };
  for (const { outcome, n } of readDecisionCounts(db, EVERYTHING, 0))
    counts[outcome] = (counts[outcome] ?? 0) + Number(n);
  return counts;
}

describe('the whole job with decisions against the ground truth', () => {
  it(`decides rows as they truly are and changes no others, and nothing for wrong ones (${SEEDS} ugly seeds)`, async () => {
    let [settled, wrong, rows] = [0, 0, 0];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const sandbox = await startSandbox({ seed, scenario: 'ugly', scale: 300 });
      const job = await doWholeJob(sandbox);
      try {
        const truth = [...sandbox.truth()];
        const undecided = remapWith(job, []);
        const { decisions, truth: decided, isConcerned } = settleAmbiguous(job.db, truth);
        remapWith(job, decisions);
        const compared = compareWithTruth(job.db, decided, isConcerned);
        const models = job.config.models.map(({ v3 }) => v3);
        expect(compared.differences.slice(0, 5).map((text) => `seed ${seed} ${text}`)).toEqual([]);
        expect(countsOf(job)).toEqual({ taken: decisions.length, not_needed: 0, stale: 0 });
        expect(findContradictions(job.db, models, 3)).toEqual([]);

        const contradictions = contradictTruth(truth);
        expect(remapWith(job, contradictions)).toBe(undecided);
        expect(countsOf(job)).toEqual({ taken: 0, not_needed: 0, stale: contradictions.length });
        const reasons = new Set(readIdleDecisions(job.db, EVERYTHING, 0, 100_000).map(({ why }) => why));
        expect(reasons).toContain('v3_paired');
        settled += decisions.length;
        wrong += contradictions.length;
        rows += compared.rows;
      } finally {
        job.close();
        await sandbox.close();
      }
    }
    process.stdout.write(
      `decided truth: ${SEEDS} seeds, ${rows} rows, ${settled} decisions taken, ${wrong} wrong ones changed nothing\n`,
    );
    expect([settled > 5 * SEEDS, wrong > 50 * SEEDS]).toEqual([true, true]);
  });
});
