import type { TextEdit } from '../../text/text-edits.js';
import { textOf } from '../access.js';
import type { QueryItem, Span } from '../parse-url.js';
import type { Address } from '../rule-input.js';
import { isCompanyFilter, isDescribedInV4 } from '../rules/parameters.js';
import { type KnownCompanies, type ScanSettings, v4CompanyOf } from '../scan-settings.js';
import type { SourceFile } from '../source-file.js';
import type { SyntaxNode } from '../syntax.js';
import { flatten, type Piece, pieceAt } from '../text-pieces.js';
import type { TextReader } from '../text-reader.js';
import { UNBOUND } from '../value-resolver.js';
import type { UnfixedReason } from './fix-report.js';
import type { GivenParameter } from './known-requests.js';

/** The address of a request, and the parameters passed beside it. */
export interface RequestParts {
  readonly file: SourceFile;
  readonly address: Address;
  readonly parameters: readonly GivenParameter[];
}

export interface RewrittenAddress {
  readonly edits: readonly TextEdit[];
  /** The strings that are rewritten. */
  readonly strings: readonly SyntaxNode[];
}

/** The edits that make an address one of V4, or why there are none. */
export function rewriteAddress(
  request: RequestParts,
  settings: ScanSettings,
  companies: KnownCompanies,
  texts: TextReader,
): RewrittenAddress | UnfixedReason {
  const { address, file, parameters } = request;
  const { url, flat } = address;
  const { base, route } = url;
  const v4Url = settings.v4Url?.replace(/\/+$/, '') ?? null;
  if (address.text.some((piece) => fileOf(piece) !== file.path)) return 'address_elsewhere';
  if (v4Url === null) return 'unknown_v4';
  if (base === null || route === null || !isPlain(flat, base)) return 'address_built';
  if (route.pair === null) return 'address_built';
  if (route.pair.v4 === null || route.pair.v4Guessed) return 'model';
  if (route.id !== null) return 'record';
  if (!/^(\?|$)/.test(flat.slice(route.to))) return 'address_built';
  const refused = judgeParameters(url.query, parameters, settings);
  if (refused !== null) return refused;
  const slashes = /^\/*/.exec(flat.slice(route.from, route.to))?.[0].length ?? 0;
  const path = rangeOf(address, { from: route.from + slashes, to: route.to });
  const routeText = path === null ? undefined : stringAt(file, path.start);
  const bases = baseEdits(address, base, v4Url);
  if (path === null || routeText === undefined || bases === null) return 'address_built';
  if (!isLastPart(address, routeText, file, texts)) return 'address_built';
  const company = readCompany(request, routeText, settings, companies);
  if (typeof company === 'string') return company;
  const routeEdit = { ...path, text: `v4/core/companies/${company.text}/${route.pair.v4}` };
  const edits = [...bases, routeEdit, ...company.edits];
  const strings = [...bases, routeEdit].flatMap(({ start }) => stringAt(file, start) ?? []);
  return { edits, strings: [...new Set(strings)] };
}

function fileOf(piece: Piece): string | null {
  return piece.kind === 'literal' ? piece.file.path : (piece.expression?.file.path ?? null);
}

/** Whether an address has a scheme and a host, no escapes, and unknown parts only as whole values of its query. */
function isPlain(flat: string, base: Span): boolean {
  if (base.from !== 0 || !/^https?:\/\/[^@]*$/i.test(flat.slice(0, base.to))) return false;
  if (/[\\#\s"'`<>{}]/.test(flat)) return false;
  return [...flat.matchAll(/\0/g)].every(
    ({ index }) => flat[index - 1] === '=' && /^(&|$)/.test(flat.slice(index + 1, index + 2)),
  );
}

/** Why the parameters rule out a patch; null if they do not. */
function judgeParameters(
  query: readonly QueryItem[],
  given: readonly GivenParameter[],
  settings: ScanSettings,
): UnfixedReason | null {
  const names = [...query, ...given.map(({ key }) => ({ name: key }))].map(({ name }) => name);
  const others = names.filter((name) => !isCompanyFilter(name, settings.fieldPrefix));
  if (others.some((name) => new RegExp(`^${settings.fieldPrefix}(\\w+_)?ids?(\\[|$)`).test(name)))
    return 'record';
  if (!others.every((name) => isDescribedInV4(name, settings))) return 'parameter';
  const filters = names.filter((name) => isCompanyFilter(name, settings.fieldPrefix));
  if (filters.length === 0) return 'no_company';
  return filters.length > 1 || !filters.every((name) => name.endsWith('[eq]') || /%5Beq%5D$/i.test(name))
    ? 'company_filter'
    : null;
}

/** The V4 address in place of scheme, host and version, which may be written in several literals. */
function baseEdits({ text }: Address, base: Span, v4Url: string): TextEdit[] | null {
  const edits: TextEdit[] = [];
  let from = 0;
  for (const piece of text) {
    const length = piece.kind === 'literal' ? piece.text.length : 1;
    if (from < base.to) {
      if (piece.kind !== 'literal') return null;
      // A slash that a client puts between two parts is not in the source.
      if (piece.end - piece.start !== length) return null;
      const end = piece.start + Math.min(length, base.to - from);
      edits.push({ start: piece.start, end, text: from === 0 ? v4Url : '' });
    }
    from += length;
  }
  return edits;
}

/** Where a part of the flattened text is written, if it is written in one piece. */
function rangeOf({ text }: Address, { from, to }: Span): { start: number; end: number } | null {
  const [first, last] = [pieceAt(text, from), pieceAt(text, to - 1)];
  if (first?.piece.kind !== 'literal' || last?.piece !== first.piece) return null;
  return { start: first.piece.start + first.offset, end: first.piece.start + last.offset + 1 };
}

function stringAt({ nodes }: SourceFile, position: number): SyntaxNode | undefined {
  return nodes
    .filter(({ kind, start, end }) => kind === 'string' && start <= position && end > position)
    .at(-1);
}

/** Whether the string that has the route is the last part of the address: text after it would become part of the path. */
function isLastPart({ flat }: Address, node: SyntaxNode, file: SourceFile, texts: TextReader): boolean {
  const own = texts.read({ file, node, bound: UNBOUND });
  return own !== null && flat.endsWith(flatten(own));
}

interface Company {
  /** As it is written in the path. */
  readonly text: string;
  readonly edits: readonly TextEdit[];
}

function readCompany(
  { address, file, parameters }: RequestParts,
  string: SyntaxNode,
  settings: ScanSettings,
  companies: KnownCompanies,
): Company | UnfixedReason {
  const item = address.url.query.find(({ name }) => isCompanyFilter(name, settings.fieldPrefix));
  const mapped = (id: string) => v4CompanyOf(companies, regionOf(address, settings), id);
  if (item !== undefined) {
    const written = writtenItem(address, item, string);
    if (written === null) return 'address_built';
    const { value } = written;
    const text = /^\d+$/.test(value) ? mapped(value) : companies.areSame ? value : null;
    if (text === null) return /^\d+$/.test(value) ? 'company_pair' : 'company_variable';
    return isSimple(value) ? { text, edits: [written.removal] } : 'address_built';
  }
  const given = parameters.find(({ key }) => isCompanyFilter(key, settings.fieldPrefix));
  if (given === undefined) return 'no_company';
  return readGivenCompany(given, { address, string, file }, mapped, companies.areSame);
}

/** The address of the region that an address belongs to; '' where it may belong to several. */
function regionOf({ flat }: Address, { v3Urls }: ScanSettings): string {
  const host = /^https?:\/\/([^/?#]*)/i.exec(flat)?.[1]?.toLowerCase();
  const sameHost = v3Urls.filter((url) => new URL(url).host === host);
  const own = sameHost.length === 1 ? sameHost : sameHost.filter((url) => flat.startsWith(`${url}/`));
  return own.length === 1 ? (own[0] ?? '') : '';
}

/** A parameter as it is written, and the edit that removes it with its separator. */
function writtenItem(
  { text, flat }: Address,
  { from, to }: QueryItem,
  string: SyntaxNode,
): { value: string; removal: TextEdit } | null {
  const first = pieceAt(text, from);
  const after = to === flat.length ? null : pieceAt(text, to);
  if (first?.piece.kind !== 'literal' || (after !== null && after.piece.kind !== 'literal')) return null;
  const start = first.piece.start + first.offset;
  const end =
    after === null || after.piece.kind !== 'literal' ? contentEnd(string) : after.piece.start + after.offset;
  const { source } = string;
  const isOwn =
    start > string.start && end < string.end && end > start && /[?&]/.test(source[start - 1] ?? '');
  if (!isOwn) return null;
  const written = source.slice(start, end);
  const value = written.slice(written.indexOf('=') + 1);
  const isFirst = source[start - 1] === '?';
  const hasNext = source[end] === '&';
  const removal = isFirst && hasNext ? { start, end: end + 1 } : { start: start - 1, end };
  return { value, removal: { ...removal, text: '' } };
}

function contentEnd({ children, end, source }: SyntaxNode): number {
  const closing = children.at(-1);
  if (closing !== undefined && closing.type === 'interpolation_end') return closing.start;
  return end - (/("""|''')$/.test(source.slice(0, end)) ? 3 : 1);
}

/** Whether a value is digits, or one variable or member in an interpolation. */
function isSimple(value: string): boolean {
  return /^(\d+|[$#]?\{\$?@?[\w.>?!-]+\}|\$\w+|\$\{(encodeURIComponent|String)\([\w.]+\)\})$/.test(value);
}

/** A company that is a parameter beside the address: it moves into the string of the route. */
function readGivenCompany(
  { pair, value, object }: GivenParameter,
  {
    address,
    string,
    file,
  }: { readonly address: Address; readonly string: SyntaxNode; readonly file: SourceFile },
  mapped: (id: string) => string | null,
  areSame: boolean,
): Company | UnfixedReason {
  const { language } = file;
  const isBeside =
    address.call !== null && string.start >= address.call.start && string.end <= address.call.end;
  const removal = pairRemoval(pair, object);
  if (!isBeside || removal === null) return 'address_built';
  const written = textOf(value);
  const digits = /^["']?(\d+)["']?$/.exec(written)?.[1];
  if (digits !== undefined) {
    const text = mapped(digits);
    return text === null ? 'company_pair' : { text, edits: [removal] };
  }
  if (!areSame) return 'company_variable';
  if (!/^[@$]?[A-Za-z_][\w.]*$/.test(written)) return 'address_built';
  const template = asTemplate(string, language.name);
  if (template === null) return 'address_built';
  return { text: template.interpolate(written), edits: [removal, ...template.edits] };
}

/** An entry of an object with its comma; null where a comment would go with it. */
function pairRemoval(pair: SyntaxNode, object: SyntaxNode): TextEdit | null {
  const at = object.children.indexOf(pair);
  const [before, next] = [object.children[at - 1], object.children[at + 1]];
  const isComment = before?.kind === 'comment' || next?.kind === 'comment';
  if (at === -1 || isComment) return null;
  if (next !== undefined) return { start: pair.start, end: next.start, text: '' };
  const comma = /^\s*,/.exec(object.source.slice(pair.end, object.end))?.[0].length ?? 0;
  return before === undefined
    ? { start: pair.start, end: pair.end + comma, text: '' }
    : { start: before.end, end: pair.end, text: '' };
}

/** How a string can hold an interpolated name: as it is, or with other quotes; null if it cannot. */
function asTemplate(
  node: SyntaxNode,
  language: string,
): { interpolate: (name: string) => string; edits: TextEdit[] } | null {
  const { start, end } = node;
  const raw = textOf(node);
  if (/^(typescript|javascript)$/.test(language)) {
    const interpolate = (name: string) => `\${${name}}`;
    if (raw.startsWith('`')) return { interpolate, edits: [] };
    if (/^['"][^`$\\]*['"]$/.test(raw)) {
      return {
        interpolate,
        edits: [
          { start, end: start + 1, text: '`' },
          { start: end - 1, end, text: '`' },
        ],
      };
    }
  }
  if (language === 'python') {
    const interpolate = (name: string) => `{${name}}`;
    if (/^f["']/i.test(raw)) return { interpolate, edits: [] };
    if (/^["'][^{}\\]*["']$/.test(raw)) return { interpolate, edits: [{ start, end: start, text: 'f' }] };
  }
  if (language === 'ruby' && raw.startsWith('"')) return { interpolate: (name) => `#{${name}}`, edits: [] };
  return null;
}
