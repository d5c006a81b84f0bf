import { describe, expect, it } from 'vitest';
import { CutScene, describeCuts, everyMessage } from '../apply/support/cut-scene.js';
import { only } from '../apply/support/databases.js';
import { makeFolder } from '../apply/support/folder.js';

const folder = makeFolder();

describe.each(only('postgres', 'mysql'))('the connection to $product', (engine) => {
  it('is cut at every message of planning, applying and taking back: nothing is lost or done twice', {
    timeout: 3_600_000,
  }, async () => {
    const scene = await CutScene.open(engine, folder, 'cut');
    const messages = await scene.record();
    for (const cut of everyMessage(messages, 1)) await scene.live(cut);
    process.stdout.write(`${engine.product}: ${describeCuts(scene, messages)}\n`);
    expect(scene.cuts).toBeGreaterThan(2 * messages.write.length);
    await scene.close();
  });
});
