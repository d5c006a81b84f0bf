import { TOPICS } from '../../docs/topics.js';
import { type CommandSpec, type ListedOption, listOptions, type OptionSpecs } from '../command.js';

/** The words of the command line, for completion. */
export interface Grammar {
  readonly commands: readonly CommandWords[];
  /** Options of every command. */
  readonly common: readonly OptionWords[];
}

export interface CommandWords {
  /** One or two words. */
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  /** Values of the first argument; empty if it is free text. */
  readonly firstArgs: readonly string[] | 'model';
}

export interface OptionWords {
  readonly name: string;
  readonly summary: string;
  /** `model`: one that is configured; `column=model`: the same after a column's name. */
  readonly value: 'none' | 'file' | 'free' | 'model' | 'column=model' | readonly string[];
}

const SHELLS = ['bash', 'zsh', 'fish'];

/** Prints the models, one per line; quietly, as the user is typing. */
export const MODELS_COMMAND = 'completion models 2>/dev/null';

export function buildGrammar(commands: readonly CommandSpec[], common: OptionSpecs): Grammar {
  return {
    commands: commands.map(({ name, args = '', summary, options }) => ({
      name,
      summary,
      options: listOptions(options).map(wordsOf),
      firstArgs: firstArgsOf(args),
    })),
    common: [...listOptions(common).map(wordsOf), { name: '--help', summary: 'show help', value: 'none' }],
  };
}

/** The first words of commands, each once: `export` covers `export v3` and `export v4`. */
export function firstWords(grammar: Grammar): { readonly word: string; readonly summary: string }[] {
  const words = new Map<string, string>();
  for (const { name, summary } of grammar.commands) {
    const [word = ''] = name.split(' ');
    words.set(word, words.has(word) || name.includes(' ') ? `${word} …` : summary);
  }
  return [...words].map(([word, summary]) => ({ word, summary }));
}

export function takesValue({ value }: OptionWords): boolean {
  return value !== 'none';
}

/** Options whose value is the next word, of all commands. */
export function listValueOptions({ commands, common }: Grammar): string[] {
  const all = [...common, ...commands.flatMap(({ options }) => options)];
  return [...new Set(all.filter(takesValue).map(({ name }) => name))];
}

function wordsOf({ flags, summary, choices }: ListedOption): OptionWords {
  const [name = '', argument] = flags.split(' ');
  if (argument === undefined) return { name, summary, value: 'none' };
  if (choices !== undefined) return { name, summary, value: choices };
  if (argument === '<model>') return { name, summary, value: 'model' };
  if (argument === '<column[=model]>') return { name, summary, value: 'column=model' };
  return { name, summary, value: /^<(file|folder)>$/.test(argument) ? 'file' : 'free' };
}

function firstArgsOf(args: string): CommandWords['firstArgs'] {
  if (args.startsWith('<model>')) return 'model';
  if (args === '[topic...]') return TOPICS.map(({ name }) => name);
  return args === '<shell>' ? SHELLS : [];
}
