import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import { argument, flag, listArgument, text } from '../option.js';
import { FORCE } from './options.js';

export const backup = defineCommand({
  name: 'backup',
  summary: 'make a consistent copy of the database',
  more: 'Copies the state of one moment and checks the copy before it gets its name. Another command may write the database meanwhile. Only the owner of the copy can read it. An existing file is replaced only with --force.',
  options: z.object({ file: argument('<file>', 'the copy', text), ...FORCE }),
  runsWithoutTargets: true,
  examples: {
    'svc-migrate backup before-cutover.db': 'keep what the cutover was decided on',
    'svc-migrate backup nightly.db --force': "replace last night's copy",
  },
});

export const purge = defineCommand({
  name: 'purge',
  summary: 'delete record payloads, keep ids and the remap',
  more: 'Says how many payloads there are, and asks on a terminal. Rewrites the file, so that no part of the payloads remains in it. Drift can no longer be measured afterwards.',
  options: z.object({
    payloads: flag('required: says what to delete'),
    yes: flag('delete without a question; required where there is no terminal'),
  }),
  examples: {
    'svc-migrate purge --payloads': 'delete everything that the remap does not need',
    'svc-migrate purge --payloads --yes --db rehearsal.db': 'the same in a script, for another database',
  },
});

export const completion = defineCommand({
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  more: 'Completes commands, options and their values. The scripts call `completion words`, which prints what can replace the last word.',
  options: z.object({
    shell: argument('<shell>', 'bash, zsh or fish', text),
    words: listArgument('[words...]', 'what was typed, for `completion words`', text),
  }),
  examples: {
    'svc-migrate completion bash > svc-migrate.bash': 'then source it from ~/.bashrc',
    'svc-migrate completion fish > svc-migrate.fish': 'then move it to ~/.config/fish/completions',
  },
});

export const help = defineCommand({
  name: 'help',
  summary: 'explain a topic or a command',
  more: 'Without a topic, it lists the commands and topics. Where a topic and a command share a name, such as apply, it explains both.',
  options: z.object({ topic: listArgument('[topic...]', 'a topic or a command', text) }),
  examples: {
    'svc-migrate help config': 'every setting of the configuration file',
    'svc-migrate help exit-codes': 'what each exit code means',
  },
});
