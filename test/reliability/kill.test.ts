import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignSize } from '../support/campaign.js';
import { type KillScene, killUntil, openKillScene } from '../support/kill-harness.js';

const KILLS = campaignSize({ small: 2, full: 50, soak: 1000 });
const SERVICES = campaignSize({ small: [31], soak: [101, 102, 103, 104] });
/** Random moments seldom miss a transaction, but a few may. */
const LEAST = campaignSize({ small: 0, full: 1 });
const PATIENCE_MS = campaignSize({ small: 600_000, soak: 3_600_000 });

const AFTER_A_PAGE = { kind: 'request', laterMs: 0, answerMs: 150 } as const;

describe.each(SERVICES)(
  'a job of service %i that is killed with SIGKILL ends, run again, in the remap of an undisturbed one',
  (seed) => {
    let scene: KillScene;
    beforeAll(async () => {
      scene = await openKillScene(seed);
    });
    afterAll(() => scene.close());

    it(
      'at every committed page',
      async () => {
        const job = await scene.startJob();
        // Answers come so slowly that a page is committed before the next one arrives. Each process saves one page and
        // dies as it asks for the second next one; V4 is asked for its companies first.
        while (await job.kill(['export', 'v3'], { ...AFTER_A_PAGE, number: 3 }));
        while (await job.kill(['export', 'v4'], { ...AFTER_A_PAGE, number: 4 }));
        await job.finish(['remap']);
        expect(job.contents()).toBe(scene.truth);
        process.stdout.write(
          `killed at ${job.tally.kills} page boundaries, ${scene.requests} requests a job\n`,
        );
        expect(job.tally.kills).toBeGreaterThanOrEqual(scene.requests / 4);
        await job.close();
      },
      PATIENCE_MS,
    );

    it(
      `at ${KILLS} random moments of export, remap and report, also while it recovers`,
      async () => {
        const { jobs, kills, leftUnfinished, whileRecovering } = await killUntil(scene, KILLS, seed * 10_000);
        process.stdout.write(
          `${kills} kills in ${jobs} jobs, ${leftUnfinished} left a journal, ${whileRecovering} while recovering from one\n`,
        );
        expect(kills).toBeGreaterThanOrEqual(KILLS);
        expect(leftUnfinished).toBeGreaterThanOrEqual(LEAST);
        expect(whileRecovering).toBeGreaterThanOrEqual(LEAST);
      },
      PATIENCE_MS,
    );
  },
);
