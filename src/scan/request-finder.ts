import {
  ancestor,
  argumentsOf,
  calleeOf,
  childAt,
  entriesOf,
  isInAnnotation,
  textOf,
  walk,
} from './access.js';
import { ClientBases } from './client-bases.js';
import { bindArguments, type FoundFunction } from './declarations.js';
import type { Fuel } from './fuel.js';
import { type ParsedUrl, parseUrl, UNKNOWN } from './parse-url.js';
import type { Certainty, ScanSettings } from './scan-settings.js';
import type { SyntaxNode } from './syntax.js';
import { flatten, joined, type TextValue } from './text-pieces.js';
import { NO_URLS, type TextReader } from './text-reader.js';
import { type Expression, UNBOUND, type ValueResolver } from './value-resolver.js';

/** An address that is passed to a call, directly or through functions of the project. */
export interface RequestUrl {
  readonly text: TextValue;
  readonly flat: string;
  readonly url: ParsedUrl;
  /** null: not an address of V3. */
  readonly certainty: Certainty | null;
}

/** Options and arguments that hold the address of a request. */
const URL_KEYS = /^(url|uri|path|endpoint|href|resource|requestUri|route)$/i;
/** Functions that send a request. */
const SENDS =
  /^(get|post|put|patch|delete|head|options|request|fetch|send|call|url|uri|open|urlopen|ajax|axios|got|ky|needle|superagent|exchange|retrieve|do|execute|download|stream|query|list|paginate|list_all|page|pages)|(request|fetch|http|json|async|api|client|forobject|forentity|page|pages|all)$/i;
/** Functions that declare a route of a server. */
const SERVES =
  /^(get|post|put|patch|delete|all|use|route|any|match|handle|handlefunc|map(get|post|put|delete)?|add_(url_rule|route)|path|re_path|url|resources?|namespace|scope|group|mount)$/i;
/** Objects that such functions are called on. */
const SERVERS =
  /^(app|router|server|fastify|routes?|mux|blueprint|bp|e|r|g|http|\w*router|endpoints|path|re_path)$/i;

const MAX_DEPTH = 3;
/** Steps that reading one call costs. */
const CALL_STEPS = 10;
/** Maximum number of calls in a function that are searched where the function is called with a path. */
const MAX_CALLS = 80;

/** Finds the addresses that are passed to calls. */
export class RequestFinder {
  readonly #values: ValueResolver;
  readonly #texts: TextReader;
  readonly #settings: ScanSettings;
  readonly #fuel: Fuel;
  /** Matches the name of a category or a model. */
  readonly #names: RegExp;
  readonly #known = new WeakMap<SyntaxNode, readonly RequestUrl[]>();
  readonly #clients: ClientBases;
  readonly #callsIn = new WeakMap<SyntaxNode, readonly SyntaxNode[]>();

  constructor(values: ValueResolver, texts: TextReader, settings: ScanSettings, fuel: Fuel) {
    this.#fuel = fuel;
    this.#values = values;
    this.#texts = texts;
    this.#clients = new ClientBases(values, texts);
    this.#settings = settings;
    const names = settings.models.flatMap(({ v3 }) => v3.split('/'));
    this.#names = new RegExp(`\\b(${[...new Set(names)].join('|')})\\b`);
  }

  /** The addresses that are passed to a call. */
  urlsOf(call: Expression, depth = 0): readonly RequestUrl[] {
    if (call.bound !== UNBOUND) return this.#readUrls(call, depth);
    const known = this.#known.get(call.node);
    if (known !== undefined) return known;
    // Recursive functions end here.
    this.#known.set(call.node, []);
    const urls = this.#readUrls(call, depth);
    this.#known.set(call.node, urls);
    return urls;
  }

  #readUrls(call: Expression, depth: number): readonly RequestUrl[] {
    if (depth > MAX_DEPTH || !this.#fuel.spend(CALL_STEPS)) return [];
    const texts = this.#candidates(call).flatMap((one) => {
      const text = this.#texts.read(one);
      return text === null || text.length === 0 ? [] : [text];
    });
    // Most calls end here, which saves the work below.
    if (texts.length === 0 || this.servesRoute(call)) return [];
    const own = texts.map((text) => this.#judge(call, text));
    if (own.some(({ certainty }) => certainty === 'certain')) return own;
    // A function is worth following only if it is passed a part of a route.
    if (!own.some(({ flat }) => this.#names.test(flat))) return own;
    if (this.#isOtherService(call)) return [];
    const inside = this.#urlsInside(call, depth);
    if (inside === null) return own;
    return inside.length > 0 ? inside : own.map((one) => ({ ...one, certainty: null }));
  }

  /** Whether a call only builds an address of another service or of V4. */
  #isOtherService(call: Expression): boolean {
    const text = this.#texts.isTextBuilder(call.node) ? this.#texts.read(call) : null;
    const kind = text === null ? 'relative' : parseUrl(flatten(text), this.#settings).kind;
    return kind === 'other' || kind === 'v4';
  }

  /** Whether a call certainly sends no request: it works on file paths, or is a function of the project that sends none. */
  sendsNothing(call: Expression): boolean {
    const { receiver } = calleeOf(call.node);
    const owner = receiver === null ? '' : textOf(receiver);
    return NO_URLS.test(owner) || this.#urlsInside(call, 0)?.length === 0;
  }

  /** Arguments, and entries of objects among them, that may be an address. */
  #candidates({ node, ...at }: Expression): Expression[] {
    return argumentsOf(node).flatMap(({ name, value }) => {
      if (value.kind === 'function' || value.kind === 'number') return [];
      const entries = value.kind === 'object' ? entriesOf(value) : [];
      const named = entries.filter(({ key }) => URL_KEYS.test(key)).map((entry) => entry.value);
      const own = name === '' || URL_KEYS.test(name) ? [value] : [];
      return [...own, ...named].map((one) => ({ ...at, node: one }));
    });
  }

  #judge(call: Expression, text: TextValue): RequestUrl {
    const flat = flatten(text);
    const url = parseUrl(flat, this.#settings);
    const { name, receiver } = calleeOf(call.node);
    if (url.certainty !== null) return { text, flat, url, certainty: url.certainty };
    const isPath =
      url.kind === 'relative' && (url.route !== null || (SENDS.test(name) && /^[\w/-]+(\?|$)/.test(flat)));
    if (!isPath) return { text, flat, url, certainty: null };
    const base = flat.startsWith(UNKNOWN) ? null : this.#clients.baseOfCall(call);
    if (base !== null) {
      const whole = joined(base, text);
      const wholeUrl = parseUrl(flatten(whole), this.#settings);
      const certainty = wholeUrl.kind === 'v3' ? 'certain' : null;
      return { text: whole, flat: flatten(whole), url: wholeUrl, certainty };
    }
    const isHosted = this.#settings.v3Urls.length > 0 || /^\0*\/?v3\//.test(flat);
    // Python's own `open` opens files.
    const isFile = name === 'open' && call.file.language.name === 'python' && receiver === null;
    const isLikely =
      isHosted && !isFile && SENDS.test(name) && url.route?.isModelKnown === true && !this.#isV4Base(text);
    return { text, flat, url, certainty: isLikely ? 'likely' : null };
  }

  /** How certainly an expression is an address of V3; null if it is none. */
  addressOf(given: Expression): Certainty | null {
    const text = this.#texts.read(given);
    return text === null ? null : parseUrl(flatten(text), this.#settings).certainty;
  }

  /** How certainly a method without a body is a V3 request, by annotations on it and its interface, as in Retrofit. */
  declaredBy({ file, node }: FoundFunction): Certainty | null {
    if (childAt(node, 'body') !== undefined) return null;
    for (const one of walk(node)) {
      if (one.kind !== 'string' || !isInAnnotation(one)) continue;
      const certainty = this.declaredAt({ file, node: one, bound: UNBOUND });
      if (certainty !== null) return certainty;
    }
    return null;
  }

  /** How certainly a route in an annotation is one of V3, by the address on its interface and the kind of annotation. */
  declaredAt(at: Expression): Certainty | null {
    const text = this.#texts.read(at);
    const url = text === null ? null : parseUrl(flatten(text), this.#settings);
    if (url?.route?.pair == null || url.kind !== 'relative') return null;
    const owner = ancestor(at.node, ({ kind }) => kind === 'class');
    const bases = (owner?.children ?? [])
      .filter(({ kind, type }) => kind === 'annotation' || type === 'modifiers')
      .flatMap(walk);
    const known = bases
      .filter(({ kind }) => kind === 'string')
      .map((node) => this.#texts.read({ ...at, node }));
    const kinds = known.map((one) =>
      one === null ? 'relative' : parseUrl(flatten(one), this.#settings).kind,
    );
    if (kinds.includes('v3')) return 'certain';
    if (kinds.includes('other') || kinds.includes('v4')) return null;
    const place = ancestor(at.node, ({ type }) => type === 'attribute' || type === 'annotation');
    const source = place === null ? '' : at.file.source.slice(place.start, place.start + 30);
    return /^@?(GET|Get|RequestLine|GetExchange|POST|Post)\s*\(/.test(source) ? 'likely' : null;
  }

  #isV4Base(text: TextValue): boolean {
    const first = text[0];
    if (first?.kind !== 'unknown' || first.expression === null) return false;
    return /v4/i.test(textOf(first.expression.node));
  }

  /** The addresses passed to calls inside the function that a call runs; null if the project does not have that function. */
  #urlsInside(call: Expression, depth: number): RequestUrl[] | null {
    const found = depth < MAX_DEPTH ? this.#values.functionOf(call) : null;
    if (found === null || childAt(found.node, 'body') === undefined) return null;
    const bound = bindArguments(call, found);
    if (bound.size === 0) return null;
    const calls =
      this.#callsIn.get(found.node) ??
      walk(found.node)
        .filter(({ kind }) => kind === 'call')
        .slice(0, MAX_CALLS);
    this.#callsIn.set(found.node, calls);
    return calls.flatMap((node) =>
      this.urlsOf({ file: found.file, node, bound }, depth + 1).filter(({ url }) => url.route !== null),
    );
  }

  /** Whether a call declares a route of this program's own server. */
  servesRoute({ file, node }: Expression): boolean {
    const { receiver, name } = calleeOf(node);
    if (!SERVES.test(name)) return false;
    const given = argumentsOf(node);
    const owner =
      receiver === null
        ? ''
        : file.source
            .slice(receiver.start, receiver.end)
            .replace(/^[$@]+/, '')
            .replace(/\(.*$/s, '');
    const isServer = receiver === null || SERVERS.test(owner) || /Route$|Router$/.test(owner);
    if (given.slice(1).some(({ value }) => value.kind === 'function')) return isServer;
    const hasBlock = node.children.some(({ kind }) => kind === 'function');
    if (receiver === null && (hasBlock || given.some((one) => one.name === 'to')))
      return file.language.name === 'ruby';
    const second = given[1]?.value;
    const isHandler =
      second !== undefined &&
      /^(name|member|index|call|object)$/.test(second.kind) &&
      second.type !== 'object' &&
      entriesOf(second).length === 0;
    return (
      isServer &&
      receiver !== null &&
      isHandler &&
      this.#clients.baseOf({ file, node: receiver, bound: UNBOUND }) === null
    );
  }
}
