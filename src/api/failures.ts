import * as z from 'zod';
import { type ErrorCode, type ErrorFacts, SvcError } from '../errors.js';
import { toUrl } from '../text/addresses.js';
import type { Host } from './hosts.js';
import type { AttemptOutcome } from './http.js';
import type { Scrub } from './scrub.js';

const MAX_QUOTE_CHARS = 200;
/** A longer body is no error message; it is not searched for a request_id. */
const MAX_SEARCHED_BYTES = 262_144;

export interface RequestTarget {
  readonly host: Host;
  readonly url: URL;
  readonly model: string | null;
  readonly companyId: bigint | null;
}

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
  const said = quoteAnswer(outcome, scrub);
  const end = said === undefined ? '.' : `: ${said}`;
  if (code === 'auth') return `${label} refused the API key (${outcome.status})${end}`;
  if (code !== 'redirect') return `${label} answered ${outcome.status} to ${request}${end}`;
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

export function buildBadAnswer(
  reason: SvcError,
  outcome: AttemptOutcome,
  target: RequestTarget,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const { answer } = reason.facts;
  const said = typeof answer === 'string' ? quote(answer, scrub) : undefined;
  const facts = {
    ...factsOf(target, attempts),
    ...outcomeFacts(outcome, target, scrub),
    ...reason.facts,
    answer: said,
  };
  const sentence = said === undefined ? reason.message : `${reason.message.replace(/\.$/, '')}: ${said}`;
  return new SvcError(reason.code, `${target.host.label}, GET ${target.url.pathname}: ${scrub(sentence)}`, {
    hint:
      reason.hint ??
      `Nothing of this answer was stored. Check that baseUrl is the address of the API. ${AGAIN}`,
    facts,
  });
}

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
  const redirect = redirectHost(outcome.headers.location, target.url);
  return {
    status: outcome.status,
    request_id: requestIdOf(outcome.body.decoded, scrub),
    target: redirect === null ? undefined : scrub(redirect),
    answer: quoteAnswer(outcome, scrub),
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

type Answer = Extract<AttemptOutcome, { kind: 'answer' }>;

function quoteAnswer({ status, body }: Answer, scrub: Scrub): string | undefined {
  return status === 200 ? undefined : quote(Buffer.from(body.decoded).toString('utf8'), scrub);
}

/** A text of the server, safe to print; of an HTML page its title. Undefined if there is none. */
function quote(body: string, scrub: Scrub): string | undefined {
  const page = body.trimStart().startsWith('<');
  const said = page ? (/<title>([^<]*)/i.exec(body)?.[1] ?? '') : body;
  const text = scrub(said.replace(/\s+/g, ' ')).trim();
  return text === '' ? undefined : text.slice(0, MAX_QUOTE_CHARS);
}

function redirectHost(location: string | null, from: URL): string | null {
  return location === null ? null : (toUrl(location, from.href)?.host ?? null);
}
