import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Language as Grammar, Parser, type TreeCursor } from 'web-tree-sitter';
import { COMMON_KINDS, type Kind, type Language } from './languages/language.js';

/** A node of a syntax tree in the words of `Kind`. Positions count UTF-16 units of the file's text. */
export interface SyntaxNode {
  readonly kind: Kind;
  /** The grammar's own name of the node. */
  readonly type: string;
  /** Its role in its parent, such as `left`; '' for none. */
  readonly field: string;
  readonly start: number;
  readonly end: number;
  readonly parent: SyntaxNode | null;
  readonly children: readonly SyntaxNode[];
}

/** Why a file has no syntax tree. */
export type Unparsed = 'nested too deeply' | 'took too long to parse';

const require = createRequire(import.meta.url);
const GRAMMARS = dirname(require.resolve('@vscode/tree-sitter-wasm'));

/** Deeper trees are not read: they are data or made to exhaust the stack. */
const MAX_DEPTH = 600;
/** Longest time for one file, ms. */
const PARSE_MS = 2000;

/** Parses files; grammars are loaded when they are first needed. */
export class SyntaxParser {
  readonly #parser: Parser;
  readonly #grammars = new Map<string, Grammar>();

  private constructor(parser: Parser) {
    this.#parser = parser;
  }

  /** One for each thread: starting the parser again would invalidate what an earlier one holds. */
  static async create(): Promise<SyntaxParser> {
    await Parser.init();
    return new SyntaxParser(new Parser());
  }

  /** Parses a file of a language that was prepared. */
  parse(language: Language, text: string): SyntaxNode | Unparsed {
    this.#parser.setLanguage(this.#grammars.get(language.grammar) ?? null);
    const endMs = performance.now() + PARSE_MS;
    // The result is null only if the callback asked to stop.
    const tree = this.#parser.parse(text, null, { progressCallback: () => performance.now() > endMs });
    if (tree === null) {
      this.#parser.reset();
      return 'took too long to parse';
    }
    const cursor = tree.walk();
    try {
      return buildTree(cursor, language.kinds) ?? 'nested too deeply';
    } finally {
      cursor.delete();
      tree.delete();
    }
  }

  async prepare({ grammar: name }: Language): Promise<void> {
    if (this.#grammars.has(name)) return;
    const file = join(GRAMMARS, `tree-sitter-${name}.wasm`);
    this.#grammars.set(name, await Grammar.load(file));
  }
}

/** Copies the named nodes out of the parser's memory; null if they are nested too deeply. */
function buildTree(cursor: TreeCursor, own: Language['kinds']): SyntaxNode | null {
  let isTooDeep = false;
  const build = (parent: SyntaxNode | null, depth: number): SyntaxNode => {
    const { nodeType: type, startIndex: start, endIndex: end } = cursor;
    const children: SyntaxNode[] = [];
    const kind = own[type] ?? COMMON_KINDS[type] ?? 'other';
    const node = { kind, type, field: cursor.currentFieldName ?? '', start, end, parent, children };
    if (depth > MAX_DEPTH) {
      isTooDeep = true;
    } else if (cursor.gotoFirstChild()) {
      do {
        if (cursor.nodeIsNamed) children.push(build(node, depth + 1));
      } while (cursor.gotoNextSibling());
      cursor.gotoParent();
    }
    return node;
  };
  const root = build(null, 0);
  return isTooDeep ? null : root;
}
