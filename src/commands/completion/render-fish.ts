import {
  type CommandWords,
  firstWords,
  type Grammar,
  listValueOptions,
  MODELS_COMMAND,
  type OptionWords,
} from './grammar.js';

/** A completion script for fish. */
export function renderFish(grammar: Grammar): string {
  const groups = new Set(
    grammar.commands.flatMap(({ name }) => (name.includes(' ') ? name.split(' ')[0] : [])),
  );
  const lines = [
    '# svc-migrate completion for fish; put it into ~/.config/fish/completions.',
    functions(grammar),
    'complete -c svc-migrate -f',
    ...firstWords(grammar).map(({ word, summary }) => complete('__svc_migrate_is', `-a ${word}`, summary)),
    ...grammar.common.map((option) => complete(null, flagsOf(option), option.summary)),
    ...grammar.commands.flatMap((command) => listCommand(command, groups)),
  ];
  return `${lines.join('\n')}\n`;
}

/** The words of the command are those that are neither options nor their values. */
function functions(grammar: Grammar): string {
  return `function __svc_migrate_words
  set -l is_value no
  for word in (commandline -opc)[2..]
    if test $is_value = yes
      set is_value no
      continue
    end
    switch $word
      case ${listValueOptions(grammar).join(' ')}
        set is_value yes
      case '-*'
      case '*'
        echo $word
    end
  end
end
function __svc_migrate_is
  set -l words (__svc_migrate_words)
  test "$words" = "$argv"
end
function __svc_migrate_in
  set -l words (__svc_migrate_words)
  test "$words[1..$(count $argv)]" = "$argv"
end
function __svc_migrate_models
  set -l words (commandline -opc)
  set -l config
  for at in (seq (count $words))
    switch $words[$at]
      case --config
        set config --config $words[(math $at + 1)]
      case '--config=*'
        set config $words[$at]
    end
  end
  $words[1] $config ${MODELS_COMMAND}
end
function __svc_migrate_columns
  set -l column (string match -r '^(?:--ids=)?([^=]+)=' -- (commandline -ct))[2]
  test -n "$column"; and printf "$column=%s\\n" (__svc_migrate_models)
end`;
}

function listCommand(command: CommandWords, groups: ReadonlySet<string | undefined>): string[] {
  const [first = '', second] = command.name.split(' ');
  const asWord =
    second !== undefined && groups.has(first)
      ? [complete(`__svc_migrate_is ${first}`, `-a ${second}`, command.summary)]
      : [];
  const words = command.firstArgs === 'model' ? MODELS : command.firstArgs.join(' ');
  const args = words === '' ? [] : [complete(`__svc_migrate_is ${command.name}`, `-a ${quote(words)}`, '')];
  const here = `__svc_migrate_in ${command.name}`;
  return [
    ...asWord,
    ...args,
    ...command.options.map((option) => complete(here, flagsOf(option), option.summary)),
  ];
}

/** Run by fish when it completes a model. */
const MODELS = '(__svc_migrate_models)';

function flagsOf({ name, value }: OptionWords): string {
  const long = `-l ${name.slice(2)}`;
  if (value === 'none') return long;
  if (value === 'file') return `${long} -r -F`;
  if (value === 'model') return `${long} -x -a ${quote(MODELS)}`;
  if (value === 'column=model') return `${long} -x -a '(__svc_migrate_columns)'`;
  return typeof value === 'string' ? `${long} -x` : `${long} -x -a ${quote(value.join(' '))}`;
}

function complete(condition: string | null, what: string, summary: string): string {
  const when = condition === null ? '' : ` -n ${quote(condition)}`;
  return `complete -c svc-migrate${when} ${what}${summary === '' ? '' : ` -d ${quote(summary)}`}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
