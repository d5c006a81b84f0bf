import { ancestor, argumentsOf, baseUriOf, calleeOf, childAt, entriesOf, unwrap, walk } from './access.js';
import { bindArguments } from './declarations.js';
import { isSelf } from './names.js';
import type { SyntaxNode } from './syntax.js';
import { flatten, type TextValue } from './text-pieces.js';
import type { TextReader } from './text-reader.js';
import type { Expression, ValueResolver } from './value-resolver.js';

/** Options that hold the base address of a client. */
const BASE_KEYS =
  /^(base_?(url|uri|path|address)|prefix_?url|url|uri|host|endpoint|server|root_?url|api_?(base|url)|baseEndpoint)$/i;
const MAX_DEPTH = 8;
/** Maximum number of calls in a function that are searched for the client that it creates. */
const MAX_CALLS = 80;

/** Finds the base address that an HTTP client was created with. */
export class ClientBases {
  readonly #values: ValueResolver;
  readonly #texts: TextReader;
  readonly #bases = new WeakMap<SyntaxNode, TextValue | null>();

  constructor(values: ValueResolver, texts: TextReader) {
    this.#values = values;
    this.#texts = texts;
  }

  /** The base address of the client whose method a call is; null if the source does not show it. */
  baseOfCall({ file, node, bound }: Expression): TextValue | null {
    const { receiver } = calleeOf(node);
    if (receiver === null || isSelf(receiver)) {
      const own = baseUriOf(ancestor(node, ({ kind }) => kind === 'class'));
      if (own !== null) return this.#texts.read({ file, node: own, bound });
      const callee = receiver === null ? childAt(node, 'function') : undefined;
      // In TypeScript, `await f<T>()` is parsed as a call of the result of `await f`.
      const named = callee === undefined ? undefined : unwrap(callee);
      return named?.kind === 'name' ? this.baseOf({ file, node: named, bound }) : null;
    }
    return this.baseOf({ file, node: receiver, bound });
  }

  /** The base address of the client that an expression evaluates to; null if the source does not show it. */
  baseOf(given: Expression, depth = 0): TextValue | null {
    const at = this.#values.resolve(given);
    const known = this.#bases.get(at.node);
    if (known !== undefined) return known;
    this.#bases.set(at.node, null);
    const base = depth > MAX_DEPTH ? null : this.#readBase(at, depth);
    this.#bases.set(at.node, base);
    return base;
  }

  #readBase(at: Expression, depth: number): TextValue | null {
    const { node } = at;
    if (node.kind !== 'call') {
      return at.node.kind === 'name' ? this.#assignedBase(at) : null;
    }
    const found = this.#values.functionOf(at);
    const result = found === null ? undefined : childAt(found.node, 'body');
    if (found !== null && result !== undefined) {
      const bound = bindArguments(at, found);
      for (const one of walk(result)
        .filter(({ kind }) => kind === 'call')
        .slice(0, MAX_CALLS)) {
        const base = this.#ownBase({ file: found.file, node: one, bound });
        if (base !== null) return base;
      }
    }
    const own = this.#ownBase(at);
    if (own !== null) return own;
    const { receiver } = calleeOf(node);
    return receiver === null
      ? this.#assignedBase(at)
      : (this.baseOf({ ...at, node: receiver }, depth + 1) ?? this.#assignedBase(at));
  }

  #ownBase(at: Expression): TextValue | null {
    const { file, node } = at;
    const { name } = calleeOf(node);
    const given = argumentsOf(node);
    const named = given.flatMap((one) => (BASE_KEYS.test(one.name) ? [one.value] : []));
    const nested = given.flatMap(({ value }) => {
      const resolved = this.#values.resolve({ ...at, node: value });
      return resolved.node.kind === 'object' && resolved.file === file ? basesIn(resolved.node) : [];
    });
    const plain = /^(get|post|put|patch|delete|request)$/i.test(name)
      ? []
      : given.slice(0, 1).map(({ value }) => value);
    for (const one of [...named, ...basesIn(node), ...nested, ...plain]) {
      const text = this.#texts.read({ ...at, node: one });
      if (text !== null && /^\s*(https?:)?\/\//.test(flatten(text))) return text;
    }
    return null;
  }

  /** `client.BaseAddress = …` and `axios.defaults.baseURL = …`. */
  #assignedBase({ file, bound }: Expression): TextValue | null {
    for (const [name, fields] of file.names.fields) {
      if (!BASE_KEYS.test(name)) continue;
      for (const { value, node } of fields) {
        const isOwn = node.kind === 'name' || isSelf(node.children[0] ?? node);
        if (value === null || isOwn) continue;
        const text = this.#texts.read({ file, node: value, bound });
        if (text !== null) return text;
      }
    }
    return null;
  }
}

/** The values of the options that hold a base address. */
function basesIn(object: SyntaxNode): SyntaxNode[] {
  return entriesOf(object).flatMap(({ key, value }) => (BASE_KEYS.test(key) ? [value] : []));
}
