import { parseDuration } from '../../config/values.js';
import { SvcError } from '../../errors.js';
import type { WriteBaseline } from '../check.js';
import type { Given, OptionSpec } from '../command.js';

export const ACCEPTED: OptionSpec = {
  flags: '--baseline <file>',
  says: 'accept the findings that this file names',
};

export const BASELINE: readonly OptionSpec[] = [
  ACCEPTED,
  { flags: '--write-baseline <file>', says: 'write a baseline of the findings over the limits' },
  { flags: '--expires <duration>', says: 'how long the written baseline is valid (default: 30d)' },
  { flags: '--force', says: 'replace an existing baseline' },
];

const EXPIRES_MS = 30 * 86_400_000;

/**
 * The options of `BASELINE`.
 *
 * @throws SvcError `usage`
 */
export function baselineOf(given: Given): {
  readonly baselineFile: string | undefined;
  readonly writeBaseline: WriteBaseline | undefined;
} {
  const [baselineFile, file] = [given.text('baseline'), given.text('writeBaseline')];
  if (baselineFile !== undefined && file !== undefined) {
    throw new SvcError('usage', '--baseline and --write-baseline exclude each other.', {
      hint: 'Write one first, then check with it.',
    });
  }
  if (file === undefined && (given.text('expires') !== undefined || given.isSet('force'))) {
    throw new SvcError('usage', '--expires and --force go with --write-baseline.');
  }
  const expiresMs = expiresOf(given.text('expires'));
  const force = given.isSet('force');
  return { baselineFile, writeBaseline: file === undefined ? undefined : { file, expiresMs, force } };
}

function expiresOf(text: string | undefined): number {
  const ms = text === undefined ? EXPIRES_MS : parseDuration(text);
  if (ms !== null) return ms;
  throw new SvcError('usage', `--expires takes a duration such as 14d or 12h, not "${text}".`);
}
