import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CutScene, describeCuts, everyMessage } from '../apply/support/cut-scene.js';
import { startPostgres } from '../apply/support/postgres.js';

const HOUR_MS = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), 'svc-apply-cut-'));
const cluster = await startPostgres();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

it.skipIf(cluster === null)(
  'the connection to PostgreSQL is cut at every message of planning, applying and taking back: nothing is lost or done twice',
  { timeout: HOUR_MS },
  async () => {
    if (cluster === null) return;
    const scene = await CutScene.open(cluster, folder, 'cut');
    const messages = await scene.record();
    for (const cut of everyMessage(messages, 1)) await scene.live(cut);
    process.stdout.write(`PostgreSQL: ${describeCuts(scene, messages)}\n`);
    expect(scene.cuts).toBeGreaterThan(2 * messages.write.length);
    await scene.close();
  },
);
