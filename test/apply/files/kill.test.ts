import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { openFile } from '../support/file-job.js';
import { makeRemap, pairs } from '../support/remap.js';

/** `dieAt`: the call that changes files, counted from 0, before which the process ends. It makes no other afterwards. */
const life = { calls: 0, dieAt: Number.POSITIVE_INFINITY };
const TAPPED = ['openSync', 'writeSync', 'fsyncSync', 'linkSync', 'renameSync', 'rmSync'] as const;

for (const name of TAPPED) {
  const call = fs[name];
  vi.spyOn(fs, name).mockImplementation((...args: unknown[]) => {
    const isReading = name === 'openSync' && args[1] !== 'wx';
    if (life.calls >= life.dieAt) throw new Error('killed');
    if (!isReading) life.calls += 1;
    return Reflect.apply(call, fs, args);
  });
}
// Modules have imported the functions by their names.
syncBuiltinESMExports();

/** Every second call, at full size every one. */
const STRIDE = campaign({ small: 2, full: 1 });

const INPUT = 'id\n20\n30\n';
const OUTPUT = 'id\n30\n20\n';

const remap = makeRemap(
  pairs([
    [20, 30],
    [30, 20],
  ]),
);

beforeEach(revive);

function revive(): void {
  life.dieAt = Number.POSITIVE_INFINITY;
}

/** Runs `work` and ends it before one of its calls; false if it made fewer. */
async function killedAt(call: number, work: () => Promise<unknown>): Promise<boolean> {
  life.calls = 0;
  life.dieAt = call;
  const isKilled = await work().then(
    () => false,
    () => life.calls >= life.dieAt,
  );
  revive();
  return isKilled;
}

describe('a new file', () => {
  const setUp = () => {
    const { file, names, blocks, open, read, write } = openFile(remap, INPUT);
    const undo = async () => {
      for (const { run } of await open().runs()) await open().undo(run);
    };
    const expectUntouched = async () => {
      expect(read(file)).toBe(INPUT);
      // A kill in the middle of taking a lock or removing a file leaves one under a name that nothing uses again.
      const isUnused = (name: string) => /-lock$|-owner$|\.[0-9a-f]{12}\.(svc-migrate-)?tmp$/.test(name);
      expect(names().filter((name) => !isUnused(name))).toEqual(['orders.csv']);
      expect(await blocks()).toEqual([]);
    };
    const writeAndUndo = async (run: string) => {
      await write(run);
      expect(read()).toBe(OUTPUT);
      await undo();
      await expectUntouched();
    };
    return { write, undo, writeAndUndo, expectUntouched };
  };

  it('is written and undone after a kill at any call of the run, twice', async () => {
    let at = 0;
    for (let isKilled = true; isKilled; at += STRIDE) {
      const { write, writeAndUndo } = setUp();
      isKilled = await killedAt(at, () => write('run-1'));
      await killedAt(at, () => write('run-2'));
      await writeAndUndo('run-3');
    }
    expect(at).toBeGreaterThan(15);
  });

  it('is undone after a kill at any call of the run, and written then', async () => {
    for (let at = 0, isKilled = true; isKilled; at += STRIDE) {
      const { write, undo, writeAndUndo } = setUp();
      isKilled = await killedAt(at, () => write('run-1'));
      await undo();
      await writeAndUndo('run-2');
    }
  });

  it('is undone after a kill at any call of undo', async () => {
    let at = 0;
    for (let isKilled = true; isKilled; at += STRIDE) {
      const { write, undo, writeAndUndo, expectUntouched } = setUp();
      await write('run-1');
      isKilled = await killedAt(at, undo);
      await undo();
      if (!isKilled) await expectUntouched();
      await writeAndUndo('run-2');
    }
    expect(at).toBeGreaterThan(5);
  });
});
