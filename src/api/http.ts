import { setImmediate } from 'node:timers/promises';
import { type Dispatcher, errors, request } from 'undici';
import { expectedError } from '../errors.js';
import { BodyTooLargeError, BrokenBodyError, readBody, readExcerpt } from './body.js';

/** One GET: where to, with which key. */
export interface Call {
  readonly url: URL;
  readonly key: string;
}

export interface AnswerHeaders {
  readonly retryAfter: string | null;
  readonly date: string | null;
  readonly location: string | null;
}

/** What came of one attempt. Thrown are only the reason of the caller's own abort and errors nobody foresaw. */
export type Outcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** Decoded, and whole where the status is 200; else the first bytes. */
      readonly body: Uint8Array;
    }
  | {
      readonly kind: 'failure';
      readonly failure: 'network' | 'tls' | 'timeout' | 'broken_body' | 'body_too_large';
      /** Such as `ECONNREFUSED`. */
      readonly detail: string;
    };

export interface TransportOptions {
  readonly dispatcher: Dispatcher;
  /** From the first byte sent to the last one received. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

const DEADLINE = Symbol('deadline');

/** One attempt. Never follows a redirect; asks for gzip and decodes it strictly. */
export async function fetchOnce(call: Call, options: TransportOptions): Promise<Outcome> {
  options.signal.throwIfAborted();
  const attempt = new AbortController();
  const deadline = setTimeout(() => attempt.abort(DEADLINE), options.timeoutMs);
  const stop = (): void => attempt.abort(options.signal.reason);
  options.signal.addEventListener('abort', stop, { once: true });
  try {
    return await send(call, options, attempt.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    return failureOf(error, attempt.signal.reason === DEADLINE);
  } finally {
    clearTimeout(deadline);
    options.signal.removeEventListener('abort', stop);
  }
}

async function send(call: Call, options: TransportOptions, signal: AbortSignal): Promise<Outcome> {
  const response = await request(call.url, {
    dispatcher: options.dispatcher,
    method: 'GET',
    headers: {
      api_key: call.key,
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'svc-migrate',
    },
    signal,
  });
  const header = (name: string): string | null => [response.headers[name]].flat().at(-1) ?? null;
  const body =
    response.statusCode === 200
      ? await readBody(response.body, {
          maxBytes: options.maxBodyBytes,
          contentLength: header('content-length'),
          encoding: header('content-encoding'),
        })
      : await readExcerpt(response.body, header('content-encoding'));
  // the connection is free for another request one turn of the event loop after its answer has ended
  await setImmediate();
  return {
    kind: 'answer',
    status: response.statusCode,
    headers: { retryAfter: header('retry-after'), date: header('date'), location: header('location') },
    body,
  };
}

function failureOf(error: unknown, late: boolean): Outcome {
  if (late) return { kind: 'failure', failure: 'timeout', detail: 'deadline' };
  if (error instanceof BodyTooLargeError) {
    return { kind: 'failure', failure: 'body_too_large', detail: error.message };
  }
  if (error instanceof BrokenBodyError) {
    return { kind: 'failure', failure: 'broken_body', detail: error.message };
  }
  const code = networkCodeOf(error);
  if (code === null) throw error;
  return { kind: 'failure', failure: isTlsFailure(code) ? 'tls' : 'network', detail: code };
}

/** undici's words where a proxy opens no tunnel. */
const PROXY_REFUSED = /^Proxy response \((\d+)\)/;

/** Sockets, TLS and undici name their errors; null for a fault of this program. */
function networkCodeOf(error: unknown): string | null {
  const refused = error instanceof errors.RequestAbortedError && PROXY_REFUSED.exec(error.message);
  if (refused) return `the proxy answered ${refused[1]}`;
  if (error instanceof errors.HTTPParserError) return error.code ?? 'no HTTP';
  if (error instanceof errors.InvalidArgumentError || expectedError(error) !== null) return null;
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Certificates that cannot be trusted stay so however often one asks. */
function isTlsFailure(code: string): boolean {
  return /CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|EPROTO/.test(code);
}
