import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { BIN } from './spawn-cli.js';

/** util-linux runs a command on a pseudo-terminal. */
export const hasPty = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true;

/** What to type once a text was drawn. */
export interface Typed {
  readonly at: RegExp;
  readonly text: string;
}

/**
 * Runs a command on a terminal of 80 columns and 24 rows, unless told, and types each text once its pattern was drawn after the one
 * before. Returns everything that was drawn, without control sequences, and the exit code.
 */
export async function onTerminal(
  command: string,
  at: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    /** Columns and rows. */
    readonly size?: readonly [number, number];
  },
  typed: readonly Typed[] = [],
): Promise<{ readonly text: string; readonly code: number | null }> {
  const { cwd, env, size = [80, 24] } = at;
  const line = `stty cols ${size[0]} rows ${size[1]}; exec ${JSON.stringify(process.execPath)} ${JSON.stringify(BIN)} ${command}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    stdio: 'pipe',
  });
  const waiting = [...typed];
  let all = '';
  let unread = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (piece: string) => {
    all += piece;
    unread += stripVTControlCharacters(piece);
    const [next] = waiting;
    const found = next?.at.exec(unread);
    if (next === undefined || found == null) return;
    waiting.shift();
    unread = unread.slice(found.index + found[0].length);
    child.stdin.write(next.text);
  });
  const [code] = await once(child, 'close');
  return { text: stripVTControlCharacters(all), code };
}
