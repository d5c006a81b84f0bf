import type { Config } from '../../config/config.js';
import { parseDuration } from '../../config/values.js';
import { SvcError } from '../../errors.js';
import type { Given, Narrowing, OptionSpec } from '../command.js';
import type { WaitSettings } from '../wait-for-v4.js';

/** Taken by every command. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { flags: '--config <file>', says: 'configuration file (default: svc-migrate.config.json)' },
  { flags: '--db <file>', says: 'database file; outranks the configuration' },
  { flags: '--quiet', says: 'print no progress; warnings and errors are still printed' },
  { flags: '--verbose', says: 'print each list as it finishes, and the causes of errors' },
  { flags: '--no-color', says: 'print without color (also: NO_COLOR)' },
];

export const MODEL: OptionSpec = {
  flags: '--model <model>',
  says: 'only this model, by its V3 path; repeatable',
  repeatable: true,
};

export const COMPANY: OptionSpec = {
  flags: '--company <id>',
  says: 'only this company; repeatable',
  repeatable: true,
};

export const RESTART: OptionSpec = {
  flags: '--restart',
  says: 'read everything again instead of continuing or reading changes only',
};

export const ALLOW_INCOMPLETE: OptionSpec = {
  flags: '--allow-incomplete',
  says: 'use a remap of exports that were not read in full',
};

/** Waiting for the backfill before V4 is read. */
export const WAITING: readonly OptionSpec[] = [
  { flags: '--wait', says: 'wait until the backfill has settled before reading V4; exit 5 if it does not' },
  { flags: '--settle <duration>', says: 'how long all counts must stay the same (default: 5m)' },
  { flags: '--wait-timeout <duration>', says: 'longest time to wait (default: 2h)' },
  {
    flags: '--listen <[host:]port>',
    says: 'receive webhook events at this address; they shorten or extend the wait',
  },
];

const SETTLE_MS = 300_000;
const WAIT_TIMEOUT_MS = 7_200_000;

/**
 * The options of `WAITING`; undefined without `--wait`.
 *
 * @throws SvcError `usage`
 */
export function waitingOf(given: Given): WaitSettings | undefined {
  const names = ['settle', 'waitTimeout', 'listen'];
  if (!given.isSet('wait')) {
    const [alone] = names.filter((name) => given.text(name) !== undefined);
    if (alone === undefined) return undefined;
    throw new SvcError('usage', `--${alone === 'waitTimeout' ? 'wait-timeout' : alone} goes with --wait.`);
  }
  return {
    settleMs: durationOption(given, 'settle', 'settle') ?? SETTLE_MS,
    timeoutMs: durationOption(given, 'waitTimeout', 'wait-timeout') ?? WAIT_TIMEOUT_MS,
    listen: listenOption(given.text('listen')),
  };
}

/** @throws SvcError `usage` where an option is given that is no duration, in ms */
export function durationOption(given: Given, name: string, flag: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new SvcError('usage', `--${flag} takes a duration such as 90s, 5m or 2h, not "${text}".`);
}

function listenOption(text: string | undefined): WaitSettings['listen'] {
  if (text === undefined) return null;
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port !== '' && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new SvcError('usage', `--listen takes a port or host:port, not "${text}".`);
}

/** Where reports go; the names are those of the renderers. */
export const OUTPUTS: readonly OptionSpec[] = [
  { flags: '--json <file>', says: 'report as JSON (- is stdout)' },
  { flags: '--ndjson <file>', says: 'every finding, one JSON object per line' },
  { flags: '--markdown <file>', says: 'report for pull requests and job summaries' },
  { flags: '--html <file>', says: 'report as one HTML page that needs no other files' },
  { flags: '--junit <file>', says: 'limits and lists as JUnit test cases' },
  { flags: '--full-sync <file>', says: 'what to ask the operator for, as a letter in Markdown' },
  { flags: '--full-sync-csv <file>', says: 'the same as a table' },
];

/** Values of the output options that were given. */
export function outputsOf(given: Given): Readonly<Record<string, string>> {
  const names = OUTPUTS.map(({ flags }) => toCamelCase(flags.slice(2, flags.indexOf(' '))));
  return Object.fromEntries(
    names.flatMap((name) => {
      const target = given.text(name);
      return target === undefined ? [] : [[name, target]];
    }),
  );
}

function toCamelCase(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The configuration with `--model` and `--company`, checked.
 *
 * @throws SvcError `config`, `usage`
 */
export async function narrowed(given: Given): Promise<Narrowing & { readonly config: Config }> {
  const config = await given.config();
  const { parseNarrowing } = await import('../narrow.js');
  return { config, ...parseNarrowing(given, config) };
}

/** @throws SvcError `usage` where an option is given that is no whole number from 0 up */
export function countOption(given: Given, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined || /^\d{1,10}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new SvcError('usage', `--${name} takes a whole number, not "${text}".`);
}
