import { spawn } from 'node:child_process';
import { platform } from 'node:process';

/** The program that opens a file as a double click does, by platform. */
const OPENERS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
};

/** An opener that found no program ends at once; one that found one may run as long as it is open, ms. */
const OPENING_MS = 3000;

/**
 * Opens a file with the program that the user chose for it. Resolves to false if the opener could not be started, or says
 * within a few seconds that it found no program, as on a machine without a desktop.
 */
export function openFile(file: string): Promise<boolean> {
  const [program, ...args] = OPENERS[platform] ?? ['xdg-open'];
  return new Promise((done) => {
    const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' });
    const finish = (isOpened: boolean) => {
      clearTimeout(timer);
      child.unref();
      done(isOpened);
    };
    const timer = setTimeout(finish, OPENING_MS, true);
    child.once('error', () => finish(false));
    // explorer.exe always ends with 1
    child.once('exit', (code) => finish(code === 0 || platform === 'win32'));
  });
}
