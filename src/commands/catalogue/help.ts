import type { CommandSpec } from '../command.js';

export const HELP: CommandSpec = {
  name: 'help',
  args: '[topic...]',
  says: 'explain a topic or a command',
  more: 'Without a topic: the list of commands and topics. Where a topic and a command share a name, such as apply, both are explained.',
  options: [],
  examples: [
    { line: 'svc-migrate help config', does: 'every setting of the configuration file' },
    { line: 'svc-migrate help exit-codes', does: 'what each exit code means' },
  ],
  run: async (given, io) => {
    const { runHelp } = await import('../help.js');
    return runHelp(given.args.join(' '), io);
  },
};
