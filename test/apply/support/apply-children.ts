import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { compileChild } from '../../support/compile-child.js';
import type { Order } from './apply-child.js';

/** What became of a child: killed, or done with so many steps in so much time. */
export type Ending =
  | { readonly kind: 'killed' }
  | { readonly kind: 'done'; readonly steps: number; readonly tookMs: number };

/** Processes that apply, started ahead so that nobody waits for them. */
export interface ApplyChildren {
  /** Gives an order to a child. `killAfterMs`: killed from outside, so long after it began to work. */
  run(order: Order, killAfterMs?: number): Promise<Ending>;
  close(): Promise<void>;
}

const AHEAD = 1;

export function startApplyChildren(kind: Order['kind']): ApplyChildren {
  const compiled = compileChild('test/apply/support/apply-child.ts');
  const start = async (): Promise<ChildProcess> =>
    spawn(process.execPath, [await compiled, kind], { stdio: ['pipe', 'pipe', 'pipe'] });
  const waiting = Array.from({ length: AHEAD }, start);
  return {
    run: async (order, killAfterMs) => {
      const child = await (waiting.shift() ?? start());
      waiting.push(start());
      return carryOut(child, order, killAfterMs);
    },
    close: async () => {
      for (const child of waiting) (await child).kill('SIGKILL');
    },
  };
}

async function carryOut(child: ChildProcess, order: Order, killAfterMs: number | undefined): Promise<Ending> {
  let output = '';
  let errors = '';
  const ended = new Promise<NodeJS.Signals | number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => done(signal ?? code));
  });
  const works = new Promise<void>((done) => {
    child.stdout?.on('data', (bytes) => {
      output += String(bytes);
      if (output.includes('working\n')) done();
    });
  });
  child.stderr?.on('data', (bytes) => {
    errors += String(bytes);
  });
  child.stdin?.write(`${JSON.stringify(order)}\n`);
  if (killAfterMs !== undefined) {
    await Promise.race([works, ended]);
    await sleep(killAfterMs);
    child.kill('SIGKILL');
  }
  const how = await ended;
  // Killed from outside, it may have been done already, with its end said or not.
  if (how === 'SIGKILL' && !output.endsWith('}\n')) return { kind: 'killed' };
  if (how !== 0 && how !== 'SIGKILL') throw new Error(`the child ended with ${how}: ${errors}`);
  const line = output.trim().split('\n').at(-1) ?? '';
  const { steps, tookMs } = JSON.parse(line) as { steps: number; tookMs: number };
  return { kind: 'done', steps, tookMs };
}
