import { COMMANDS } from './catalogue/all.js';
import { argumentsOf, type Command } from './define-command.js';
import { describeOption } from './option.js';

const HEAD = `# Commands

These options work with every command:

- \`--config <file>\`: configuration file (default: \`svc-migrate.config.jsonc\`, else \`svc-migrate.config.json\`; or \`SVC_MIGRATE_CONFIG\`)
- \`--db <file>\`: database file (default: the one in the configuration, or \`SVC_MIGRATE_DB\`)
- \`--quiet\`: print no progress; warnings and errors are still printed
- \`--verbose\`: print each list as it finishes, and the causes of errors
- \`--no-color\`: print without color (also: \`NO_COLOR\`)
- \`--version\`, \`--help\`

Results go to stdout; progress, warnings and errors go to stderr. An output file is written completely or not at all. \`-\` stands for
stdout, for at most one output.
`;

/** The page `help commands`: every command with its options and examples. Part of the build. */
export function renderCommands(): string {
  return `${[HEAD, COMMANDS.map(renderCommand).join('\n\n')].join('\n')}\n`;
}

function renderCommand(command: Command): string {
  const { name, summary, more, options, examples } = command;
  const lines = [
    `### \`${`${name} ${argumentsOf(command)}`.trim()}\``,
    '',
    `${sentence(summary)} ${more ?? ''}`.trim(),
  ];
  const listed = options.flatMap((option) =>
    option.role === 'argument' ? [] : [`- \`${option.flags}\`: ${describeOption(option)}`],
  );
  if (listed.length > 0) lines.push('', ...listed);
  lines.push('', '```sh', ...Object.entries(examples).map(([line, does]) => `${line}   # ${does}`), '```');
  return lines.join('\n');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
