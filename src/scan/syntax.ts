import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Language as Grammar, Parser, type TreeCursor } from 'web-tree-sitter';
import { COMMON_KINDS, type Kind, type Language } from './languages.js';

/** A node of a syntax tree; its `kind` is the same in every language. Positions count UTF-16 units of the file's text. */
export interface SyntaxNode {
  readonly kind: Kind;
  /** The grammar's own name of the node. */
  readonly type: string;
  /** Its role in its parent, such as `left`; '' for none. */
  readonly field: string;
  readonly start: number;
  readonly end: number;
  /** The text of its file. */
  readonly source: string;
  readonly parent: SyntaxNode | null;
  readonly children: readonly SyntaxNode[];
}

/** Why a file has no syntax tree. */
export type Unparsed = 'nested too deeply' | 'took too long to parse';

const require = createRequire(import.meta.url);
const GRAMMARS = dirname(require.resolve('@vscode/tree-sitter-wasm'));

/** Deeper trees are not read: they are data, or meant to exhaust the stack. */
const MAX_DEPTH = 600;
/**
 * Maximum number of calls of the parser's progress callback for one file. Ordinary code takes one for about 100
 * characters. Code that makes the parser try many readings at once takes far more calls, and far more memory.
 */
const maxProgress = (characters: number): number => Math.min(40_000, 2000 + characters / 40);
/** Time limit in case the calls are very slow; far above what they take on a loaded machine. */
const MAX_PARSE_MS = 60_000;

/** Parses files; grammars are loaded when they are first needed. */
export class SyntaxParser {
  readonly #parser: Parser;
  readonly #grammars = new Map<string, { readonly grammar: Grammar; readonly types: NodeTypes }>();

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
    const prepared = this.#grammars.get(language.grammar);
    if (prepared === undefined) throw new Error(`${language.grammar} was not prepared`);
    this.#parser.setLanguage(prepared.grammar);
    const endMs = performance.now() + MAX_PARSE_MS;
    let progress = 0;
    const most = maxProgress(text.length);
    const progressCallback = () => ++progress > most || performance.now() > endMs;
    // The result is null only if the callback asked to stop.
    const tree = this.#parser.parse(text, null, { progressCallback });
    if (tree === null) {
      this.#parser.reset();
      return 'took too long to parse';
    }
    const cursor = tree.walk();
    try {
      return buildTree(cursor, prepared.types, text) ?? 'nested too deeply';
    } finally {
      cursor.delete();
      tree.delete();
    }
  }

  async prepare({ grammar: name, kinds }: Language): Promise<void> {
    if (this.#grammars.has(name)) return;
    const grammar = await Grammar.load(join(GRAMMARS, `tree-sitter-${name}.wasm`));
    this.#grammars.set(name, { grammar, types: new NodeTypes(grammar, kinds) });
  }
}

interface NodeType {
  readonly name: string;
  readonly kind: Kind;
  readonly isNamed: boolean;
  readonly isLeaf: boolean;
}

/** The node types of a grammar by number, each read from the parser's memory only once. */
class NodeTypes {
  readonly #grammar: Grammar;
  readonly #own: Language['kinds'];
  readonly #known = new Map<number, NodeType>();

  constructor(grammar: Grammar, own: Language['kinds']) {
    this.#grammar = grammar;
    this.#own = own;
  }

  of(id: number): NodeType {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // Errors have a number beyond those of the grammar.
    const name = this.#grammar.types[id] ?? 'ERROR';
    const isKnown = id < this.#grammar.nodeTypeCount;
    const isNamed = !QUOTE.test(name) && (!isKnown || this.#grammar.nodeTypeIsNamed(id));
    const kind = this.#own[name] ?? COMMON_KINDS.get(name) ?? 'other';
    const found = { name, kind, isNamed, isLeaf: LEAF.test(name) };
    this.#known.set(id, found);
    return found;
  }
}

/** Nodes without children, or whose children are never read. */
const LEAF =
  /identifier$|^(number|string_fragment|comment|type_annotation|type_arguments|type_argument_list|type_parameters)$/;
/** The quotes of Python's strings, which are nodes of their own there. */
const QUOTE = /^string_(start|end)$/;
const NO_CHILDREN: readonly SyntaxNode[] = [];

/** Copies the named nodes out of the parser's memory; null if they are nested too deeply. */
function buildTree(cursor: TreeCursor, types: NodeTypes, source: string): SyntaxNode | null {
  let isTooDeep = false;
  const build = (type: NodeType, parent: SyntaxNode | null, depth: number): SyntaxNode => {
    const { startIndex: start, endIndex: end } = cursor;
    const node: { -readonly [K in keyof SyntaxNode]: SyntaxNode[K] } = {
      kind: type.kind,
      type: type.name,
      field: cursor.currentFieldName ?? '',
      start,
      end,
      source,
      parent,
      children: NO_CHILDREN,
    };
    if (depth > MAX_DEPTH) {
      isTooDeep = true;
    } else if (!type.isLeaf && cursor.gotoFirstChild()) {
      const children: SyntaxNode[] = [];
      do {
        const child = types.of(cursor.nodeTypeId);
        if (child.isNamed) children.push(build(child, node, depth + 1));
      } while (cursor.gotoNextSibling());
      cursor.gotoParent();
      if (children.length > 0) node.children = children;
    }
    return node;
  };
  const root = build(types.of(cursor.nodeTypeId), null, 0);
  return isTooDeep ? null : root;
}
