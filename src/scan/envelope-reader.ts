import { argumentsOf, calleeOf, callReceiving, childAt, memberOf, nameOf, unwrap } from './access.js';
import { bindArguments, fieldsAround, returnsOf } from './declarations.js';
import { ENVELOPE_MEMBERS, envelopeMember, GETTER_METHODS, isAssigned } from './envelope-members.js';
import type { Fuel } from './fuel.js';
import { type Declaration, isField, isSelf, lookUp } from './names.js';
import type { RequestFinder } from './request-finder.js';
import type { Certainty } from './scan-settings.js';
import type { SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';
import { type Expression, UNBOUND, type ValueResolver } from './value-resolver.js';

/** The response of a V3 request, or its parsed body. */
interface V3Value {
  /** `response`: what a client returns; `body`: the envelope. */
  readonly kind: 'response' | 'body';
  readonly certainty: Certainty;
}

/** A read of a member of a V3 envelope. */
export interface EnvelopeRead {
  readonly node: SyntaxNode;
  readonly name: string;
  readonly certainty: Certainty;
  /** The expression for the envelope; null in destructuring patterns. */
  readonly object: SyntaxNode | null;
}

/** Functions and methods that parse a body. */
const PARSES =
  /^(json|[pP]arse\w*|[gG]etJson\w*|GetJson\w*|loads?|json_decode|decode|Decode|Unmarshal|readTree|readValue|fromJson|Deserialize\w*|ReadFromJson\w*|GetFromJson\w*|parsed_response|JSONObject|JsonParser|parseString|readEntity|bodyToMono|getForObject|array|object|parse_json|toArray|readObject|jsonDecode|SetResult|getJson|getJSON|JArray|JObject|ReadAsAsync|ReadAsJsonAsync)$/;
/** Members and methods that lead from a response to its body or to itself. */
const KEEPS_RESPONSE =
  /^(body|content|text|result|response|value|Content|Body|Result|Value|RootElement|Root|getBody|getContents|parsed|parsed_response|read|payload|toString|clone|AsObject|then|catch|finally|execute|join|block|await|retrieve|ConfigureAwait|EnsureSuccessStatusCode|raise_for_status|throw|string|bodyToMono|onErrorResume|GetAwaiter|GetResult|entity|decode|getAsJsonObject|asObject|as_json|with_indifferent_access|symbolize_keys|to_h|orElseThrow|getEntity|charStream|byteStream|ReadAsStringAsync|ReadAsStreamAsync|OpenReadStream)$/;
/** Methods that pass the resolved value of their receiver to a callback. */
const RESOLVES =
  /^(then|tap|map|flatMap|thenApply|thenCompose|subscribe|pipe|thenAccept|let|also|done|success|on)$/;
/** Operators of RxJS that pass the value to a callback. */
const OPERATORS = /^(map|tap|switchMap|mergeMap|concatMap)$/;
const MAX_DEPTH = 24;

/** Finds reads of V3 envelopes: follows each read back to the request that its value came from. */
export class EnvelopeReader {
  readonly #values: ValueResolver;
  readonly #requests: RequestFinder;
  readonly #fuel: Fuel;
  readonly #known = new WeakMap<SyntaxNode, V3Value | null>();

  constructor(values: ValueResolver, requests: RequestFinder, fuel: Fuel) {
    this.#fuel = fuel;
    this.#values = values;
    this.#requests = requests;
  }

  readsIn(file: SourceFile): EnvelopeRead[] {
    const members = file.nodes.flatMap((node) => this.#readAt(file, node) ?? []);
    const patterns = [...file.names.byScope.values()].flatMap((names) => [...names.values()].flat());
    return [...members, ...patterns.flatMap((one) => this.#readByPattern(file, one) ?? [])];
  }

  #readAt(file: SourceFile, node: SyntaxNode): EnvelopeRead | null {
    const read = envelopeMember(node);
    if (read === null || isAssigned(node)) return null;
    this.#fuel.refill();
    const response = this.#responseOf({ file, node: read.object, bound: UNBOUND }, 0);
    if (response === null) return null;
    // Responses of some clients have the body as `data`, and iterators have a `next` of their own.
    const isOwn =
      response.kind === 'body' ||
      (node.kind === 'index' && file.language.imports !== 'relative') ||
      (node.kind === 'call' && /^(json|GetBytes|data_get)$/.test(calleeOf(node).name)) ||
      /count/i.test(read.name);
    return isOwn
      ? { node: read.nameNode, name: read.name, certainty: response.certainty, object: read.object }
      : null;
  }

  #readByPattern(file: SourceFile, declared: Declaration): EnvelopeRead | null {
    const { key, value, node } = declared;
    if (key === null || !ENVELOPE_MEMBERS.test(key)) return null;
    this.#fuel.refill();
    const at = { file, node, bound: UNBOUND };
    const response =
      value === null ? this.#callbackArgument(at, declared, 0) : this.#responseOf({ ...at, node: value }, 0);
    if (response?.kind !== 'body') return null;
    return { node, name: key, certainty: response.certainty, object: null };
  }

  #responseOf(given: Expression, depth: number): V3Value | null {
    if (depth > MAX_DEPTH || !this.#fuel.spend()) return null;
    const at = { ...given, node: unwrap(given.node) };
    if (at.bound !== UNBOUND) return this.#trace(at, depth);
    const known = this.#known.get(at.node);
    if (known !== undefined) return known;
    this.#known.set(at.node, null);
    const response = this.#trace(at, depth);
    this.#known.set(at.node, response);
    return response;
  }

  #trace(at: Expression, depth: number): V3Value | null {
    const { node } = at;
    switch (node.kind) {
      case 'call':
        return this.#traceCall(at, depth);
      case 'name':
        return this.#traceName(at, depth);
      case 'member':
      case 'index':
        return this.#traceMember(at, depth);
      case 'binary':
      case 'conditional':
        return this.#firstResponse(node.children, at, depth);
      case 'assign': {
        const value = childAt(node, 'right', 'value');
        return value === undefined ? null : this.#responseOf({ ...at, node: value }, depth + 1);
      }
      default:
        return null;
    }
  }

  #firstResponse(
    nodes: readonly SyntaxNode[],
    { file, bound }: Omit<Expression, 'node'>,
    depth: number,
  ): V3Value | null {
    for (const node of nodes) {
      const response = this.#responseOf({ file, node, bound }, depth + 1);
      if (response !== null) return response;
    }
    return null;
  }

  #traceName(at: Expression, depth: number): V3Value | null {
    const { file, node } = at;
    const name = nameOf(node);
    const declared = isField(node)
      ? (fieldsAround(file, name, node).find(({ value }) => value !== null) ?? null)
      : lookUp(file.names, name, node);
    if (declared === null) return null;
    if (declared.parameter !== null) return this.#traceParameter(at, declared, depth);
    if (declared.value === null || declared.value.kind === 'function') return null;
    const value = { ...at, node: declared.value };
    const response = this.#responseOf(value, depth + 1) ?? this.#appendedTo(at, name, depth);
    if (response === null || declared.key === null)
      return response === null ? null : this.#decoded(value, response);
    return this.#memberOfResponse(at.file, response, declared.key);
  }

  /** A text that is collected in chunks comes from where its first chunk comes from. */
  #appendedTo(at: Expression, name: string, depth: number): V3Value | null {
    const [first] = at.file.names.appended.get(name) ?? [];
    return first === undefined ? null : this.#responseOf({ ...at, node: first }, depth + 1);
  }

  /** A variable that a call decodes into is the body. */
  #decoded({ node }: Expression, response: V3Value): V3Value {
    const isDecoder = node.kind === 'call' && PARSES.test(calleeOf(node).name);
    return isDecoder ? { ...response, kind: 'body' } : response;
  }

  #traceParameter(at: Expression, declared: Declaration, depth: number): V3Value | null {
    const given = [...at.bound].find(
      ([one]) => one.scope === declared.scope && one.parameter === declared.parameter,
    )?.[1];
    const response =
      given === undefined ? this.#callbackArgument(at, declared, depth) : this.#responseOf(given, depth + 1);
    return response === null || declared.key === null
      ? response
      : this.#memberOfResponse(given?.file ?? at.file, response, declared.key);
  }

  /** What a callback receives: from `.then(…)` the resolved value of the receiver, from a request its response. */
  #callbackArgument(at: Expression, { scope, parameter, name }: Declaration, depth: number): V3Value | null {
    const pair = scope.parent?.kind === 'pair' ? scope.parent : null;
    if (pair !== null) {
      const key = at.file.source.slice(pair.start, pair.start + 20);
      if (!/^\W*(success|done|complete|onSuccess)\b/.test(key) || parameter !== 0) return null;
    }
    const call = callReceiving(pair?.parent ?? scope);
    if (call === null || depth > MAX_DEPTH) return null;
    const { receiver, name: method } = calleeOf(call);
    if (parameter === 0 && receiver !== null && RESOLVES.test(method))
      return this.#responseOf({ ...at, node: receiver }, depth + 1);
    // Operators of RxJS are arguments of `pipe`, whose receiver emits the values.
    const piped = receiver === null && OPERATORS.test(method) ? callReceiving(call) : null;
    const source = piped === null ? null : calleeOf(piped);
    if (parameter === 0 && source?.receiver != null && source.name === 'pipe')
      return this.#responseOf({ ...at, node: source.receiver }, depth + 1);
    if (/^(each|map)$/.test(method)) return null;
    // Callbacks of Node take an error first, then the response, then the body.
    const isBody = pair !== null || /^(body|data|json|page|result)$/i.test(name);
    if (parameter !== 0 && !isBody) return null;
    const [url] = this.#requests.urlsOf({ ...at, node: call });
    return url?.certainty == null ? null : { kind: isBody ? 'body' : 'response', certainty: url.certainty };
  }

  #traceMember(at: Expression, depth: number): V3Value | null {
    const member = memberOf(at.node);
    if (member === null) return null;
    const response = this.#responseOf({ ...at, node: member.object }, depth + 1);
    if (response !== null) return this.#memberOfResponse(at.file, response, member.name);
    if (!isSelf(member.object)) return null;
    const fields = fieldsAround(at.file, member.name, at.node);
    const value = fields.find((one) => one.value !== null)?.value;
    return value === undefined || value === null || value.kind === 'function'
      ? null
      : this.#responseOf({ ...at, node: value }, depth + 1);
  }

  #memberOfResponse(file: SourceFile, response: V3Value, name: string): V3Value | null {
    if (response.kind === 'response' && /^(data|body)$/.test(name) && file.language.imports === 'relative')
      return { ...response, kind: 'body' };
    if (PARSES.test(name)) return { ...response, kind: 'body' };
    return KEEPS_RESPONSE.test(name) ? response : null;
  }

  #traceCall(at: Expression, depth: number): V3Value | null {
    const { node } = at;
    const { receiver, name } = calleeOf(node);
    const given = argumentsOf(node).map(({ value }) => ({ ...at, node: value }));
    const inner = [...given, ...(receiver === null ? [] : [{ ...at, node: receiver }])];
    const isEnvelopeGetter = envelopeMember(node) !== null && receiver !== null;
    if (name === 'then' || name === 'thenApply') {
      const result = this.#resultOfCallback(at, depth);
      if (result !== undefined) return result;
    }
    const found = this.#values.functionOf(at);
    if (found !== null) {
      const declared = this.#requests.declaredBy(found);
      if (declared !== null) return { kind: 'body', certainty: declared };
      const bound = bindArguments(at, found);
      const response = this.#firstResponse(returnsOf(found), { file: found.file, bound }, depth);
      if (response !== null) return response;
    }
    const isParser = PARSES.test(name);
    for (const one of inner) {
      const response = isEnvelopeGetter ? null : this.#responseOf(one, depth + 1);
      if (response === null) continue;
      if (isParser) return { ...response, kind: 'body' };
      const isReceiver = one.node === receiver;
      if (!isReceiver && response.kind === 'body') continue;
      if (
        !isReceiver ||
        KEEPS_RESPONSE.test(name) ||
        (response.kind === 'response' && !GETTER_METHODS.test(name))
      )
        return response;
    }
    if (isEnvelopeGetter) return null;
    const opened = receiver === null ? null : this.#openedUrl(at, receiver, name);
    if (opened !== null) return opened;
    const address = this.#requests
      .urlsOf(at)
      .find(({ certainty }) => certainty !== null && certainty !== 'look');
    const isLogged = /^(log|debug|info|warn|error|print|println|printf|puts|trace|Log\w*|console)$/.test(
      name,
    );
    if (address?.certainty == null || isLogged) return null;
    return {
      kind: /^(GetFromJson|getForObject|getJSON)/.test(name) ? 'body' : 'response',
      certainty: address.url.isGraphql ? 'likely' : address.certainty,
    };
  }

  /** A request that is sent by a method of its address, as `url.openStream()`. */
  #openedUrl(at: Expression, receiver: SyntaxNode, name: string): V3Value | null {
    if (!/^(open\w*|[gG]et\w*|Post\w*|fetch|retrieve|Send\w*)$/.test(name)) return null;
    const certainty = this.#requests.addressOf({ ...at, node: receiver });
    return certainty === null ? null : { kind: PARSES.test(name) ? 'body' : 'response', certainty };
  }

  /** What the callback of `then` returns; undefined if the callback is not written there. */
  #resultOfCallback(at: Expression, depth: number): V3Value | null | undefined {
    const callback = argumentsOf(at.node)[0]?.value;
    if (callback?.kind !== 'function') return undefined;
    return this.#firstResponse(returnsOf({ file: at.file, node: callback }), at, depth);
  }
}
