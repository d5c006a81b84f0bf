import { type CommandWords, firstWords, type Grammar, MODELS_COMMAND, type OptionWords } from './grammar.js';

/** A completion script for fish. */
export function renderFish(grammar: Grammar): string {
  const groups = new Set(
    grammar.commands.flatMap(({ name }) => (name.includes(' ') ? name.split(' ')[0] : [])),
  );
  const lines = [
    '# svc-migrate completion for fish; put it into ~/.config/fish/completions.',
    'complete -c svc-migrate -f',
    ...firstWords(grammar).map(({ word, summary }) =>
      complete('__fish_use_subcommand', `-a ${word}`, summary),
    ),
    ...grammar.common.map((option) => complete(null, flagsOf(option), option.summary)),
    ...grammar.commands.flatMap((command) => listCommand(command, groups)),
  ];
  return `${lines.join('\n')}\n`;
}

function listCommand(command: CommandWords, groups: ReadonlySet<string | undefined>): string[] {
  const [first = '', second] = command.name.split(' ');
  const seen = [first, ...(second === undefined ? [] : [second])].map(
    (word) => `__fish_seen_subcommand_from ${word}`,
  );
  const here = seen.join('; and ');
  const asWord =
    second !== undefined && groups.has(first)
      ? [complete(`__fish_seen_subcommand_from ${first}`, `-a ${second}`, command.summary)]
      : [];
  const words = command.firstArgs === 'model' ? MODELS : command.firstArgs.join(' ');
  const args = words === '' ? [] : [complete(here, `-a ${quote(words)}`, '')];
  return [
    ...asWord,
    ...args,
    ...command.options.map((option) => complete(here, flagsOf(option), option.summary)),
  ];
}

/** Run by fish when it completes a model. */
const MODELS = `(svc-migrate ${MODELS_COMMAND})`;

function flagsOf({ name, value }: OptionWords): string {
  const long = `-l ${name.slice(2)}`;
  if (value === 'none') return long;
  if (value === 'file') return `${long} -r -F`;
  if (value === 'model') return `${long} -x -a ${quote(MODELS)}`;
  return typeof value === 'string' ? `${long} -x` : `${long} -x -a ${quote(value.join(' '))}`;
}

function complete(condition: string | null, what: string, summary: string): string {
  const when = condition === null ? '' : ` -n ${quote(condition)}`;
  return `complete -c svc-migrate${when} ${what}${summary === '' ? '' : ` -d ${quote(summary)}`}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
