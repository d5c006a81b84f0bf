import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Language as Grammar, Parser } from 'web-tree-sitter';
import { type Language, type Part, partsOf } from './languages.js';

/** A part of a source file; positions count UTF-16 units. */
export interface SourcePart {
  readonly part: Part;
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
    { readonly grammar: Grammar; readonly parts: ReadonlyMap<string, Part> }
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
