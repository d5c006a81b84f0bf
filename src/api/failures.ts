import { type ErrorCode, SvcError } from '../errors.js';
import { toUrl } from '../text/addresses.js';
import { isMembers } from './exact-json.js';
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

export interface Attempt {
  readonly target: RequestTarget;
  readonly outcome: AttemptOutcome;
  readonly number: number;
  readonly scrub: Scrub;
}

export function buildFailure(code: ErrorCode, attempt: Attempt): SvcError {
  const { outcome, scrub } = attempt;
  const isAnswer = outcome.kind === 'answer';
  const answer = isAnswer ? quote(excerptOf(outcome), scrub) : undefined;
  const sentence = isAnswer
    ? describeAnswer(code, outcome, attempt, answer)
    : describeFailure(outcome, attempt);
  return new SvcError(code, sentence, {
    hint: adviseOn(code, attempt),
    facts: { ...factsOf(attempt), answer },
  });
}

/** Turns the error of a parser that refused an answer into one that names the request. */
export function buildBadAnswer(reason: SvcError, attempt: Attempt): SvcError {
  const { host, url, model } = attempt.target;
  const answer = quote(String(reason.facts['answer'] ?? ''), attempt.scrub);
  const said = answer === undefined ? '.' : `: ${answer}`;
  const sentence = `${host.label}, GET ${url.pathname}: ${reason.message.replace(/\.$/, '')}${said}`;
  return new SvcError(reason.code, attempt.scrub(sentence), {
    hint: reason.hint ?? (model === null ? COMPANIES_HINT : BAD_ANSWER_HINT),
    facts: { ...factsOf(attempt), answer },
  });
}

function describeFailure({ failure, detail }: Failure, { target: { host, url }, scrub }: Attempt): string {
  const request = `GET ${url.pathname}`;
  if (failure === 'timeout') return `${host.label} did not finish its response to ${request} in time.`;
  if (failure === 'network' || failure === 'tls')
    return `The connection to ${host.label} at ${url.host} failed (${scrub(detail)}).`;
  return `${host.label} answered ${request} with an unreadable body: ${scrub(detail)}.`;
}

function describeAnswer(
  code: ErrorCode,
  { status, headers }: Answer,
  { target: { host, url }, scrub }: Attempt,
  answer: string | undefined,
): string {
  if (code === 'redirect') {
    const address = headers.location === null ? null : toUrl(headers.location, url.href);
    return `${host.label} redirects to ${scrub(address?.host ?? 'an unknown address')}; redirects are never followed.`;
  }
  const what =
    code === 'auth' ? `refused the API key (${status})` : `answered ${status} to GET ${url.pathname}`;
  return `${host.label} ${what}${answer === undefined ? '.' : `: ${answer}`}`;
}

const AGAIN = 'Run the same command again: it continues where it stopped.';
const COMPANIES_HINT =
  'Name the company ids in `v4.companies`, or the field with the id in `v4.companyIdField`.';
const BAD_ANSWER_HINT = `Nothing of this response was stored. Check that baseUrl is the address of the API. ${AGAIN}`;

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  redirect: 'Set baseUrl to the address that it redirects to, if you trust that address with the key.',
  timeout: `${AGAIN} If the error persists, use a smaller pageSize or a longer http.timeoutMs.`,
  body_too_large: `Use a smaller pageSize, or allow more with http.maxBodyMiB. ${AGAIN}`,
  unavailable: `${AGAIN} If the error persists, send the request_id to the operator of the service.`,
  http_status:
    'Check fieldPrefix, pageSize, baseUrl and the model names in the configuration: `svc-migrate doctor` tries them. Retrying does not help.',
};

function adviseOn(code: ErrorCode, { outcome, target }: Attempt): string {
  if (code === 'auth')
    return `Check the key from ${target.host.endpoint.keySource}. Some proxies, nginx by default, drop headers with an underscore, so \`api_key\` may never arrive.`;
  if (outcome.kind === 'failure' && outcome.detail === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'The service answers without TLS there: check the port of baseUrl, and whether it begins with http:// or https://.';
  if (outcome.kind === 'failure' && outcome.failure === 'tls')
    return 'The certificate must be valid on this machine; NODE_EXTRA_CA_CERTS adds a certificate authority.';
  return HINTS[code] ?? `Check baseUrl and the network. ${AGAIN}`;
}

function factsOf({ outcome, target, number, scrub }: Attempt) {
  const isAnswer = outcome.kind === 'answer';
  return {
    route: target.url.pathname,
    host: target.url.host,
    region: target.host.endpoint.region || undefined,
    model: target.model ?? undefined,
    company: target.companyId ?? undefined,
    attempts: number,
    status: isAnswer ? outcome.status : undefined,
    request_id: isAnswer ? requestIdOf(outcome, scrub) : undefined,
    error: isAnswer ? undefined : scrub(outcome.detail),
  };
}

const MAX_QUOTE_CHARS = 200;
/** A longer body is not an error message. */
const MAX_EXCERPT_BYTES = 16_384;

function requestIdOf(answer: Answer, scrub: Scrub): string | undefined {
  try {
    const body: unknown = JSON.parse(excerptOf(answer));
    const id = isMembers(body) ? body['request_id'] : undefined;
    return typeof id === 'string' ? scrub(id).slice(0, MAX_QUOTE_CHARS) : undefined;
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

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Pattern of a key in which each character may be plain or escaped, as in JSON, URLs and HTML. */
function spellingsOf(key: string): string {
  return [...key].map(spellingsOfCharacter).join('');
}

function spellingsOfCharacter(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16);
  const url = [`%${hex.padStart(2, '0')}`, encodeURIComponent(character)];
  const json = [`\\u${hex.padStart(4, '0')}`, `\\${character}`];
  const html = [`&#${code};`, `&#x${hex};`, ENTITIES[character] ?? character];
  return `(?:${[...new Set([...url, ...json, ...html, character])].map(escapeRegExp).join('|')})`;
}

function encodings(key: string): readonly string[] {
  const bytes = Buffer.from(key, 'utf8');
  const base64 = bytes.toString('base64');
  return [base64, base64.replaceAll('=', ''), bytes.toString('base64url'), bytes.toString('hex')];
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
