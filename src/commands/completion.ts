import type { Config } from '../config/config.js';
import { DEFAULT_MODELS } from '../config/defaults.js';
import { loadConfig } from '../config/load-config.js';
import { TOPICS } from '../docs/topics.js';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { readRemapRuns } from '../store/remap-tables.js';
import { didYouMean } from '../text/suggest.js';
import { COMMANDS } from './catalogue/all.js';
import { COMMON_OPTIONS } from './catalogue/options.js';
import type { Io } from './command.js';
import { readDatabase } from './database.js';
import type { Command, Given } from './define-command.js';
import { type ListedOption, listOptions } from './option.js';

/** Calls `completion words`, which prints the possible words, or `:files|BEFORE|NAME` (see `listWords`). */
const BASH = `# svc-migrate completion for bash; \`source\` this file.
_svc_migrate() {
  local IFS=$'\\n' before name file
  COMPREPLY=($("\${COMP_WORDS[0]}" completion words -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null))
  if [[ \${COMPREPLY[0]-} == :files* ]]; then
    IFS='|' read -r _ before name <<< "\${COMPREPLY[0]}"
    COMPREPLY=()
    for file in "$name"*; do
      if [[ -e $file ]]; then COMPREPLY+=("$before$file"); fi
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
  if string match -q ':files|*' -- "$found[1]"
    set -l parts (string split -m 2 '|' -- $found[1])
    set -l files $parts[3]*
    set found
    for file in $files
      set -a found "$parts[2]$file"
    end
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

interface CompletionOptions {
  readonly shell: string;
  readonly words: readonly string[];
}

/**
 * `completion`: prints a completion script. The scripts call `completion words`, which prints what can replace the last
 * word that was typed.
 */
export async function runCompletion({ options }: Given<CompletionOptions>, io: Io): Promise<number> {
  const { shell, words: typed } = options;
  const script = SCRIPTS[shell];
  if (shell === 'words') await writeText(io.stdout, [(await listWords(typed, io)).map(endLine).join('')]);
  else if (script !== undefined) await writeText(io.stdout, [script]);
  else
    throw new SvcError('usage', `There is no completion for "${shell}".`, {
      hint: didYouMean(shell, Object.keys(SCRIPTS)) ?? undefined,
    });
  return 0;
}

const endLine = (line: string): string => `${line}\n`;

/** A word that can be typed, and what it means. */
type Word = readonly [word: string, summary?: string];

/** The possible words, or where they come from. */
type Source = readonly Word[] | 'files' | 'models' | 'regions' | 'targets' | 'builds';

const NOTHING: Source = [];

/**
 * What can replace the last of these words, each followed by a tab and its meaning. For files: `:files|BEFORE|NAME`. The
 * shell then looks for files whose names begin with NAME, and puts BEFORE in front of each.
 */
async function listWords(typed: readonly string[], io: Pick<Io, 'env' | 'clock'>): Promise<string[]> {
  const isSplit = typed.slice(-2).includes('=');
  const words = joinAtEquals(typed);
  const last = words.pop() ?? '';
  const { command, given, flags } = readWords(words);
  const options = [...listOptions(COMMON_OPTIONS), ...(command?.options ?? [])].filter(isTyped);
  const [, flag = words.at(-1) ?? '', value = last] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? [];
  const option = options.find((one) => one.flags.startsWith(`${flag} `));
  const source = option === undefined ? afterCommand(command, given, last, options) : valuesOf(option, value);
  // Of `column=model`, only the model is completed.
  const column = option?.flags.includes('=model') === true ? value.slice(0, value.lastIndexOf('=') + 1) : '';
  const typedValue = option === undefined ? last : value.slice(column.length);
  const before = isSplit ? '' : last.slice(0, last.length - typedValue.length);
  if (source === 'files') return [`:files|${before}|${typedValue}`];
  const known = typeof source === 'string' ? await listKnown(source, flags, io) : source;
  return known
    .filter(([word]) => word.startsWith(typedValue))
    .map(([word, summary]) => `${before}${word}${summary === undefined ? '' : `\t${summary}`}`);
}

/** Joins words that Bash split: it makes `=` a word of its own. */
function joinAtEquals(typed: readonly string[]): string[] {
  const words: string[] = [];
  for (const [at, word] of typed.entries()) {
    const isPart = words.length > 0 && (word === '=' || typed[at - 1] === '=');
    if (isPart) words.push(`${words.pop()}${word}`);
    else words.push(word);
  }
  return words;
}

interface TypedLine {
  readonly command: Command | undefined;
  /** The arguments, or the words of an incomplete command. */
  readonly given: readonly string[];
  /** `--config` and `--db`. */
  readonly flags: { readonly config?: string | undefined; readonly db?: string | undefined };
}

/** The command is the first one or two words that are neither options nor their values. */
function readWords(words: readonly string[]): TypedLine {
  const common = listOptions(COMMON_OPTIONS);
  const commandOf = (given: readonly string[]) =>
    COMMANDS.find(({ name }) => `${given.join(' ')} `.startsWith(`${name} `));
  const plain: string[] = [];
  const isValued = (flag: string) =>
    [...common, ...(commandOf(plain)?.options ?? [])].some(
      ({ flags, value }) => value !== null && flags.split(' ')[0] === flag,
    );
  const values: Record<string, string | undefined> = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const [, flag = word, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (!word.startsWith('-')) plain.push(word);
    else if (isValued(flag)) values[flag] = value ?? words[++at];
  }
  const command = commandOf(plain);
  const given = command === undefined ? plain : plain.slice(command.name.split(' ').length);
  return { command, given, flags: { config: values['--config'], db: values['--db'] } };
}

/** What can follow a command where no option needs a value. */
function afterCommand(
  command: Command | undefined,
  given: readonly string[],
  last: string,
  options: readonly ListedOption[],
): Source {
  if (last.startsWith('-')) {
    const flags = options.map(({ flags: name, summary }): Word => [name.replace(/ .*$/, ''), summary]);
    return [...flags, ['--help', 'show help']];
  }
  if (command === undefined) return commandWords(given);
  const places = command.options.filter(({ role }) => role === 'argument');
  const place = places[given.length] ?? places.findLast(({ isList }) => isList);
  return place === undefined ? NOTHING : valuesOf(place, last);
}

/** The next word of commands that begin with these words; `export` stands for `export v3` and `export v4`. */
function commandWords(given: readonly string[]): Word[] {
  const start = given.length === 0 ? '' : `${given.join(' ')} `;
  const next = new Map<string, string>();
  for (const { name, summary } of COMMANDS.filter((one) => one.name.startsWith(start))) {
    const [word = '', ...more] = name.slice(start.length).split(' ');
    next.set(word, next.has(word) || more.length > 0 ? `${word} …` : summary);
  }
  return [...next];
}

/** Where values come from, by the option or by its placeholder. */
const VALUES: Readonly<Record<string, Source>> = {
  '--region': 'regions',
  build: 'builds',
  model: 'models',
  targets: 'targets',
  file: 'files',
  folder: 'files',
  path: 'files',
  paths: 'files',
  parts: 'files',
  shell: Object.keys(SCRIPTS).map((name): Word => [name]),
  topic: TOPICS.map(({ name, summary }) => [name, summary]),
};

function valuesOf({ flags, value: placeholder, choices }: ListedOption, value: string): Source {
  if (choices.length > 0) return choices.map((choice): Word => [choice]);
  if (placeholder === '<column[=model]>') return value.includes('=') ? 'models' : NOTHING;
  const word = placeholder?.replace(/[^\w-]/g, '') ?? '';
  return VALUES[flags.replace(/ .*/, '')] ?? VALUES[word] ?? NOTHING;
}

function isTyped({ role }: ListedOption): boolean {
  return role !== 'argument';
}

/** Words from the configuration or the database. If these cannot be read: none, because a completion must print no error. */
async function listKnown(
  source: Exclude<Source, readonly Word[] | 'files'>,
  flags: TypedLine['flags'],
  { env, clock }: Pick<Io, 'env' | 'clock'>,
): Promise<Word[]> {
  try {
    return (await readKnown(source, loadConfig({ env, flags, nowMs: clock.now() }))).map((word) => [word]);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return source === 'models' ? DEFAULT_MODELS.map(({ v3 }) => [v3]) : [];
  }
}

async function readKnown(source: Parameters<typeof listKnown>[0], config: Config): Promise<string[]> {
  switch (source) {
    case 'models':
      return config.models.map(({ v3 }) => v3);
    case 'regions':
      return config.v3.regions.map(({ region }) => region);
    case 'targets':
      return config.apply.targets.map(({ name }) => name);
    case 'builds':
      return [
        'previous',
        ...(await readDatabase(config, async (db) => readRemapRuns(db, 20))).map(({ id }) => String(id)),
      ];
  }
}
