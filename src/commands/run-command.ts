import type { Io } from './command.js';
import type { Command, Unparsed } from './define-command.js';

/** Runs a command, with its output files replaced as `runWithOutputs` says. */
export async function runCommand(command: Command, given: Unparsed, io: Io): Promise<number> {
  const writesFiles = command.options.some(
    ({ role, name }) => role === 'output' && given.raw[name] !== undefined,
  );
  if (!writesFiles || command.ownsOutputs === true) return command.run(given, io);
  const { runWithOutputs } = await import('./with-outputs.js');
  return runWithOutputs(command, given, io);
}
