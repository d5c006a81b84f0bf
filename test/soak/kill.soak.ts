import { describe, expect, it } from 'vitest';
import { killUntil, openKillScene } from '../support/kill-campaign.js';

const SCENES = 4;
const KILLS = 1000;

describe('jobs that are killed with SIGKILL end, run again, in the remap of an undisturbed one', () => {
  for (let seed = 101; seed < 101 + SCENES; seed += 1) {
    it(`at ${KILLS} random moments, service ${seed}`, async () => {
      const scene = await openKillScene(seed);
      const { jobs, kills, leftUnfinished, whileRecovering } = await killUntil(scene, KILLS, seed * 10_000);
      process.stdout.write(
        `${kills} kills in ${jobs} jobs, ${leftUnfinished} left changes beside the database, ${whileRecovering} while recovering\n`,
      );
      expect(kills).toBeGreaterThanOrEqual(KILLS);
      await scene.close();
    }, 3_600_000);
  }
});
