import { Readable } from 'node:stream';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import type { Io, Unparsed } from '../../src/commands/command.js';
import type { Config } from '../../src/config/config.js';
import { runCommand } from '../../src/program.js';

/** By the names of the options: a value, the values of a repeatable option, or whether a flag is set. */
export interface OptionValues {
  readonly [name: string]: string | bigint | boolean | readonly string[] | undefined;
}

/** A command line; `input` is what is piped in. */
export function givenOf(
  config: Config | null,
  options: OptionValues = {},
  args: readonly string[] = [],
  input: AsyncIterable<string | Uint8Array> = Readable.from([]),
): Unparsed & { readonly args: readonly string[] } {
  const typed = Object.entries(options).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  return {
    raw: Object.fromEntries(typed),
    args,
    commands: COMMANDS,
    // Commands iterate over it, and ask whether it is a terminal.
    openInput: () => input as NodeJS.ReadStream,
    config: async () => {
      if (config === null) throw new Error('This command line has no configuration.');
      return config;
    },
  };
}

/** Runs a command by its name, as the program does after it has split the command line. */
export function runNamed(name: string, given: ReturnType<typeof givenOf>, io: Io): Promise<number> {
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const places = command.options.filter(({ role }) => role === 'argument');
  const args = places.map((place, at) => [place.name, place.isList ? given.args.slice(at) : given.args[at]]);
  return runCommand(command, { ...given, raw: { ...given.raw, ...Object.fromEntries(args) } }, io);
}
