import * as z from 'zod';
import { type ErrorCode, SvcError } from '../errors.js';
import { toUrl } from '../text/addresses.js';
import type { Host } from './hosts.js';
import type { AttemptOutcome } from './http.js';

export interface RequestTarget {
  readonly host: Host;
  readonly url: URL;
  /** Null for V4's list of companies. */
  readonly model: string | null;
  readonly companyId: bigint | null;
}

interface Fault {
  readonly code: ErrorCode;
  readonly isPassing: boolean;
}

type Answer = Extract<AttemptOutcome, { kind: 'answer' }>;
type Failure = Extract<AttemptOutcome, { kind: 'failure' }>;

const FAILURES: Readonly<Record<Failure['failure'], Fault>> = {
  network: { code: 'network', isPassing: true },
  timeout: { code: 'timeout', isPassing: true },
  broken_body: { code: 'bad_response', isPassing: true },
  body_too_large: { code: 'body_too_large', isPassing: false },
  tls: { code: 'network', isPassing: false },
};

export function faultOf(outcome: AttemptOutcome): Fault {
  if (outcome.kind === 'failure') return FAILURES[outcome.failure];
  const { status } = outcome;
  if (status < 300) return { code: 'bad_response', isPassing: true };
  if (status < 400) return { code: 'redirect', isPassing: false };
  if (status === 401 || status === 403) return { code: 'auth', isPassing: false };
  if (status === 501) return { code: 'http_status', isPassing: true };
  const isPassing = status === 408 || status === 429 || status >= 500;
  return { code: isPassing ? 'unavailable' : 'http_status', isPassing };
}

export function buildFailure(
  code: ErrorCode,
  outcome: AttemptOutcome,
  target: RequestTarget,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const isAnswer = outcome.kind === 'answer';
  const answer = isAnswer ? quote(excerptOf(outcome), scrub) : undefined;
  const sentence = isAnswer
    ? describeAnswer(code, outcome, target, answer, scrub)
    : describeFailure(outcome, target, scrub);
  return new SvcError(code, sentence, {
    hint: adviseOn(code, outcome, target),
    facts: { ...factsOf(outcome, target, attempts, scrub), answer },
  });
}

/** Turns the error of a parser that refused an answer into one that names the request. */
export function buildBadAnswer(
  reason: SvcError,
  outcome: AttemptOutcome,
  target: RequestTarget,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const answer = quote(String(reason.facts['answer'] ?? ''), scrub);
  const said = answer === undefined ? '.' : `: ${answer}`;
  const sentence = `${target.host.label}, GET ${target.url.pathname}: ${reason.message.replace(/\.$/, '')}${said}`;
  return new SvcError(reason.code, scrub(sentence), {
    hint: reason.hint ?? (target.model === null ? COMPANIES_HINT : BAD_ANSWER_HINT),
    facts: { ...factsOf(outcome, target, attempts, scrub), answer },
  });
}

function describeFailure({ failure, detail }: Failure, { host, url }: RequestTarget, scrub: Scrub): string {
  const request = `GET ${url.pathname}`;
  if (failure === 'timeout') return `${host.label} did not finish its answer to ${request} in time.`;
  if (failure === 'network' || failure === 'tls')
    return `The connection to ${host.label} at ${url.host} failed (${scrub(detail)}).`;
  return `${host.label} answered ${request} with a bad body: ${scrub(detail)}.`;
}

function describeAnswer(
  code: ErrorCode,
  { status, headers }: Answer,
  { host, url }: RequestTarget,
  answer: string | undefined,
  scrub: Scrub,
): string {
  if (code === 'redirect') {
    const address = headers.location === null ? null : toUrl(headers.location, url.href);
    return `${host.label} redirects to ${scrub(address?.host ?? 'an unknown address')}; redirects are never followed.`;
  }
  const said = answer === undefined ? '.' : `: ${answer}`;
  return code === 'auth'
    ? `${host.label} refused the API key (${status})${said}`
    : `${host.label} answered ${status} to GET ${url.pathname}${said}`;
}

const AGAIN = 'Run the same command again: it continues where it stopped.';
const COMPANIES_HINT =
  'Name the company ids in `v4.companies`, or the field with the id in `v4.companyIdField`.';
const BAD_ANSWER_HINT = `Nothing of this answer was stored. Check that baseUrl is the address of the API. ${AGAIN}`;

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  redirect: 'Set baseUrl to the address that it redirects to, if you trust that address with the key.',
  timeout: `${AGAIN} If the error persists, use a smaller pageSize or a longer http.timeoutMs.`,
  body_too_large: `Use a smaller pageSize, or allow more with http.maxBodyMiB. ${AGAIN}`,
  unavailable: `${AGAIN} If the error persists, send the request_id to the operator of the service.`,
  http_status:
    'Check baseUrl and the model names in the configuration, with `svc-migrate doctor`. Retrying does not help.',
};

function adviseOn(code: ErrorCode, outcome: AttemptOutcome, { host }: RequestTarget): string {
  if (code === 'auth')
    return `Check the key from ${host.endpoint.keySource}. Some proxies, nginx by default, drop headers with an underscore, so \`api_key\` may never arrive.`;
  if (outcome.kind === 'failure' && outcome.detail === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'The service answers without TLS there: check the port of baseUrl, and whether it begins with http:// or https://.';
  if (outcome.kind === 'failure' && outcome.failure === 'tls')
    return 'The certificate must be valid on this machine; NODE_EXTRA_CA_CERTS adds a certificate authority.';
  return HINTS[code] ?? `Check baseUrl and the network. ${AGAIN}`;
}

function factsOf(outcome: AttemptOutcome, target: RequestTarget, attempts: number, scrub: Scrub) {
  const isAnswer = outcome.kind === 'answer';
  return {
    route: target.url.pathname,
    host: target.url.host,
    region: target.host.endpoint.region || undefined,
    model: target.model ?? undefined,
    company: target.companyId ?? undefined,
    attempts,
    status: isAnswer ? outcome.status : undefined,
    request_id: isAnswer ? requestIdOf(outcome, scrub) : undefined,
    error: isAnswer ? undefined : scrub(outcome.detail),
  };
}

const MAX_QUOTE_CHARS = 200;
/** A longer body is no error message. */
const MAX_EXCERPT_BYTES = 16_384;

const answerSchema = z.object({ request_id: z.string() });

function requestIdOf(answer: Answer, scrub: Scrub): string | undefined {
  try {
    const { data } = answerSchema.safeParse(JSON.parse(excerptOf(answer)));
    return data && scrub(data.request_id).slice(0, MAX_QUOTE_CHARS);
  } catch {
    return undefined;
  }
}

function excerptOf({ body }: Answer): string {
  return Buffer.from(body.decoded.subarray(0, MAX_EXCERPT_BYTES)).toString('utf8');
}

/** A text of the server, safe to print; of an HTML page its title. Undefined if there is none. */
function quote(body: string, scrub: Scrub): string | undefined {
  const page = body.trimStart().startsWith('<');
  const said = page ? (/<title>([^<]*)/i.exec(body)?.[1] ?? '') : body;
  const text = scrub(said.replace(/\s+/g, ' ')).trim();
  return text === '' ? undefined : text.slice(0, MAX_QUOTE_CHARS);
}

const HIDDEN = '[key]';
/** Control, format and private-use characters and lone surrogates could control a terminal or hide a key. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** Replaces the keys in a text, also escaped or encoded ones, and removes unsafe characters. */
export type Scrub = (text: string) => string;

export function scrubber(keys: readonly string[]): Scrub {
  const patterns = [...new Set(keys)]
    .filter((key) => key !== '')
    // Longer keys first: they may contain shorter ones.
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
  const code = character.charCodeAt(0);
  const hex = code.toString(16);
  const spellings = [
    `%${hex.padStart(2, '0')}`,
    encodeURIComponent(character),
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

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
