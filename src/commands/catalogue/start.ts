import type { CommandSpec } from '../command.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';

export const INIT: CommandSpec = {
  name: 'init',
  says: 'write a commented starter configuration',
  more: 'On a terminal it asks for addresses, names of key variables and models; elsewhere it asks nothing. It never overwrites a file without --force.',
  options: [{ flags: '--force', says: 'replace an existing file' }],
  examples: [
    { line: 'svc-migrate init', does: 'write svc-migrate.config.json' },
    { line: 'svc-migrate init --config staging.json', does: 'write to another file' },
  ],
  run: async (given, io) => {
    const { runInit } = await import('../init.js');
    const { DEFAULT_CONFIG_FILE } = await import('../../config/defaults.js');
    const file = given.text('config') ?? (io.env['SVC_MIGRATE_CONFIG'] || DEFAULT_CONFIG_FILE);
    const isTerminal = io.isTty && given.input.isTTY;
    return runInit({ file, force: given.isSet('force'), input: isTerminal ? given.input : null }, io);
  },
};

export const DOCTOR: CommandSpec = {
  name: 'doctor',
  says: 'check everything a migration needs, and say what to fix',
  more: 'Checks configuration, API keys, both APIs, V4 model names, which parameters V4 honours, page sizes, clocks, disk and database, and previews company pairs. Sends a limited number of requests and writes nothing. Exits with 0 if ready; otherwise 2 (configuration), 3 (API key refused), 4 (network), 5 (V4 not ready) or 6 (this machine).',
  options: [
    { flags: '--all', says: 'check the models of every V4 company, not of a sample of ten' },
    { flags: '--json', says: 'print the findings and the facts behind them as JSON' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate doctor', does: 'before the first export, and when something looks wrong' },
    { line: 'svc-migrate doctor --all --json > doctor.json', does: 'check every company, for a script' },
  ],
  run: async (given, io) => {
    const { runDoctor } = await import('../doctor.js');
    const loadConfig = async () => withMaxWait(await given.config(), given);
    return runDoctor({ loadConfig, all: given.isSet('all'), json: given.isSet('json') }, io);
  },
};

export const COMPLETION: CommandSpec = {
  name: 'completion',
  args: '<shell>',
  says: 'print a completion script for bash, zsh or fish',
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
