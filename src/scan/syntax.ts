import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Language as Grammar, Parser } from 'web-tree-sitter';

/** A language whose strings, comments and functions are told apart by its grammar. */
export interface Language {
  readonly name: string;
  readonly extensions: readonly string[];
  /** The grammar's file is `tree-sitter-GRAMMAR.wasm`. */
  readonly grammar: string;
}

/** Every language with a grammar. Other kinds of text are in `source-text.ts`. */
export const LANGUAGES: readonly Language[] = [
  { name: 'typescript', extensions: ['.ts', '.mts', '.cts'], grammar: 'typescript' },
  { name: 'typescript', extensions: ['.tsx'], grammar: 'tsx' },
  { name: 'javascript', extensions: ['.js', '.mjs', '.cjs', '.jsx'], grammar: 'javascript' },
  { name: 'python', extensions: ['.py', '.pyi'], grammar: 'python' },
  { name: 'ruby', extensions: ['.rb', '.rake', '.gemspec'], grammar: 'ruby' },
  { name: 'php', extensions: ['.php'], grammar: 'php' },
  { name: 'java', extensions: ['.java'], grammar: 'java' },
  { name: 'csharp', extensions: ['.cs'], grammar: 'c-sharp' },
  { name: 'go', extensions: ['.go'], grammar: 'go' },
];

/** The language of a file by the end of its name; null if it has no grammar. */
export function languageOf(file: string): Language | null {
  const name = file.toLowerCase();
  return LANGUAGES.find(({ extensions }) => extensions.some((end) => name.endsWith(end))) ?? null;
}

/** The node types of all grammars that matter, by what they are. */
const TYPES_BY_PART = {
  literal: `string template_string string_literal interpreted_string_literal raw_string_literal encapsed_string heredoc
    nowdoc interpolated_string_expression verbatim_string_literal heredoc_body bare_string`,
  symbol: 'simple_symbol hash_key_symbol bare_symbol',
  hole: 'template_substitution interpolation',
  /** A hole where it stands inside a string: PHP interpolates variables without braces. */
  variable: 'variable_name member_access_expression subscript_expression',
  function: `function_declaration function_expression arrow_function method_definition function_definition lambda
    method singleton_method do_block block method_declaration constructor_declaration func_literal lambda_expression
    anonymous_function anonymous_function_creation_expression anonymous_method_expression local_function_statement
    generator_function_declaration`,
  comment: 'comment line_comment block_comment html_comment text_interpolation',
} as const;

/** What a part of a source file is to the rules. */
export type SyntaxPart = keyof typeof TYPES_BY_PART;

/** The part of each node type. In `block`, languages differ: it is a function in Ruby alone. */
function partsOf(language: string): ReadonlyMap<string, SyntaxPart> {
  const parts: SyntaxPart[] = ['literal', 'symbol', 'hole', 'function', 'comment'];
  if (language === 'php') parts.push('variable');
  const entries = parts.flatMap((part) =>
    TYPES_BY_PART[part].split(/\s+/).map((type) => [type, part] as const),
  );
  return new Map(entries.filter(([type]) => type !== 'block' || language === 'ruby'));
}

/** A part of a source file; positions count UTF-16 units. */
export interface SourcePart {
  readonly part: SyntaxPart;
  readonly start: number;
  readonly end: number;
}

const require = createRequire(import.meta.url);
const GRAMMARS = dirname(require.resolve('@vscode/tree-sitter-wasm'));

/**
 * Maximum number of calls of the parser's progress callback for one file. Ordinary code takes one for about 100
 * characters. Code that makes the parser try many readings at once takes far more calls, and far more memory.
 */
const maxProgress = (characters: number): number => Math.min(40_000, 2000 + characters / 40);
/** Time limit in case the calls are very slow; far above what they take on a loaded machine. */
const MAX_PARSE_MS = 60_000;

/** Finds the strings, comments and functions of files; grammars are loaded when they are first needed. */
export class SyntaxParser {
  readonly #parser: Parser;
  readonly #grammars = new Map<
    string,
    { readonly grammar: Grammar; readonly parts: ReadonlyMap<string, SyntaxPart> }
  >();

  private constructor(parser: Parser) {
    this.#parser = parser;
  }

  /** One for each thread: starting the parser again would invalidate what an earlier one holds. */
  static async create(): Promise<SyntaxParser> {
    await Parser.init();
    return new SyntaxParser(new Parser());
  }

  async prepare({ grammar: file, name }: Language): Promise<void> {
    if (this.#grammars.has(file)) return;
    const grammar = await Grammar.load(join(GRAMMARS, `tree-sitter-${file}.wasm`));
    this.#grammars.set(file, { grammar, parts: partsOf(name) });
  }

  /** The parts of a file of a language that was prepared, in the order of the source; null if it takes too long. */
  parse({ grammar: file }: Language, text: string): readonly SourcePart[] | null {
    const prepared = this.#grammars.get(file);
    if (prepared === undefined) throw new Error(`${file} was not prepared`);
    this.#parser.setLanguage(prepared.grammar);
    const endMs = performance.now() + MAX_PARSE_MS;
    let progress = 0;
    const most = maxProgress(text.length);
    const progressCallback = () => ++progress > most || performance.now() > endMs;
    // The result is null only if the callback asked to stop.
    const tree = this.#parser.parse(text, null, { progressCallback });
    if (tree === null) {
      this.#parser.reset();
      return null;
    }
    try {
      return tree.rootNode.descendantsOfType([...prepared.parts.keys()]).flatMap((node) => {
        const part = node === null ? undefined : prepared.parts.get(node.type);
        if (node === null || part === undefined || !node.isNamed) return [];
        return [{ part, start: node.startIndex, end: node.endIndex }];
      });
    } finally {
      tree.delete();
    }
  }
}
