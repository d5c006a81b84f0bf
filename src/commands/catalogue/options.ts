import type { Config } from '../../config/config.js';
import { SvcError } from '../../errors.js';
import type { Given, Narrowing, OptionSpec } from '../command.js';

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
  says: 'read everything anew instead of continuing or topping up',
};

export const ALLOW_INCOMPLETE: OptionSpec = {
  flags: '--allow-incomplete',
  says: 'answer from a remap of exports that were not read in full',
};

/** Where reports go; the names are those of the renderers. */
export const OUTPUTS: readonly OptionSpec[] = [
  { flags: '--json <file>', says: 'report as JSON (- is stdout)' },
  { flags: '--ndjson <file>', says: 'every finding, one JSON object a line (- is stdout)' },
];

/** Values of the output options that were given. */
export function outputsOf(given: Given): Readonly<Record<string, string>> {
  const names = OUTPUTS.map(({ flags }) => flags.slice(2, flags.indexOf(' ')));
  return Object.fromEntries(
    names.flatMap((name) => {
      const target = given.text(name);
      return target === undefined ? [] : [[name, target]];
    }),
  );
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
