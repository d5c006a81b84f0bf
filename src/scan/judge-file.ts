import { sha256Of } from '../runtime/sha256.js';
import { parseUrl } from './parse-url.js';
import { baseUrl, companyFilter, hardCodedId, queryParameter, route } from './rules/address-rules.js';
import { clientLibrary, graphql, isGenerated, webhook } from './rules/client-rules.js';
import { envelope, recordedResponse } from './rules/envelope-rules.js';
import {
  type Address,
  CERTAINTIES,
  type Certainty,
  type Rule,
  type RuleInput,
  type ScanSettings,
} from './rules/rule.js';
import type { IgnoredUse, V3Use } from './scan-report.js';
import { Lines, type Literal, lastBefore, Scopes, type SourceText, type Span } from './source-text.js';

/** Every rule, in the order of the output. */
export const RULES: readonly Rule[] = [
  baseUrl,
  route,
  companyFilter,
  queryParameter,
  envelope,
  graphql,
  hardCodedId,
  webhook,
  recordedResponse,
  clientLibrary,
];

/** What was found in a file. */
export interface FileResult {
  readonly path: string;
  /** null: not read. */
  readonly language: string | null;
  /** Why it was not read, or not to its end. */
  readonly why: string | null;
  readonly findings: readonly V3Use[];
  readonly ignored: readonly IgnoredUse[];
}

/** Maximum number of characters of a line that are shown. */
const MAX_SHOWN = 160;

/** Applies the rules to a file; of several hits of one rule on a line, the surest is kept. */
export function judgeFile(input: RuleInput, source: string, language: string): FileResult {
  const lines = new Lines(source);
  const rules = isGenerated(input) ? RULES.filter(({ id }) => id === 'client-library') : RULES;
  const surest = new Map<string, V3Use>();
  for (const { id, message, v4: general, find } of rules) {
    for (const { start, certainty, v4 = general, route = null } of find(input)) {
      const line = lines.at(start);
      const known = surest.get(`${id} ${line}`);
      if (known !== undefined && rankOf(known.certainty) <= rankOf(certainty)) continue;
      const column = start - lines.startOf(line) + 1;
      const text = lines.textOf(line).slice(0, MAX_SHOWN).trim();
      const use = { file: input.text.path, line, column, rule: id, certainty, message, v4, text };
      surest.set(`${id} ${line}`, { ...use, fingerprint: '', route });
    }
  }
  const reasons = readIgnored(input, lines);
  const all = withFingerprints([...surest.values()].sort((a, b) => a.line - b.line || a.column - b.column));
  return {
    path: input.text.path,
    language,
    why: null,
    findings: all.filter(({ line }) => !reasons.has(line)),
    ignored: all.flatMap(({ file, line, rule }) => {
      const reason = reasons.get(line);
      return reason === undefined ? [] : [{ file, line, rule, reason }];
    }),
  };
}

const rankOf = (certainty: Certainty): number => CERTAINTIES.indexOf(certainty);

/** Adds fingerprints. Equal lines of a file are numbered, so that theirs differ. */
function withFingerprints(uses: readonly V3Use[]): V3Use[] {
  const seen = new Map<string, number>();
  return uses.map((use) => {
    const key = [use.rule, use.file, use.text].join('\n');
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    return { ...use, fingerprint: sha256Of(`${key}\n${nth}`).slice(0, 32) };
  });
}

const IGNORE = /(?:#|\/\/|\/\*|--|<!--)\s*svc-migrate-ignore:[ \t]*([^\n]*)/g;

/** Reasons of `svc-migrate-ignore` comments, by the lines they apply to: their own, or those of the next statement. */
function readIgnored({ text: { comments, isCode } }: RuleInput, lines: Lines): ReadonlyMap<number, string> {
  const { source } = lines;
  const reasons = new Map<number, string>();
  for (const { 0: all, 1: reason = '', index } of source.matchAll(IGNORE)) {
    const isComment = !isCode || isInside(comments, index, index + all.length - reason.length);
    const text = reason.replace(/\s*(\*\/|-->)\s*$/, '').trim();
    if (!isComment || text === '') continue;
    const line = lines.at(index);
    const isAlone = source.slice(lines.startOf(line), index).trim() === '';
    const [first, last] = isAlone ? [line + 1, lastLineOf(lines, line + 1)] : [line, line];
    for (let at = first; at <= last; at += 1) reasons.set(at, text);
  }
  return reasons;
}

function isInside(spans: readonly Span[], start: number, end: number): boolean {
  const one = spans[lastBefore(spans, start)];
  return one !== undefined && one.end >= end;
}

/** Maximum number of lines of a statement that a comment excepts. */
const MAX_STATEMENT = 20;

/** The last line of the statement that begins on a line: what follows is indented more, or closes it. */
function lastLineOf(lines: Lines, first: number): number {
  const indentOf = (line: number) => /^[ \t]*/.exec(lines.textOf(line))?.[0].length ?? 0;
  const indent = indentOf(first);
  let last = first;
  while (last - first < MAX_STATEMENT) {
    const next = lines.textOf(last + 1);
    const isInner = next.trim() !== '' && indentOf(last + 1) > indent;
    if (!isInner && !/^\s*[)\]}]/.test(next)) return last;
    last += 1;
    if (!isInner) return last;
  }
  return first;
}

/** What the rules are given for a file. `isV3Project`: a file of the scan names a V3 host. */
export function readRuleInput(text: SourceText, settings: ScanSettings, isV3Project: boolean): RuleInput {
  const written = text.literals.flatMap((literal) => addressesIn(literal, settings));
  const owners = readOwners(written, text.code);
  const found = recognizeByName(written, owners, text.code);
  const hasHost = found.some(({ url, isQuoted }) => /v3$/.test(url.kind) && !(isQuoted && text.isCode));
  const hasParameter = PARAMETERS.test(text.code) || text.code.includes(`${settings.fieldPrefix}company_id[`);
  const isHostKnown = settings.v3Urls.length > 0;
  const evidence = { isUse: hasHost || hasParameter, isV3Project, isHostKnown };
  const addresses = found.map((one) => ({
    ...one,
    certainty: certaintyOf(one, text, evidence),
  }));
  const isSure = addresses.some(({ certainty }) => certainty === 'certain');
  const isLikely = hasParameter || addresses.some(({ certainty }) => certainty === 'likely');
  const v3 = isSure ? 'certain' : isLikely ? 'likely' : null;
  return {
    text,
    settings,
    addresses,
    scopes: new Scopes(text.functions),
    v3,
    kindOf: (name) => owners.get(name)?.url.kind ?? null,
  };
}

/** Parameters that no other service is likely to have. */
const PARAMETERS = /\b(include_deleted_records|return_count)\b/;

interface FoundAddress extends Omit<Address, 'certainty'> {
  /** Whether the literal holds other text before it. */
  readonly isQuoted: boolean;
  /** Whether the name of a host stands in front of it. */
  readonly hasOwner: boolean;
}

/** Maximum number of addresses that are read in one literal. */
const MAX_IN_LITERAL = 1000;
const SCHEME = /https?:\/\/[^\s"'`<>|\\,;)]+/gi;

function addressesIn({ start, end, text }: Literal, settings: ScanSettings): FoundAddress[] {
  const url = parseUrl(text, settings);
  if (url.hostAt !== null || !text.includes('://'))
    return [{ url, start, end, isQuoted: false, hasOwner: false }];
  return [...text.matchAll(SCHEME)].slice(0, MAX_IN_LITERAL).map(({ 0: found, index }) => ({
    url: parseUrl(found, settings),
    start: start + index,
    end: start + index + found.length,
    isQuoted: true,
    hasOwner: false,
  }));
}

/** Names on the line of an address that say nothing about whose it is. */
const COMMON_NAME =
  /^(base_?ur[il]|ur[il]|host(name)?|prefix_?url|base_?address|default|value|https?|path|query|params|address|endpoint|server|options|config|headers?|self|this|body|page|res|resp|response|answer|reply|result|data|json|payload|rows|text|req|request)$/i;
/** A name that is given a value, such as `API =`, `api:` and `define('API',`. */
const GIVEN = /([A-Za-z_]\w*)["'\])]*\s*(?:\??:[^=:;]{0,40})?(?:=>|:=|[:=])(?![=:])|\bdefine\(\s*["'](\w+)/g;

/** The addresses by the names that stand on their lines; names of several hosts are left out. */
function readOwners(found: readonly FoundAddress[], code: string): ReadonlyMap<string, FoundAddress> {
  const owners = new Map<string, FoundAddress | null>();
  for (const one of found) {
    if (one.url.hostAt === null && one.url.kind !== 'v4') continue;
    for (const [, given, defined] of lineBefore(code, one.start).matchAll(GIVEN)) {
      const name = given ?? defined ?? '';
      if (COMMON_NAME.test(name)) continue;
      const known = owners.get(name) ?? one;
      owners.set(name, known.url.kind === one.url.kind && owners.get(name) !== null ? one : null);
    }
  }
  return new Map([...owners].flatMap(([name, one]) => (one === null ? [] : [[name, one] as const])));
}

/**
 * Tells by the names in front of them what paths belong to: a name that stands on the line of an address of another host belongs
 * to that host. Where no V3 host is known, an address that ends with /v3 is V3 if its name stands in front of a route.
 */
function recognizeByName(
  found: readonly FoundAddress[],
  owners: ReadonlyMap<string, FoundAddress>,
  code: string,
): FoundAddress[] {
  const likeV3 = new Set<FoundAddress>();
  const judged = found.map((one, at) => {
    if (one.url.kind !== 'relative' || one.url.route === null) return one;
    if (isBesideForeign(one, found[at - 1], code) || isBesideForeign(one, found[at + 1], code))
      return foreign(one);
    const name = lineBefore(code, one.start + one.url.route.from)
      .match(NAME)
      ?.findLast((word) => owners.has(word));
    const owner = name === undefined ? undefined : owners.get(name);
    if (owner?.url.isUnknownV3 === true && one.url.route.pair !== null) likeV3.add(owner);
    else if (owner?.url.kind === 'other') return foreign(one);
    return { ...one, hasOwner: owner !== undefined };
  });
  return judged.map((one) => (likeV3.has(one) ? { ...one, url: { ...one.url, kind: 'like_v3' } } : one));
}

/** Whether an address of another host is joined with a path. */
function isBesideForeign(one: FoundAddress, other: FoundAddress | undefined, code: string): boolean {
  if (other?.url.kind !== 'other' || other.url.hostAt === null) return false;
  const [first, second] = other.start < one.start ? [other, one] : [one, other];
  return /^["'`]?\)?(?:\s*[,+]\s*|\.\w+\()["'`]?$/.test(code.slice(first.end, second.start));
}

function foreign(one: FoundAddress): FoundAddress {
  return { ...one, url: { ...one.url, kind: 'other', route: null } };
}

const NAME = /[A-Za-z_]\w*/g;
/** How much of a line before an address is looked at. */
const MAX_BEFORE = 160;

function lineBefore(code: string, at: number): string {
  const before = code.slice(Math.max(0, at - MAX_BEFORE), at);
  return before.slice(before.lastIndexOf('\n') + 1);
}

/** Code before a path that this program serves, links to or keeps on disk: another program's path, not a request to V3. */
const OWN_PATH =
  /(\b(href|action|src|to|from|import|require|navigate|visit|redirect\w*|link_to|HandleFunc|Handle|open|readFile\w*)|(?<!\.)(path|pathname|route)|\b(app|router|server|mux|r)\.(get|post|put|patch|delete|use|all|route)|Route::\w+|@(app|router|bp)\.\w+|\[?(Route|Http(Get|Post|Put|Delete))|Map(Get|Post))\s*[=(:]\s*\(?[{]?[@$f]{0,2}["'`]?$/i;
/** Code before an argument, or a part of a text that is put together. */
const IN_CALL = /(\w\s*\(|[+.]|\b(GET|POST)["'],)\s*[@$fr]{0,2}["'`]?$/;

interface Evidence {
  /** Whether the file itself names a host or parameter of V3. */
  readonly isUse: boolean;
  readonly isV3Project: boolean;
  readonly isHostKnown: boolean;
}

function certaintyOf(
  { url, start, isQuoted, hasOwner }: FoundAddress,
  { code, isCode }: SourceText,
  { isUse, isV3Project, isHostKnown }: Evidence,
): Certainty | null {
  if (url.kind === 'v3') return isQuoted && isCode ? 'likely' : 'certain';
  if (url.kind === 'like_v3') return 'likely';
  if (url.kind !== 'relative' || url.route === null) return null;
  if (url.route.hasVersion) return 'likely';
  if (!url.route.isModelKnown) return null;
  const before = code.slice(Math.max(0, start - 60), start);
  const isJoined = url.route.isAfterHole || hasOwner;
  if (!isJoined && OWN_PATH.test(before)) return null;
  if (!isHostKnown) return isUse && isJoined ? 'likely' : 'look';
  return isUse || (isV3Project && (isJoined || IN_CALL.test(before))) ? 'likely' : 'look';
}
