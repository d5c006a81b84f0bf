import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import type { Ended } from '../cli/run-cli.js';
import { campaign } from '../support/campaign.js';
import { type CutoverScene, makeCutoverScene } from '../support/cutover-scene.js';

const EXEC = ['cutover', '--yes', '--in-place', '--exec', './flip.sh', '--sample', '3'];
const STEPS = campaign({ small: [8], full: [1, 2, 3, 4, 5, 6, 7, 8, 9] });
const KILLS_OF_A_STEP = campaign({ small: 1, soak: 10 });
const LATEST_MS = 400;
const PATIENCE_MS = 3_600_000;

let sandbox: Sandbox;
let scene: CutoverScene;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scale: 200, companies: 2 });
  scene = await makeCutoverScene(sandbox);
});
afterAll(() => sandbox.close());
beforeEach(() => prepare());

function prepare(): void {
  scene.reset();
  scene.order(0, 1, 2, 3);
  scene.script('flip.sh', 'echo once >> flips');
}

/** Sends a signal so long after the step with this number was announced. */
function strike(step: number, signal: NodeJS.Signals, laterMs = 0): Promise<Ended> {
  return scene.spawn(EXEC, {
    onStart: (child) => {
      let said = '';
      let isSent = false;
      child.stdout?.on('data', (chunk) => {
        said += String(chunk);
        if (isSent || !said.includes(`${step}/9 `)) return;
        isSent = true;
        setTimeout(() => child.kill(signal), laterMs);
      });
    },
  });
}

/** Goes on as a user would, who looks whether the application is flipped where only that can tell. */
async function goOn(): Promise<void> {
  const ended = await scene.run(...EXEC, '--quiet');
  if (ended.code === 0) return;
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('The flip was started')]);
  const word = scene.flips().length > 0 ? 'done' : 'again';
  expect((await scene.run(...EXEC, '--quiet', '--flip', word)).code).toBe(0);
}

/** Sends a signal once the program of the flip says `ready`. */
function strikeProgram(signal: NodeJS.Signals): Promise<Ended> {
  return scene.spawn(EXEC, {
    onStart: (child) => {
      child.stderr?.on('data', (chunk) => {
        if (String(chunk).includes('ready')) child.kill(signal);
      });
    },
  });
}

const outcome = () => ({ ids: scene.ids(), remap: scene.remap(), flips: scene.flips().length });

describe('a cutover that is killed', () => {
  it(
    'at any step goes on to what an undisturbed one comes to, and flips once',
    async () => {
      expect((await scene.run(...EXEC, '--quiet')).code).toBe(0);
      const undisturbed = outcome();
      expect(undisturbed).toMatchObject({ ids: scene.expected(0, 1, 2, 3), flips: 1 });
      const draw = new Draw(7);
      let kills = 0;
      for (const step of STEPS) {
        for (let turn = 0; turn < KILLS_OF_A_STEP; turn += 1) {
          prepare();
          const { code } = await strike(step, 'SIGKILL', draw.below(LATEST_MS));
          if (code === 137) kills += 1;
          await goOn();
          expect({ step, turn, ...outcome() }).toEqual({ step, turn, ...undisturbed });
        }
      }
      process.stdout.write(`${kills} cutovers killed in ${STEPS.length} steps\n`);
      expect(kills).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );
});

describe('Ctrl-C', () => {
  it.each([
    ['SIGINT', 2, 130],
    ['SIGTERM', 5, 143],
  ] as const)('%s in step %i stops the cutover, which goes on there', async (signal, step, code) => {
    const ended = await strike(step, signal);
    expect([ended.code, scene.flips()]).toEqual([code, []]);
    expect(ended.stdout).toMatch(/NOT CUT OVER: .*Interrupted in\s+step \d of 9/s);
    expect(ended.stdout).toMatch(/\nNext: svc-migrate cutover --yes .*\n$/);
    await goOn();
    expect(outcome()).toMatchObject({ ids: scene.expected(0, 1, 2, 3), flips: 1 });
  });

  it('is passed on to the program, whose output goes to stderr', async () => {
    scene.script('flip.sh', 'echo ready; exec sleep 60');
    const ended = await strikeProgram('SIGINT');
    expect([ended.code, ended.stderr]).toEqual([130, expect.stringContaining('ready')]);
    expect(ended.stdout).not.toContain('ready');
    expect(ended.stdout).toMatch(/NOT KNOWN WHETHER IT IS CUT OVER/);
    const refused = await scene.run(...EXEC);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--flip done')]);
  });

  it('says which process still runs if the program does not end', async () => {
    scene.script('flip.sh', 'trap "" INT; echo ready; sleep 4');
    const ended = await strikeProgram('SIGINT');
    expect([ended.code, ended.stdout.replace(/\s+/g, ' ')]).toEqual([
      130,
      expect.stringMatching(/flip\.sh may still be running \(process \d+\)/),
    ]);
  });
});
