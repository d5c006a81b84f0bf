import { TOPICS } from '../docs/topics.js';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { didYouMean } from '../text/suggest.js';
import { COMMON_OPTIONS } from './catalogue/options.js';
import type { completion } from './catalogue/use-commands.js';
import { type Command, type GivenTo, type Io, optionsOf } from './command.js';
import { type ListedOption, listOptions } from './option.js';

/** Calls `completion words`, which prints the possible words, or `:files` where the shell should offer files. */
const BASH = `# svc-migrate completion for bash; \`source\` this file.
_svc_migrate() {
  local IFS=$'\\n' file
  COMPREPLY=($("\${COMP_WORDS[0]}" completion words -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null))
  if [[ \${COMPREPLY[0]-} == :files ]]; then
    COMPREPLY=()
    for file in "\${COMP_WORDS[COMP_CWORD]}"*; do
      if [[ -e $file ]]; then COMPREPLY+=("$file"); fi
    done
  fi
  COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
}
complete -o bashdefault -F _svc_migrate svc-migrate
`;

const FISH = `# svc-migrate completion for fish; put it into ~/.config/fish/completions.
function __svc_migrate
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  set -l found ($words[1] completion words -- $words[2..] "$typed" 2>/dev/null)
  if test "$found[1]" = ':files'
    set found $typed*
  end
  test (count $found) -gt 0; and printf '%s\\n' $found
end
complete -c svc-migrate -f -a '(__svc_migrate)'
`;

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: BASH,
  zsh: `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i -D }\nautoload -Uz +X bashcompinit && bashcompinit\n${BASH}`,
  fish: FISH,
};

/**
 * `completion`: prints a completion script. The scripts call `completion words`, which prints what can replace the last
 * word that was typed.
 */
export async function run({ options, commands }: GivenTo<typeof completion>, io: Io): Promise<number> {
  const { shell, words } = options;
  const script = SCRIPTS[shell];
  if (shell === 'words') {
    const found = listWords(words, commands).map(([word, summary]) =>
      summary === undefined ? `${word}\n` : `${word}\t${summary}\n`,
    );
    await writeText(io.stdout, [found.join('')]);
  } else if (script !== undefined) await writeText(io.stdout, [script]);
  else
    throw new SvcError('usage', `There is no completion for "${shell}".`, {
      hint: didYouMean(shell, Object.keys(SCRIPTS)) ?? undefined,
    });
  return 0;
}

/** A word that can be typed, and what it means. */
type Word = readonly [word: string, summary?: string];

/** The possible words, or where they come from. */
type Source = readonly Word[] | 'files';

/** What can replace the last of these words; `:files` where the shell knows. */
function listWords(typed: readonly string[], commands: readonly Command[]): readonly Word[] {
  const last = typed.at(-1) ?? '';
  // Words that are neither options nor their values: the command, which is the first one or two, and its arguments.
  const plain: string[] = [];
  const commandOf = () => commands.find(({ name }) => `${plain.join(' ')} `.startsWith(`${name} `));
  const listOffered = () => {
    const command = commandOf();
    return [...listOptions(COMMON_OPTIONS), ...(command === undefined ? [] : optionsOf(command))];
  };
  let valued: ListedOption | undefined;
  for (const word of typed.slice(0, -1)) {
    if (valued !== undefined) valued = undefined;
    else if (!word.startsWith('-')) plain.push(word);
    else valued = listOffered().find(({ flags }) => flags.startsWith(`${word} `));
  }
  const source = () => {
    if (valued !== undefined) return valuesOf(valued);
    if (last.startsWith('-')) return flagsOf(listOffered());
    const command = commandOf();
    if (command === undefined) return nextWords(plain, commands);
    const places = command.options.filter(({ role }) => role === 'argument');
    const at = plain.length - command.name.split(' ').length;
    const place = places[at] ?? places.findLast(({ isList }) => isList);
    return place === undefined ? [] : valuesOf(place);
  };
  const words = source();
  return words === 'files' ? [[':files']] : words.filter(([word]) => word.startsWith(last));
}

function flagsOf(options: readonly ListedOption[]): Word[] {
  const flags = options.map(({ flags: name, summary }): Word => [name.replace(/ .*$/, ''), summary]);
  return [...flags, ['--help', 'show help']];
}

/** The next word of commands that begin with these words. */
function nextWords(given: readonly string[], commands: readonly Command[]): Word[] {
  const start = given.map((word) => `${word} `).join('');
  const next = new Map<string, string>();
  for (const { name, summary } of commands.filter((one) => one.name.startsWith(start))) {
    const [word = '', ...more] = name.slice(start.length).split(' ');
    next.set(word, next.has(word) || more.length > 0 ? `${word} …` : summary);
  }
  return [...next];
}

/** Where values come from, by their placeholder. */
const VALUES: Readonly<Record<string, Source>> = {
  file: 'files',
  folder: 'files',
  path: 'files',
  paths: 'files',
  shell: Object.keys(SCRIPTS).map((name): Word => [name]),
  topic: TOPICS.map(({ name, summary }) => [name, summary]),
};

function valuesOf({ value, choices }: ListedOption): Source {
  if (choices.length > 0) return choices.map((choice): Word => [choice]);
  return VALUES[value?.replace(/\W/g, '') ?? ''] ?? [];
}
