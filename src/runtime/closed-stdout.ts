import { fstatSync, readFileSync, statSync } from 'node:fs';
import { SvcError } from '../errors.js';

const STDOUT = 1;
/** `O_RDWR` in the octal flags that Linux shows. */
const READ_WRITE = /^flags:\s+\d*2$/m;

/**
 * Whether the process began without a stdout (`>&-`). Node then opens /dev/null in its place, for reading and writing,
 * which a shell's `> /dev/null` does not; false where the system does not tell.
 */
function isStdoutClosed(): boolean {
  try {
    const { rdev } = statSync('/dev/null');
    return (
      fstatSync(STDOUT).rdev === rdev && READ_WRITE.test(readFileSync(`/proc/self/fdinfo/${STDOUT}`, 'utf8'))
    );
  } catch {
    return false;
  }
}

/**
 * For data that were asked for on stdout.
 *
 * @throws SvcError `output` where the process began without a stdout
 */
export function assertStdout(): void {
  if (!isStdoutClosed()) return;
  throw new SvcError('output', 'There is no stdout to write to.', {
    hint: 'Redirect stdout to a file; where the command has --json FILE or --output FILE, name one.',
  });
}
