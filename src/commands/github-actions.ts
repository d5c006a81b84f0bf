import { expectedError } from '../errors.js';
import { renderAnnotation } from '../report/render-ci.js';
import { writeText } from '../runtime/write-output.js';
import { addFlags } from '../text/escape.js';
import type { Io } from './command.js';

/**
 * Runs `check`, `run` or `scan`. In a job of GitHub Actions the result, or the error that ended the command, is also written as
 * annotations, on stderr.
 */
export async function withAnnotations<Result>(
  io: Io,
  render: (result: Result, flags?: string) => string,
  work: (onResult: (result: Result) => Promise<void>) => Promise<number>,
): Promise<number> {
  if (io.env['GITHUB_ACTIONS'] !== 'true') return work(async () => {});
  try {
    return await work((result) => writeText(io.stderr, [render(result, io.flags)]));
  } catch (thrown) {
    const error = expectedError(thrown);
    const message = [error?.message ?? 'This is a bug.', addFlags(error?.hint ?? '', io.flags ?? '')]
      .join(' ')
      .trim();
    await writeText(io.stderr, [renderAnnotation('error', 'No result', message)]);
    throw thrown;
  }
}
