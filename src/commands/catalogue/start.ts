import type { CommandSpec } from '../command.js';

export const INIT: CommandSpec = {
  name: 'init',
  says: 'write a commented starter configuration',
  more: 'Asks for addresses, key variables and models on a terminal, and nothing elsewhere. Never overwrites a file without --force.',
  options: [{ flags: '--force', says: 'replace the file if it is there' }],
  examples: [
    { line: 'svc-migrate init', does: 'write svc-migrate.config.json' },
    { line: 'svc-migrate init --config staging.json', does: 'write another file' },
  ],
  run: async (given, io) => {
    const { runInit } = await import('../init.js');
    const { DEFAULT_CONFIG_FILE } = await import('../../config/defaults.js');
    const file = given.text('config') ?? (io.env['SVC_MIGRATE_CONFIG'] || DEFAULT_CONFIG_FILE);
    const isTerminal = io.isTty && given.input.isTTY;
    return runInit({ file, force: given.isSet('force'), input: isTerminal ? given.input : null }, io);
  },
};

export const COMPLETION: CommandSpec = {
  name: 'completion',
  args: '<shell>',
  says: 'a completion script for bash, zsh or fish',
  more: 'Completes commands, options, their values and model names.',
  options: [],
  examples: [
    { line: 'svc-migrate completion bash > svc-migrate.bash', does: 'then source it from ~/.bashrc' },
    {
      line: 'svc-migrate completion fish > svc-migrate.fish',
      does: 'then move it to ~/.config/fish/completions',
    },
  ],
  run: async (given, io) => {
    const { runCompletion } = await import('../completion/completion.js');
    return runCompletion(given.args[0] ?? '', io);
  },
};
