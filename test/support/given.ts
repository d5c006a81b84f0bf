import { Readable } from 'node:stream';
import type { CommandLine } from '../../src/commands/command.js';
import type { Config } from '../../src/config/config.js';

/** By the names of the options: a value, the values of a repeatable option, or whether a flag is set. */
export interface OptionValues {
  readonly [name: string]: string | bigint | boolean | readonly string[] | undefined;
}

/** A command line after parsing; `input` is what is piped in. */
export function givenOf(
  config: Config | null,
  options: OptionValues = {},
  args: readonly string[] = [],
  input: AsyncIterable<string | Uint8Array> = Readable.from([]),
): CommandLine {
  return {
    args,
    text: (name) => {
      const value = options[name];
      return typeof value === 'string' || typeof value === 'bigint' ? String(value) : undefined;
    },
    texts: (name) => {
      const value = options[name];
      return typeof value === 'object' ? value : [];
    },
    isSet: (name) => options[name] === true,
    // Commands iterate over it, and ask whether it is a terminal.
    input: input as NodeJS.ReadStream,
    config: async () => {
      if (config === null) throw new Error('This command line has no configuration.');
      return config;
    },
  };
}
