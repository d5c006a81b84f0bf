import { argumentsOf, calleeOf, childAt, memberOf, textOf, unwrap } from './access.js';
import { bindArguments, returnsOf } from './declarations.js';
import { elementsOf } from './destructuring.js';
import type { Fuel } from './fuel.js';
import type { SyntaxNode } from './syntax.js';
import { flatten, hasText, joined, literal, split, type TextValue } from './text-pieces.js';
import { type Expression, UNBOUND, type ValueResolver } from './value-resolver.js';

const MAX_DEPTH = 24;

/** Methods whose result is, as a URL, about the same as their receiver. */
const KEEPS_RECEIVER =
  /^([sS]et\w+|[wW]ith\w*|[aA]dd\w*|[qQ]uery\w*|trim\w*|strip|rstrip|lstrip|chomp|freeze|to_s|toString|String|build|newBuilder|buildUpon|build_upon|replace|replaceAll|rtrim|href|TrimEnd|TrimSuffix|toASCIIString|AbsoluteUri|Uri|OriginalString|toURI|uri|as_str|dup|to_str|presence|encode|decode)$/;
/** Functions whose result is, as a URL, about the same as their first argument. */
const KEEPS_ARGUMENT =
  /^(URI|URL|Uri|Url|URI\.create|create|parse|Parse|String|str|encodeURI|[lr]?trim|[lr]?strip|TrimRight|TrimSuffix|TrimPrefix|MustParse|Text|get|valueOf|unquote|must|uri|url|UriBuilder|HttpUrl|fromHttpUrl|fromUriString|newBuilder|yarl|parse_url|new_url)$/;
/** Classes whose `get`, `parse` and `create` create a URL from a text. */
const URL_CLASSES =
  /^(URI|URL|Uri|Url|HttpUrl|url|yarl|UriComponentsBuilder|Addressable::URI|UriTemplate|httpx|String)$/;
/** Functions that join parts of a path. */
const JOINS =
  /^(urljoin|join|joinpath|Combine|JoinPath|appendPath|appendEncodedPath|addPathSegments?|addEncodedPathSegments?|AppendPathSegments?|resolve|merge|path|path_join|joinPath|append_path)$/;
/** Functions that join the elements of a list. */
const LIST_JOINS = /^(join|Join|implode)$/;
const FORMATS = /^(format|Format|sprintf|Sprintf|formatted|vsprintf|String\.format)$/;
/** Objects whose methods of these names create no URLs. */
export const NO_URLS = /^(path|Path|File|os\.path|filepath|posix|Paths|Promise|Arrays|Collections)$/;
/** Functions that read a setting; their second argument is its default. */
const ENVIRONMENT =
  /^(get|getenv|getOrDefault|fetch|env|GetEnvironmentVariable|config|GetValue|getProperty|lookup)$/;

/** Reads the text that an expression evaluates to, as far as the source shows it. */
export class TextReader {
  readonly #values: ValueResolver;
  readonly #fuel: Fuel;
  /** Cache for unbound expressions. */
  readonly #known = new WeakMap<SyntaxNode, TextValue | null>();

  constructor(values: ValueResolver, fuel: Fuel) {
    this.#values = values;
    this.#fuel = fuel;
  }

  /** The text of an expression; null if it is not a text. */
  read(given: Expression, depth = 0): TextValue | null {
    if (depth > MAX_DEPTH || !this.#fuel.spend()) return null;
    const at = { ...given, node: unwrap(given.node) };
    if (at.bound !== UNBOUND) return this.#readAny(at, depth);
    const known = this.#known.get(at.node);
    if (known !== undefined) return known;
    const text = this.#readAny(at, depth);
    if (this.#fuel.isLeft) this.#known.set(at.node, text);
    return text;
  }

  #readAny(at: Expression, depth: number): TextValue | null {
    const { node, file } = at;
    switch (node.kind) {
      case 'string':
        return this.#string(at, depth);
      case 'concat':
        return node.children.flatMap((child) => this.readOrUnknown({ ...at, node: child }, depth));
      case 'number':
        return [literal(file, node.start, node.end)];
      case 'binary':
        return this.#binary(at, depth);
      case 'conditional':
        return this.#alternatives(alternativesOf(at), depth);
      case 'call':
        return this.#call(at, depth) ?? this.#named(at, depth);
      case 'name':
      case 'shorthand':
      case 'member':
      case 'index':
        return this.#named(at, depth);
      default:
        return null;
    }
  }

  /** Whether a call formats or joins texts. */
  isTextBuilder(call: SyntaxNode): boolean {
    const { name, receiver, isNew } = calleeOf(call);
    const owner = receiver === null ? '' : textOf(receiver);
    const isJoined = (JOINS.test(name) || LIST_JOINS.test(name)) && !NO_URLS.test(owner);
    return FORMATS.test(name) || isJoined || (isNew && /^(URL|Uri|URI)$/.test(name));
  }

  /** As `read`, with an unknown piece for an expression whose text the source does not show. */
  readOrUnknown(at: Expression, depth: number): TextValue {
    return this.read(at, depth + 1) ?? [{ kind: 'unknown', expression: at }];
  }

  #named(at: Expression, depth: number): TextValue | null {
    const resolved = this.#values.resolve(at);
    const member = memberOf(at.node);
    if (resolved.node === at.node && member !== null && KEEPS_RECEIVER.test(member.name)) {
      return this.read({ ...at, node: member.object }, depth + 1);
    }
    if (resolved.node === at.node) return null;
    return this.read(resolved, depth + 1);
  }

  #string(at: Expression, depth: number): TextValue {
    const { node, file } = at;
    const parts = node.children.filter(({ type }) => !/^(heredoc|interpolation)_(start|end)$/.test(type));
    if (parts.length === 0) {
      const raw = textOf(node);
      const open = /^[@$\w]{0,3}("""|'''|["'`])/.exec(raw)?.[0].length ?? 0;
      return raw.length <= open * 2 && open > 0
        ? []
        : [literal(file, node.start + open, node.end - Math.min(1, open))];
    }
    return parts.flatMap((part): TextValue => {
      if (part.kind === 'content' || part.kind === 'escape') return [literal(file, part.start, part.end)];
      if (part.type === 'interpolation_brace') return [];
      return this.readOrUnknown({ ...at, node: interpolated(part) }, depth);
    });
  }

  #binary(at: Expression, depth: number): TextValue | null {
    const { node, file } = at;
    const [left, right] = [
      childAt(node, 'left') ?? node.children[0],
      childAt(node, 'right') ?? node.children.at(-1),
    ];
    if (left === undefined || right === undefined || left === right) return null;
    const operator = file.source.slice(left.end, right.start).trim();
    const [first, second] = [
      { ...at, node: left },
      { ...at, node: right },
    ];
    if (/^(\|\||\?\?|or|\?:)$/.test(operator)) return this.#alternatives([first, second], depth);
    if (operator === '%') return this.#format(first, [second], depth);
    if (operator !== '+' && operator !== '.' && operator !== '/' && operator !== '<>') return null;
    const texts = [this.read(first, depth + 1), this.read(second, depth + 1)] as const;
    if (texts[0] === null && texts[1] === null) return null;
    if (operator === '/' && !texts.some(hasText)) return null;
    const [before, after] = [
      texts[0] ?? this.readOrUnknown(first, depth),
      texts[1] ?? this.readOrUnknown(second, depth),
    ];
    return operator === '/' ? joined(before, after) : [...before, ...after];
  }

  /** The first alternative whose beginning is known. */
  #alternatives(given: readonly Expression[], depth: number): TextValue | null {
    const texts = given.map((one) => this.read(one, depth + 1));
    return (
      texts.find((text) => text !== null && text[0]?.kind === 'literal') ??
      texts.find((text) => text !== null) ??
      null
    );
  }

  #call(at: Expression, depth: number): TextValue | null {
    const { node } = at;
    const { receiver, name, isNew } = calleeOf(node);
    const given = argumentsOf(node).map(({ value }) => ({ ...at, node: value }));
    const [first, second] = given;
    const owner = receiver === null ? '' : textOf(receiver);
    if (FORMATS.test(name)) return this.#formatCall(at, receiver, given, depth);
    const found = this.#values.functionOf(at);
    if (found !== null) {
      const bound = bindArguments(at, found);
      const results = returnsOf(found).map((one) =>
        this.read({ file: found.file, node: one, bound }, depth + 1),
      );
      return results.find((text) => text !== null) ?? null;
    }
    if (LIST_JOINS.test(name)) {
      const text = this.#joinList(receiver === null ? given : [{ ...at, node: receiver }, ...given], depth);
      if (text !== null) return text;
    }
    if (JOINS.test(name) && !NO_URLS.test(owner) && first !== undefined) {
      const base = receiver === null || given.length > 1 ? first : { ...at, node: receiver };
      const rest = base === first ? given.slice(1) : given;
      return this.#join(base, rest, depth);
    }
    if (/^(URL|Uri|URI)$/.test(name) && isNew && first !== undefined && second !== undefined)
      return this.#newUrl(first, second, depth);
    if (ENVIRONMENT.test(name) && second !== undefined && /env|config|settings/i.test(`${owner}${name}`)) {
      return this.read(second, depth + 1);
    }
    if (first !== undefined && KEEPS_ARGUMENT.test(name) && (receiver === null || URL_CLASSES.test(owner))) {
      return this.read(first, depth + 1);
    }
    if (receiver !== null && KEEPS_RECEIVER.test(name))
      return this.read({ ...at, node: receiver }, depth + 1);
    return null;
  }

  /** The elements of a list with a separator between them; languages differ in which of the two comes first. */
  #joinList(given: readonly Expression[], depth: number): TextValue | null {
    const lists = given.map((one) => this.#values.resolve(one));
    const list = lists.find(({ node }) => elementsOf(node).length > 0);
    const separators = given.filter((_, at) => lists[at] !== list).map((one) => this.read(one, depth + 1));
    const separator = separators.find((text) => text?.[0]?.kind === 'literal');
    const between = separator == null ? null : flatten(separator);
    if (list === undefined || (between !== '/' && between !== '')) return null;
    const parts = elementsOf(list.node).map((node) => this.readOrUnknown({ ...list, node }, depth));
    if (!parts.some(hasText)) return null;
    return between === '' ? parts.flat() : parts.reduce(joined);
  }

  #join(base: Expression, rest: readonly Expression[], depth: number): TextValue | null {
    const start = this.read(base, depth + 1);
    if (start === null && rest.length < 1) return null;
    const parts = rest.map((one) => this.readOrUnknown(one, depth));
    if (start === null && !parts.some(hasText)) return null;
    return parts.reduce(joined, start ?? this.readOrUnknown(base, depth));
  }

  /** `new URL(path, base)` of JavaScript and `new Uri(base, path)` of C#. */
  #newUrl(first: Expression, second: Expression, depth: number): TextValue {
    const isScript = first.file.language.imports === 'relative';
    const [base, path] = isScript ? [second, first] : [first, second];
    return joined(this.readOrUnknown(base, depth), this.readOrUnknown(path, depth));
  }

  #formatCall(
    at: Expression,
    receiver: Expression['node'] | null,
    given: readonly Expression[],
    depth: number,
  ) {
    const isOwn = receiver !== null && unwrap(receiver).kind === 'string';
    const owner = receiver === null ? null : this.read({ ...at, node: receiver }, depth + 1);
    if (receiver !== null && (isOwn || owner !== null))
      return this.#format({ ...at, node: receiver }, given, depth);
    const [first, ...rest] = given;
    return first === undefined ? null : this.#format(first, rest, depth);
  }

  /** Fills `%s`, `{}`, `{0}` and `{name}` with the arguments in their order. */
  #format(pattern: Expression, given: readonly Expression[], depth: number): TextValue | null {
    const text = this.read(pattern, depth + 1);
    if (text === null) return null;
    const flat = given.flatMap((one) =>
      /^(tuple|array)$/.test(one.node.type) ? one.node.children.map((node) => ({ ...one, node })) : [one],
    );
    let next = 0;
    return text.flatMap((piece): TextValue => {
      if (piece.kind === 'unknown') return [piece];
      return split(piece, /%[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z]|\{(?:\d+|\w*)\}/g).flatMap((part): TextValue => {
        if (typeof part !== 'string') return [part];
        const index = /^\{(\d+)\}$/.exec(part)?.[1];
        const filler = flat[index === undefined ? next++ : Number(index)];
        return filler === undefined
          ? [{ kind: 'unknown', expression: pattern }]
          : this.readOrUnknown(filler, depth);
      });
    });
  }
}

function interpolated(part: Expression['node']): Expression['node'] {
  const inner = part.children.filter(({ type }) => !/brace|conversion|format/.test(type));
  return part.kind === 'wrap' ? (childAt(part, 'expression') ?? inner[0] ?? part) : part;
}

function alternativesOf(at: Expression): Expression[] {
  const { node } = at;
  const named = [childAt(node, 'consequence', 'body'), childAt(node, 'alternative')];
  const chosen = named.every((one) => one !== undefined)
    ? named
    : node.children.slice(node.children.length > 2 ? 1 : 0);
  // Python writes the condition in the middle.
  const branches =
    /^conditional_expression$/.test(node.type) && named[0] === undefined
      ? [node.children[0], node.children[2]]
      : chosen;
  return branches.flatMap((one) => (one === undefined ? [] : [{ ...at, node: one }]));
}
