import { z } from 'zod';
import { type ErrorCode, type ErrorFacts, SvcError } from '../errors.js';
import type { Host } from './host.js';
import type { Outcome } from './http.js';
import type { Scrub } from './scrub.js';

/** As much of an error's own words as is shown. */
const LONGEST_QUOTE = 200;

/** What a failure is about. */
export interface Where {
  readonly host: Host;
  readonly url: URL;
  readonly model: string | null;
  readonly companyId: bigint | null;
}

/** The error for a request's last outcome. Holds no key, even where the server echoed one. */
export function buildFailure(
  code: ErrorCode,
  outcome: Outcome,
  where: Where,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const facts = { ...factsOf(where, attempts), ...outcomeFacts(outcome, where, scrub) };
  const { label } = where.host;
  const target = outcome.kind === 'answer' ? targetOf(outcome.headers.location, where.url) : null;
  switch (code) {
    case 'auth':
      return new SvcError('auth', `${label} refused the API key (${facts.status}).`, {
        hint: `Check the key from ${where.host.endpoint.keySource}. Some proxies, nginx by default, drop headers with an underscore, so \`api_key\` may never arrive.`,
        facts,
      });
    case 'redirect':
      return new SvcError(
        'redirect',
        `${label} redirects to ${scrub(target ?? 'an unnamed place')}; redirects are never followed.`,
        {
          hint: 'Set its baseUrl to the address that answers itself, if you trust that one with the key.',
          facts,
        },
      );
    case 'http_status':
      return new SvcError(
        'http_status',
        `${label} answered ${facts.status} to ${facts.method} ${facts.route}.`,
        {
          hint: 'Run the same command again: it continues where it stopped. If it persists, give the operator the request_id.',
          facts,
        },
      );
    case 'timeout':
      return new SvcError(
        'timeout',
        `${label} did not finish its answer to ${facts.method} ${facts.route} in time.`,
        {
          hint: 'Run the same command again, with a smaller pageSize or a longer http.timeoutMs if it persists.',
          facts,
        },
      );
    case 'body_too_large':
      return new SvcError(
        'body_too_large',
        `${label} sent a larger body than allowed to ${facts.method} ${facts.route}.`,
        {
          hint: 'Use a smaller pageSize, or allow more with http.maxBodyMiB.',
          facts,
        },
      );
    case 'bad_response':
      return badResponse(`${label} sent a damaged answer to ${facts.method} ${facts.route}.`, facts);
    default:
      return new SvcError('network', `${label} cannot be reached at ${where.url.host} (${facts.error}).`, {
        hint: 'Check its baseUrl and the network, then run the same command again: it continues where it stopped.',
        facts,
      });
  }
}

/** The error for a 200 whose body is not what was asked for: `reason` from the parser, with the request's facts. */
export function buildBadAnswer(
  reason: SvcError,
  outcome: Outcome,
  where: Where,
  attempts: number,
  scrub: Scrub,
): SvcError {
  const facts = { ...factsOf(where, attempts), ...outcomeFacts(outcome, where, scrub), ...reason.facts };
  return badResponse(
    `${where.host.label}, ${facts.method} ${facts.route}: ${reason.message}`,
    facts,
    reason.hint,
  );
}

function badResponse(sentence: string, facts: ErrorFacts, hint?: string): SvcError {
  return new SvcError('bad_response', sentence, {
    hint:
      hint ??
      'Nothing of it was stored. Check that baseUrl is the API itself, then run the same command again: it continues where it stopped.',
    facts,
  });
}

/** The same error, knowing where it happened. */
export function withFacts(error: SvcError, where: Where): SvcError {
  const facts = { ...factsOf(where, null), ...error.facts };
  return new SvcError(error.code, error.message, { hint: error.hint, facts, cause: error.cause });
}

function factsOf(where: Where, attempts: number | null) {
  return {
    method: 'GET',
    route: where.url.pathname,
    host: where.url.host,
    region: where.host.endpoint.region || undefined,
    model: where.model ?? undefined,
    company: where.companyId ?? undefined,
    attempts: attempts ?? undefined,
  };
}

function outcomeFacts(outcome: Outcome, where: Where, scrub: Scrub) {
  if (outcome.kind === 'failure') return { status: undefined, error: scrub(outcome.detail) };
  const quoted = outcome.status === 200 ? undefined : quote(outcome.body, scrub);
  const target = targetOf(outcome.headers.location, where.url);
  return {
    status: outcome.status,
    request_id: requestIdOf(outcome.body, scrub),
    target: target === null ? undefined : scrub(target),
    answer: quoted,
    error: undefined,
  };
}

const answerSchema = z.object({ request_id: z.string() });

function requestIdOf(body: Uint8Array, scrub: Scrub): string | undefined {
  try {
    const answer = answerSchema.safeParse(JSON.parse(Buffer.from(body).toString('utf8')));
    return answer.success ? scrub(answer.data.request_id).slice(0, LONGEST_QUOTE) : undefined;
  } catch {
    return undefined;
  }
}

/** An error's own words, safe to print; pages for browsers say nothing. */
function quote(body: Uint8Array, scrub: Scrub): string | undefined {
  const text = scrub(Buffer.from(body).toString('utf8').replace(/\s+/g, ' ')).trim();
  return text === '' || text.startsWith('<') ? undefined : text.slice(0, LONGEST_QUOTE);
}

/** The host a redirect points at. */
function targetOf(location: string | null, from: URL): string | null {
  return location !== null && URL.canParse(location, from.href) ? new URL(location, from).host : null;
}
