import type { CommandSpec } from '../command.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';

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

export const DOCTOR: CommandSpec = {
  name: 'doctor',
  says: 'look at everything a migration needs, and say what to fix',
  more: 'Configuration, keys, both APIs, V4 model names, what V4 does with parameters, page sizes, clocks, a preview of company pairs, disk and database. Asks both APIs a bounded number of questions and writes nothing. Exits with 0 when ready; else 2 configuration, 3 key refused, 4 network, 5 V4 not there yet, 6 this machine.',
  options: [
    { flags: '--all', says: 'ask every V4 company for its models, not a sample of ten' },
    { flags: '--json', says: 'the findings and the facts behind them as JSON' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate doctor', does: 'before the first export, and when something is odd' },
    { line: 'svc-migrate doctor --all --json > doctor.json', does: 'every company, for a script' },
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
