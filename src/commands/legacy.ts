import type { CommandLine, Io } from './command.js';
import type { RawOptions, Unparsed } from './define-command.js';

/** A command that reads its options by name, as text, and replaces its outputs itself. */
export function readingText(load: () => Promise<(given: CommandLine, io: Io) => Promise<number>>) {
  const loadRunner = async () => {
    const run = await load();
    return (given: Unparsed, io: Io) => run(textLine(given), io);
  };
  return { load: loadRunner, ownsOutputs: true } as const;
}

/** A command line whose options are read by name. */
export function textLine(given: Unparsed): CommandLine {
  const { raw, config } = given;
  return {
    args: given.args,
    text: (name) => textOf(raw, name),
    texts: (name) => {
      const value = raw[name];
      return typeof value === 'object' ? value : [];
    },
    isSet: (name) => raw[name] === true || raw[negationOf(name)] === false,
    get input() {
      return given.input;
    },
    config,
  };
}

function textOf(raw: RawOptions, name: string): string | undefined {
  const value = raw[name];
  return typeof value === 'string' ? value : undefined;
}

/** `header` → `noHeader`. */
function negationOf(name: string): string {
  return `no${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
