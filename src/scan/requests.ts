import {
  ancestor,
  argumentsOf,
  calleeOf,
  childAt,
  classBase,
  entriesOf,
  isAnnotated,
  walk,
} from './access.js';
import { bindArguments, type FoundFunction } from './declared.js';
import { type Expression, UNBOUND, type Values } from './follow-values.js';
import type { Fuel } from './fuel.js';
import { isSelf } from './names.js';
import { BASE_KEYS, SENDS, SERVERS, SERVES, URL_KEYS } from './request-names.js';
import type { Certainty, ScanSettings } from './scan-settings.js';
import type { SyntaxNode } from './syntax.js';
import { flatten, joined, type TextValue } from './text-pieces.js';
import type { TextReader } from './text-value.js';
import { HOLE, readUrl, type UrlUse } from './v3-url.js';

/** An address that a call is given, directly or through functions of the project. */
export interface RequestUrl {
  readonly text: TextValue;
  readonly flat: string;
  readonly url: UrlUse;
  /** null: it does not speak V3. */
  readonly certainty: Certainty | null;
}

const MAX_DEPTH = 3;
/** Steps of the fuel that a call costs. */
const CALL_STEPS = 10;
/** Calls of a function that are looked at if it is called with a path. */
const MAX_CALLS = 80;

/** Finds the addresses that calls are given. */
export class Requests {
  readonly #values: Values;
  readonly #texts: TextReader;
  readonly #settings: ScanSettings;
  readonly #fuel: Fuel;
  /** Names of categories and models. */
  readonly #names: RegExp;
  readonly #known = new WeakMap<SyntaxNode, readonly RequestUrl[]>();
  readonly #bases = new WeakMap<SyntaxNode, TextValue | null>();
  readonly #callsIn = new WeakMap<SyntaxNode, readonly SyntaxNode[]>();

  constructor(values: Values, texts: TextReader, settings: ScanSettings, fuel: Fuel) {
    this.#fuel = fuel;
    this.#values = values;
    this.#texts = texts;
    this.#settings = settings;
    const names = settings.models.flatMap(({ v3 }) => v3.split('/'));
    this.#names = new RegExp(`\\b(${[...new Set(names)].join('|')})\\b`);
  }

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
    if (depth > MAX_DEPTH || !this.#fuel.spend(CALL_STEPS) || this.servesRoute(call)) return [];
    const own = this.#candidates(call).flatMap((one) => {
      const text = this.#texts.read(one);
      return text === null || text.length === 0 ? [] : [this.#judge(call, text)];
    });
    if (own.some(({ certainty }) => certainty === 'certain')) return own;
    // Looking into a function is worth it only where it is given a part of a route.
    if (!own.some(({ flat }) => this.#names.test(flat))) return own;
    const found = this.#values.functionOf(call);
    const inlined = found === null ? [] : this.#inside(call, found, depth);
    return inlined.length > 0 ? inlined : own;
  }

  /** Arguments, and entries of objects among them, that may be an address. */
  #candidates({ node, ...at }: Expression): Expression[] {
    return argumentsOf(node, at.file.source).flatMap(({ name, value }) => {
      if (value.kind === 'function' || value.kind === 'number') return [];
      const entries = value.kind === 'object' ? entriesOf(value, at.file.source) : [];
      const named = entries.filter(({ key }) => URL_KEYS.test(key)).map((entry) => entry.value);
      const own = name === '' || URL_KEYS.test(name) ? [value] : [];
      return [...own, ...named].map((one) => ({ ...at, node: one }));
    });
  }

  #judge(call: Expression, text: TextValue): RequestUrl {
    const flat = flatten(text);
    const url = readUrl(flat, this.#settings);
    const { name } = calleeOf(call.node, call.file.source);
    if (url.generation === 'v3') return { text, flat, url, certainty: 'certain' };
    if (url.generation === 'like_v3') return { text, flat, url, certainty: 'likely' };
    const isPath =
      url.generation === 'relative' &&
      (url.route !== null || (SENDS.test(name) && /^[\w/-]+(\?|$)/.test(flat)));
    if (!isPath) return { text, flat, url, certainty: null };
    const base = flat.startsWith(HOLE) ? null : this.#baseOfCall(call);
    if (base !== null) {
      const whole = joined(base, text);
      const wholeUrl = readUrl(flatten(whole), this.#settings);
      const certainty = wholeUrl.generation === 'v3' ? 'certain' : null;
      return { text: whole, flat: flatten(whole), url: wholeUrl, certainty };
    }
    const isHosted = this.#settings.v3Urls.length > 0 || /^\0*\/?v3\//.test(flat);
    const isLikely =
      isHosted && SENDS.test(name) && url.route?.isModelKnown === true && !this.#speaksV4(text);
    return { text, flat, url, certainty: isLikely ? 'likely' : null };
  }

  /** Whether an expression is an address of V3. */
  addressOf(given: Expression): Certainty | null {
    const text = this.#texts.read(given);
    const generation = text === null ? null : readUrl(flatten(text), this.#settings).generation;
    if (generation === 'v3') return 'certain';
    return generation === 'like_v3' ? 'likely' : null;
  }

  /** Whether a method without a body stands for a V3 request, by its annotation and that of its interface. */
  declaredBy({ file, node }: FoundFunction): Certainty | null {
    if (childAt(node, 'body') !== undefined) return null;
    const strings = walk(node).filter((one) => one.kind === 'string' && isAnnotated(one));
    return strings.reduce<Certainty | null>(
      (found, one) => found ?? this.declaredAt({ file, node: one, bound: UNBOUND }),
      null,
    );
  }

  /** Whether a route in an annotation is one of V3: its interface names the address, or the annotation is of a client. */
  declaredAt(at: Expression): Certainty | null {
    const text = this.#texts.read(at);
    const url = text === null ? null : readUrl(flatten(text), this.#settings);
    if (url?.route?.pair == null || url.generation !== 'relative') return null;
    const owner = ancestor(at.node, ({ kind }) => kind === 'class');
    const bases = (owner?.children ?? [])
      .filter(({ kind, type }) => kind === 'annotation' || type === 'modifiers')
      .flatMap(walk);
    const known = bases
      .filter(({ kind }) => kind === 'string')
      .map((node) => this.#texts.read({ ...at, node }));
    const generations = known.map((one) =>
      one === null ? 'relative' : readUrl(flatten(one), this.#settings).generation,
    );
    if (generations.includes('v3')) return 'certain';
    if (generations.includes('other') || generations.includes('v4')) return null;
    const place = ancestor(at.node, ({ type }) => type === 'attribute' || type === 'annotation');
    const source = place === null ? '' : at.file.source.slice(place.start, place.start + 30);
    return /^@?(GET|Get|RequestLine|GetExchange|POST|Post)\s*\(/.test(source) ? 'likely' : null;
  }

  #speaksV4(text: TextValue): boolean {
    const first = text[0];
    if (first?.kind !== 'hole' || first.expression === null) return false;
    const { file, node } = first.expression;
    return /v4/i.test(file.source.slice(node.start, node.end));
  }

  /** The addresses of the calls inside a function, with the arguments of this call. */
  #inside(call: Expression, found: FoundFunction, depth: number): RequestUrl[] {
    const bound = bindArguments(call, found);
    if (bound.size === 0) return [];
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

  #baseOfCall({ file, node, bound }: Expression): TextValue | null {
    const { receiver } = calleeOf(node, file.source);
    if (receiver === null || isSelf(receiver, file.source)) {
      const own = classBase(
        ancestor(node, ({ kind }) => kind === 'class'),
        file.source,
      );
      if (own !== null) return this.#texts.read({ file, node: own, bound });
      const named = receiver === null ? childAt(node, 'function') : undefined;
      return named?.kind === 'name' ? this.#baseOf({ file, node: named, bound }, 0) : null;
    }
    return this.#baseOf({ file, node: receiver, bound }, 0);
  }

  /** The address that a client was created with. */
  #baseOf(given: Expression, depth: number): TextValue | null {
    const at = this.#values.resolve(given);
    const known = this.#bases.get(at.node);
    if (known !== undefined) return known;
    this.#bases.set(at.node, null);
    const base = depth > 8 ? null : this.#readBase(at, depth);
    this.#bases.set(at.node, base);
    return base;
  }

  #readBase(at: Expression, depth: number): TextValue | null {
    const { node, file } = at;
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
    const { receiver } = calleeOf(node, file.source);
    return receiver === null
      ? this.#assignedBase(at)
      : (this.#baseOf({ ...at, node: receiver }, depth + 1) ?? this.#assignedBase(at));
  }

  #ownBase(at: Expression): TextValue | null {
    const { file, node } = at;
    const { name } = calleeOf(node, file.source);
    const given = argumentsOf(node, file.source);
    const named = [
      ...given.filter((one) => BASE_KEYS.test(one.name)).map(({ value }) => value),
      ...entriesOf(node, file.source)
        .filter(({ key }) => BASE_KEYS.test(key))
        .map(({ value }) => value),
    ];
    const nested = given.flatMap(({ value }) => {
      const resolved = this.#values.resolve({ ...at, node: value });
      return resolved.node.kind === 'object' && resolved.file === file
        ? entriesOf(resolved.node, file.source)
            .filter(({ key }) => BASE_KEYS.test(key))
            .map((entry) => entry.value)
        : [];
    });
    const plain = /^(get|post|put|patch|delete|request)$/i.test(name)
      ? []
      : given.slice(0, 1).map(({ value }) => value);
    for (const one of [...named, ...nested, ...plain]) {
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
        const isOwn = node.kind === 'name' || isSelf(node.children[0] ?? node, file.source);
        if (value === null || isOwn) continue;
        const text = this.#texts.read({ file, node: value, bound });
        if (text !== null) return text;
      }
    }
    return null;
  }

  /** Whether a call declares a route of this program's own server. */
  servesRoute({ file, node }: Expression): boolean {
    const { receiver, name } = calleeOf(node, file.source);
    if (!SERVES.test(name)) return false;
    const given = argumentsOf(node, file.source);
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
      entriesOf(second, file.source).length === 0;
    return (
      isServer &&
      receiver !== null &&
      isHandler &&
      this.#baseOf({ file, node: receiver, bound: UNBOUND }, 0) === null
    );
  }
}
