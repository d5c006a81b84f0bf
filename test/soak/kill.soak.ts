import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KillScene, killAtRandom, openKillScene, type Tally } from '../support/kill-campaign.js';

const KILLS = 300;

let scene: KillScene;
beforeAll(async () => {
  scene = await openKillScene(31);
});
afterAll(() => scene.close());

describe('a job that is killed with SIGKILL ends, run again, in the remap of an undisturbed one', () => {
  it('at every committed page', async () => {
    const job = await scene.startJob();
    // Each process saves one page and dies as it asks for the one after.
    while (await job.kill(['run'], { kind: 'request', number: 2, laterMs: 0 }));
    expect(job.contents()).toBe(scene.truth);
    process.stdout.write(`killed at ${job.tally.kills} page boundaries of ${scene.requests} requests\n`);
    expect(job.tally.kills).toBeGreaterThanOrEqual(scene.requests - 3);
    await job.close();
  }, 600_000);

  it(`at ${KILLS} random moments of export, remap and report, also while it recovers`, async () => {
    const tallies: Tally[] = [];
    const sum = (name: keyof Tally): number => tallies.reduce((total, tally) => total + tally[name], 0);
    const limit = pLimit(2);
    for (let seed = 1; sum('kills') < KILLS; seed += 2) {
      tallies.push(...(await Promise.all([seed, seed + 1].map((one) => limit(killAtRandom, scene, one)))));
    }
    process.stdout.write(
      `${sum('kills')} kills in ${tallies.length} jobs, ${sum('withinTransactions')} within a transaction, ${sum('whileRecovering')} while recovering from one\n`,
    );
    expect(sum('withinTransactions')).toBeGreaterThan(0);
    expect(sum('whileRecovering')).toBeGreaterThan(0);
  }, 600_000);
});
