import { spawn } from 'node:child_process';
import { platform } from 'node:process';

/** The program that opens a file as a double click does, by platform. */
const OPENERS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
};

/** Opens a file with the program that the user chose for it; resolves to whether one could be started. */
export function openFile(file: string): Promise<boolean> {
  const [program, ...args] = OPENERS[platform] ?? ['xdg-open'];
  return new Promise((done) => {
    const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' });
    child.once('error', () => done(false));
    child.once('spawn', () => {
      child.unref();
      done(true);
    });
  });
}
