import { ancestor, argumentsOf, calleeOf, type Entry, entriesOf, textOf, walk } from './access.js';
import type { EnvelopeRead, EnvelopeReader } from './envelope-reader.js';
import type { Fuel } from './fuel.js';
import { type ParsedUrl, parseUrl } from './parse-url.js';
import type { RequestFinder, RequestUrl } from './request-finder.js';
import type { Certainty, ScanSettings } from './scan-settings.js';
import type { SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';
import { flatten, pieceAt, type TextValue } from './text-pieces.js';
import type { TextReader } from './text-reader.js';
import { type Expression, UNBOUND, type ValueResolver } from './value-resolver.js';

/** A text in the file that is an address or a part of one. */
export interface Address extends RequestUrl {
  /** The expression that builds the text. */
  readonly start: number;
  readonly end: number;
  /** The call that the address is passed to; null if there is none. */
  readonly call: SyntaxNode | null;
  /** Entries of objects that are passed in the same call. */
  readonly entries: readonly Entry[];
}

/** What every rule is given: all that was found in one file. */
export interface RuleInput {
  readonly path: string;
  readonly source: string;
  readonly language: string;
  /** Empty for text that is not parsed. */
  readonly nodes: readonly SyntaxNode[];
  readonly addresses: readonly Address[];
  readonly reads: readonly EnvelopeRead[];
  /** Strings in the order of the source, with their text as written. */
  readonly strings: readonly { readonly start: number; readonly text: string }[];
  /** The highest certainty of any address in the file; null if none is of V3. */
  readonly v3: Certainty | null;
  readonly settings: ScanSettings;
}

/** The readers of source files: one of each for a whole scan. */
export interface SourceReaders {
  readonly values: ValueResolver;
  readonly texts: TextReader;
  readonly requests: RequestFinder;
  readonly responses: EnvelopeReader;
  readonly settings: ScanSettings;
  readonly fuel: Fuel;
}

/** Collects what the rules judge in a parsed file. */
export function readRuleInput(file: SourceFile, readers: SourceReaders): RuleInput {
  const strings = file.nodes.filter((node) => node.kind === 'string' && !isProse(node));
  const requested = readRequested(file, readers);
  const written = readWritten(file, strings, readers, requested);
  const addresses = [...requested, ...written];
  return {
    path: file.path,
    source: file.source,
    language: file.language.name,
    nodes: file.nodes,
    addresses,
    reads: readers.responses.readsIn(file),
    strings: strings.map((node) => ({
      start: node.start,
      text: unquote(textOf(node)),
    })),
    v3: highestCertainty(addresses),
    settings: readers.settings,
  };
}

/** null: none of the addresses is of V3. */
export function highestCertainty(addresses: readonly Address[]): Certainty | null {
  const found = addresses.map(({ certainty }) => certainty);
  return found.includes('certain') ? 'certain' : found.includes('likely') ? 'likely' : null;
}

function unquote(raw: string): string {
  return raw.replace(/^[@$\w]{0,3}["'`]{1,3}|["'`]{1,3}$/g, '');
}

/** A docstring, an import or a directive. */
function isProse(node: SyntaxNode): boolean {
  return (
    node.parent?.type === 'expression_statement' || ancestor(node, ({ kind }) => kind === 'import') !== null
  );
}

function readRequested(file: SourceFile, { requests, values, fuel }: SourceReaders): Address[] {
  return file.nodes.flatMap((node) => {
    if (node.kind !== 'call') return [];
    fuel.refill();
    const at = { file, node, bound: UNBOUND };
    const urls = requests.urlsOf(at);
    if (urls.length === 0) return [];
    const entries = urls.some(({ certainty }) => certainty !== null)
      ? entriesGiven(at, urls[0]?.text ?? [], values)
      : [];
    return urls.map((one): Address => ({ ...one, start: node.start, end: node.end, call: node, entries }));
  });
}

/** Entries of objects among the arguments and in interpolated parts of the address, and of objects nested in these. */
function entriesGiven(at: Expression, text: TextValue, values: ValueResolver): Entry[] {
  const given = argumentsOf(at.node)
    .filter(({ name }) => !/^(json|body|headers)$/.test(name))
    .map(({ value }) => ({ ...at, node: value }));
  const unknowns = text.flatMap((piece) =>
    piece.kind === 'unknown' && piece.expression?.file === at.file ? [piece.expression] : [],
  );
  return [at, ...given, ...unknowns].flatMap((one) => {
    const resolved = one === at ? at : values.resolve(one);
    if (resolved.file !== at.file) return [];
    const own = entriesOf(resolved.node).filter(({ key }) => !/^(json|body|headers)$/.test(key));
    return own.flatMap((entry) => {
      const nested = values.resolve({ ...at, node: entry.value });
      return [entry, ...(nested.file === at.file ? entriesOf(nested.node) : [])];
    });
  });
}

/** Maximum length, in characters, of a list whose elements are assumed to be alike. */
const MAX_LIST = 2000;

/** Addresses that are written in the file without being passed to a call that is known to request them. */
function readWritten(
  file: SourceFile,
  strings: readonly SyntaxNode[],
  readers: SourceReaders,
  requested: readonly Address[],
): Address[] {
  const foreign = new Set(requested.flatMap((address) => (isForeign(address) ? startsOf(address.text) : [])));
  const covered = new Set<SyntaxNode>();
  const addresses = strings.flatMap((node): Address[] => {
    readers.fuel.refill();
    const whole = outermost({ file, node, bound: UNBOUND }, readers);
    if (covered.has(whole)) return [];
    covered.add(whole);
    const text = readers.texts.read({ file, node: whole, bound: UNBOUND });
    if (text === null || text.length === 0) return [];
    const flat = flatten(text);
    const url = parseUrl(flat, readers.settings);
    const certainty = judgeWritten(file, whole, url, text, readers);
    const { start, end } = whole;
    const address = { text, flat, url, certainty, start, end, call: null, entries: [] };
    if (url.kind === 'other' || url.kind === 'v4') for (const at of startsOf(text)) foreign.add(at);
    return [address];
  });
  const own = addresses.filter(
    ({ certainty, text }) => certainty === 'certain' || !startsOf(text).some((at) => foreign.has(at)),
  );
  const certain = [...requested, ...addresses].filter(({ certainty }) => certainty === 'certain');
  return raiseSiblings(own, certain, file);
}

/** If one element of a list is certainly an address of V3, the others probably are too. */
function raiseSiblings(
  addresses: readonly Address[],
  certain: readonly Address[],
  { nodes }: SourceFile,
): Address[] {
  const starts = new Set(certain.flatMap(({ text }) => startsOf(text)));
  const lists = nodes.filter(
    ({ kind, start, end, children }) =>
      kind === 'object' &&
      end - start < MAX_LIST &&
      children.some((one) => walk(one).some((node) => starts.has(node.start))),
  );
  const isInList = ({ start, end }: Address) => lists.some((list) => start > list.start && end < list.end);
  return addresses.map((address) =>
    address.certainty === 'look' && isInList(address) ? { ...address, certainty: 'likely' } : address,
  );
}

/** Whether an address belongs to another service, or is a route of this program's own server. */
function isForeign({ url, certainty }: Address): boolean {
  return (
    url.kind === 'other' ||
    url.kind === 'v4' ||
    (certainty === null && url.kind === 'relative' && url.route === null)
  );
}

function startsOf(text: TextValue): number[] {
  return text.flatMap((piece) => (piece.kind === 'literal' ? [piece.start] : []));
}

/** The outermost concatenation, format or join that a string is a part of. */
function outermost({ file, node, bound }: Expression, { texts }: SourceReaders): SyntaxNode {
  let at = node;
  // A list is a part of a text only where it is joined.
  let isInList = false;
  for (let next = node.parent; next !== null; next = next.parent) {
    const { kind, type } = next;
    const isPassed = kind === 'wrap' || type.startsWith('argument');
    const isList = kind === 'object' || kind === 'member' || type === 'array_element_initializer';
    const isPart = !isInList && (kind === 'concat' || kind === 'binary' || kind === 'string');
    const isJoined =
      kind === 'call' && texts.isTextBuilder(next) && texts.read({ file, node: next, bound }) !== null;
    if (!isPassed && !isList && !isPart && !isJoined) break;
    isInList = !isJoined && (isInList || isList);
    if (isPart || isJoined) at = next;
  }
  return at;
}

/** Functions that are passed titles, modules and pages, but no addresses of an API. */
const NO_REQUESTS =
  /^(describe|it|test|context|require|import|redirect\w*|navigate|push|replace|Link|link_to|href)$/i;

function judgeWritten(
  file: SourceFile,
  node: SyntaxNode,
  url: ParsedUrl,
  text: TextValue,
  readers: SourceReaders,
): Certainty | null {
  if (url.certainty !== null) return url.certainty;
  if (url.kind !== 'relative' || url.route?.pair == null) return null;
  const place = ancestor(
    node,
    ({ kind, type }) => /^(annotation|call|function)$/.test(kind) || /^(jsx_attribute|attribute)$/.test(type),
  );
  if (place?.type === 'jsx_attribute') return null;
  if (place?.kind === 'annotation' || place?.type === 'attribute') {
    return readers.requests.declaredAt({ file, node, bound: UNBOUND });
  }
  const call = place?.kind === 'call' ? place : null;
  // A server with routes of V3 is a stub of V3 in a test.
  const isStub = /^\/?v3\//.test(flatten(text));
  if (call !== null && readers.requests.servesRoute({ file, node: call, bound: UNBOUND }))
    return isStub ? 'likely' : null;
  if (isStub) return 'likely';
  if (call !== null && NO_REQUESTS.test(calleeOf(call).name)) return null;
  if (call !== null && readers.requests.sendsNothing({ file, node: call, bound: UNBOUND })) return null;
  return judgePath(text);
}

/** The certainty of a path with a V3 route, by the name of what precedes it. */
function judgePath([first]: TextValue): Certainty | null {
  if (first?.kind !== 'unknown' || first.expression === null) return 'look';
  const label = textOf(first.expression.node);
  if (/v4/i.test(label)) return null;
  return /v3|api|base|url|host|endpoint|svc/i.test(label) ? 'likely' : 'look';
}

/** Where in its file a position of an address is written; null if it is in another file or in no literal. */
export function positionInFile({ text }: Address, path: string, position: number): number | null {
  const found = pieceAt(text, position);
  if (found === null || found.piece.kind === 'unknown' || found.piece.file.path !== path) return null;
  return found.piece.start + found.offset;
}

/** Whether the function around a node has an address of V3, or the node is passed in the same call as one. */
export function isNearV3(node: SyntaxNode, addresses: readonly Address[]): boolean {
  const scope = ancestor(node, ({ kind }) => kind === 'function');
  const found = addresses.filter(({ certainty }) => certainty !== null);
  return found.some(
    ({ start, end }) =>
      scope === null ||
      (start >= scope.start && end <= scope.end) ||
      (start <= node.start && end >= node.end),
  );
}
