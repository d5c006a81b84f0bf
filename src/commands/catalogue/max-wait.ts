import type { Config } from '../../config/config.js';
import { parseDuration } from '../../config/values.js';
import { SvcError } from '../../errors.js';
import type { Given, OptionSpec } from '../command.js';

export const MAX_WAIT: OptionSpec = {
  flags: '--max-wait <duration>',
  says: 'longest wait to accept when the service asks for one, such as 90s; outranks http.maxWaitMs',
};

/** As in the configuration. */
const LONGEST_MS = 86_400_000;

/**
 * The configuration with `--max-wait`.
 *
 * @throws SvcError `usage`
 */
export function withMaxWait(config: Config, given: Given): Config {
  const text = given.text('maxWait');
  if (text === undefined) return config;
  const maxWaitMs = parseDuration(text);
  if (maxWaitMs !== null && maxWaitMs <= LONGEST_MS) {
    return { ...config, http: { ...config.http, maxWaitMs } };
  }
  throw new SvcError('usage', `--max-wait takes a duration up to 24h, not "${text}".`, {
    hint: 'Write it like 90s or 15m.',
  });
}
