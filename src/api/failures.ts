import { type ErrorCode, type ErrorFacts, SvcError } from '../errors.js';
import { toUrl } from '../text/addresses.js';
import { escapeRegExp } from '../text/escape.js';
import * as z from '../zod.js';
import type { Host } from './hosts.js';
import type { AttemptOutcome } from './http.js';

/** Maximum number of characters shown of a server's error text or request_id. */
const MAX_QUOTE_CHARS = 200;
/** Maximum size of a body that is searched for a request_id; larger ones are not error messages. */
const MAX_SEARCHED_BYTES = 262_144;

/** What errors say of the request that failed. */
export interface RequestTarget {
  readonly host: Host;
  readonly url: URL;
  readonly model: string | null;
  readonly companyId: bigint | null;
}

/** The error for a request's last outcome. It contains no key, even if the server echoed one. */
export function buildFailure(
  code: ErrorCode,
  outcome: AttemptOutcome,
  target: RequestTarget,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const facts = { ...factsOf(target, attempts), ...outcomeFacts(outcome, target, scrub) };
  return new SvcError(code, describeFailure(code, outcome, target, scrub), {
    hint: adviseOn(code, outcome, target),
    facts,
  });
}

function describeFailure(
  code: ErrorCode,
  outcome: AttemptOutcome,
  target: RequestTarget,
  scrub: Scrub,
): string {
  const { label } = target.host;
  const request = `GET ${target.url.pathname}`;
  if (outcome.kind === 'failure') {
    if (code === 'timeout') return `${label} did not finish its answer to ${request} in time.`;
    if (code === 'body_too_large')
      return `${label} answered ${request} with a body that is larger than allowed.`;
    if (code === 'bad_response')
      return `${label} answered ${request} with a damaged body: ${scrub(outcome.detail)}.`;
    return `The connection to ${label} at ${target.url.host} failed (${scrub(outcome.detail)}).`;
  }
  if (code === 'auth') return `${label} refused the API key (${outcome.status}).`;
  if (code !== 'redirect') return `${label} answered ${outcome.status} to ${request}.`;
  const redirect = redirectHost(outcome.headers.location, target.url);
  return `${label} redirects to ${redirect === null ? 'an unknown address' : scrub(redirect)}; redirects are never followed.`;
}

const AGAIN = 'Run the same command again: it continues where it stopped.';

function adviseOn(code: ErrorCode, outcome: AttemptOutcome, target: RequestTarget): string {
  switch (code) {
    case 'auth':
      return `Check the key from ${target.host.endpoint.keySource}. Some proxies, nginx by default, drop headers with an underscore, so \`api_key\` may never arrive.`;
    case 'redirect':
      return 'Set baseUrl to the address that it redirects to, if you trust that address with the key.';
    case 'timeout':
      return `${AGAIN} If the error persists, use a smaller pageSize or a longer http.timeoutMs.`;
    case 'body_too_large':
      return `Use a smaller pageSize, or allow more with http.maxBodyMiB. ${AGAIN}`;
    case 'unavailable':
      return `${AGAIN} If the error persists, send the request_id to the operator of the service.`;
    case 'http_status':
      return 'Check baseUrl and the model names in the configuration, with `svc-migrate doctor`. Retrying does not help.';
    default:
      if (outcome.kind === 'failure' && outcome.detail === 'ERR_SSL_WRONG_VERSION_NUMBER')
        return 'The service answers without TLS there: check the port of baseUrl, and whether it begins with http:// or https://.';
      return outcome.kind === 'failure' && outcome.failure === 'tls'
        ? 'The certificate must be valid on this machine; NODE_EXTRA_CA_CERTS adds a certificate authority.'
        : `Check baseUrl and the network. ${AGAIN}`;
  }
}

/** The error for an answer of status 200 whose body was refused with `reason`, with the facts of the request added. */
export function buildBadAnswer(
  reason: SvcError,
  outcome: AttemptOutcome,
  target: RequestTarget,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const { answer } = reason.facts;
  const quoted = typeof answer === 'string' ? { answer: quote(answer, scrub) } : {};
  const known = { ...factsOf(target, attempts), ...outcomeFacts(outcome, target, scrub) };
  const facts = { ...known, ...reason.facts, ...quoted };
  return new SvcError('bad_response', `${target.host.label}, GET ${target.url.pathname}: ${reason.message}`, {
    hint:
      reason.hint ??
      `Nothing of this answer was stored. Check that baseUrl is the address of the API. ${AGAIN}`,
    facts,
  });
}

/** Adds the facts of the request to an error. */
export function withFacts(error: SvcError, target: RequestTarget, more: ErrorFacts = {}): SvcError {
  const facts = { ...factsOf(target, null), ...error.facts, ...more };
  return new SvcError(error.code, error.message, { hint: error.hint, facts, cause: error.cause });
}

function factsOf(target: RequestTarget, attempts: number | null) {
  return {
    method: 'GET',
    route: target.url.pathname,
    host: target.url.host,
    region: target.host.endpoint.region || undefined,
    model: target.model ?? undefined,
    company: target.companyId ?? undefined,
    attempts: attempts ?? undefined,
  };
}

function outcomeFacts(outcome: AttemptOutcome, target: RequestTarget, scrub: Scrub) {
  if (outcome.kind === 'failure') return { status: undefined, error: scrub(outcome.detail) };
  const quoted =
    outcome.status === 200 ? undefined : quote(Buffer.from(outcome.body).toString('utf8'), scrub);
  const redirect = redirectHost(outcome.headers.location, target.url);
  return {
    status: outcome.status,
    request_id: requestIdOf(outcome.body, scrub),
    target: redirect === null ? undefined : scrub(redirect),
    answer: quoted,
    error: undefined,
  };
}

const answerSchema = z.object({ request_id: z.string() });

function requestIdOf(body: Uint8Array, scrub: Scrub): string | undefined {
  if (body.length > MAX_SEARCHED_BYTES) return undefined;
  try {
    const answer = answerSchema.safeParse(JSON.parse(Buffer.from(body).toString('utf8')));
    return answer.success ? scrub(answer.data.request_id).slice(0, MAX_QUOTE_CHARS) : undefined;
  } catch {
    return undefined;
  }
}

/** The server's error text, safe to print; undefined if it is empty or an HTML page. */
function quote(body: string, scrub: Scrub): string | undefined {
  const text = scrub(body.replace(/\s+/g, ' ')).trim();
  return text === '' || text.startsWith('<') ? undefined : text.slice(0, MAX_QUOTE_CHARS);
}

function redirectHost(location: string | null, from: URL): string | null {
  return location === null ? null : (toUrl(location, from.href)?.host ?? null);
}

const HIDDEN = '[key]';
/**
 * Control, format and private-use characters and lone surrogates: they could control a terminal or hide
 * a key from the search.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** Replaces the keys in a text, also escaped or encoded ones, and removes unsafe characters. */
export type Scrub = (text: string) => string;

/** Makes the function that replaces these keys. */
export function scrubber(keys: readonly string[]): Scrub {
  const patterns = [...new Set(keys)]
    .filter((key) => key !== '')
    // longer keys first: they may contain shorter ones
    .sort((a, b) => b.length - a.length)
    .flatMap((key) => [spellingsOf(key), ...encodings(key).map(escapeRegExp)]);
  const pattern = new RegExp(patterns.join('|'), 'giu');
  return (text) => {
    const plain = text.replace(UNSAFE, '');
    return patterns.length === 0 ? plain : plain.replace(pattern, HIDDEN);
  };
}

/** Pattern of a key in which each character may be plain or escaped, as in JSON, URLs and HTML. */
function spellingsOf(key: string): string {
  return [...key].map(spellingsOfCharacter).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

function spellingsOfCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const percent = encodeURIComponent(character);
  const spellings = [
    `%${hex.padStart(2, '0')}`,
    percent,
    `\\u${hex.padStart(4, '0')}`,
    `\\${character}`,
    `&#${code};`,
    `&#x${hex};`,
    ...(character in ENTITIES ? [`&${ENTITIES[character]};`] : []),
    character,
  ];
  return `(?:${[...new Set(spellings)].map(escapeRegExp).join('|')})`;
}

function encodings(key: string): readonly string[] {
  const bytes = Buffer.from(key, 'utf8');
  const base64 = bytes.toString('base64');
  return [base64, base64.replaceAll('=', ''), bytes.toString('base64url'), bytes.toString('hex')];
}
