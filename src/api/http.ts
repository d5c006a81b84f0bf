import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors, request } from 'undici';
import { type ErrorCode, expectedError } from '../errors.js';

/** A GET request. */
export interface Call {
  readonly url: URL;
  readonly key: string;
}

export interface AnswerHeaders {
  readonly retryAfter: string | null;
  readonly date: string | null;
  readonly location: string | null;
}

/** The outcome of one attempt. Only the caller's abort reason and unexpected errors are thrown instead. */
export type AttemptOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** Decoded; complete if the status is 200, otherwise the first bytes. */
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
  /** For the whole attempt, until the last byte is received. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

const DEADLINE = Symbol('deadline');

/** Makes one attempt. Never follows a redirect; requests gzip and decodes it strictly. */
export async function fetchOnce(call: Call, options: TransportOptions): Promise<AttemptOutcome> {
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

async function send(call: Call, options: TransportOptions, signal: AbortSignal): Promise<AttemptOutcome> {
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
  const encoding = header('content-encoding');
  const body =
    response.statusCode === 200
      ? await readBody(response.body, options.maxBodyBytes, header('content-length'), encoding)
      : await readExcerpt(response.body, encoding);
  // the connection can be reused one turn of the event loop after its response has ended
  await setImmediate();
  return {
    kind: 'answer',
    status: response.statusCode,
    headers: { retryAfter: header('retry-after'), date: header('date'), location: header('location') },
    body,
  };
}

function failureOf(error: unknown, late: boolean): AttemptOutcome {
  if (late) return { kind: 'failure', failure: 'timeout', detail: 'deadline' };
  if (error instanceof BodyError) return { kind: 'failure', failure: error.failure, detail: error.message };
  const code = networkCodeOf(error);
  if (code === null) throw error;
  return { kind: 'failure', failure: isTlsFailure(code) ? 'tls' : 'network', detail: code };
}

/** undici's message if a proxy refuses to open a tunnel. */
const PROXY_REFUSED = /^Proxy response \((\d+)\)/;

/** The code of a socket, TLS or undici error; null for any other error, which is a bug. */
function networkCodeOf(error: unknown): string | null {
  const refused = error instanceof errors.RequestAbortedError && PROXY_REFUSED.exec(error.message);
  if (refused) return `the proxy answered ${refused[1]}`;
  if (error instanceof errors.HTTPParserError) return error.code ?? 'no HTTP';
  if (error instanceof errors.InvalidArgumentError || expectedError(error) !== null) return null;
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Untrusted certificates are not worth a retry. */
function isTlsFailure(code: string): boolean {
  return /CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|EPROTO/.test(code);
}

const decompress = promisify(gunzip);

/** Pages decompress to megabytes; zlib's default of 16 KiB would need a hundred chunks. */
const CHUNK_BYTES = 262_144;

/** Bytes of an error response that are read. */
const EXCERPT_BYTES = 16_384;

/** A body that exceeds the limit (as sent or decompressed), ends early, or contradicts its headers. */
class BodyError extends Error {
  readonly failure: 'broken_body' | 'body_too_large';

  constructor(failure: BodyError['failure'], detail: string) {
    super(detail);
    this.failure = failure;
  }
}

type Body = Dispatcher.ResponseData['body'];

/** The whole body, decoded; `maxBytes` limits its size both as sent and decompressed. */
async function readBody(
  body: Body,
  maxBytes: number,
  contentLength: string | null,
  encoding: string | null,
): Promise<Uint8Array> {
  const announced = contentLength === null ? null : Number(contentLength);
  if (announced !== null && announced > maxBytes) {
    abandon(body);
    throw new BodyError('body_too_large', `${announced} bytes announced`);
  }
  const sent = await collect(body, maxBytes);
  if (announced !== null && sent.length !== announced) {
    throw new BodyError('broken_body', `${sent.length} of ${announced} bytes arrived`);
  }
  return decode(sent, encoding, maxBytes);
}

/** The beginning of an error response's body; empty if it cannot be read. */
async function readExcerpt(body: Body, encoding: string | null): Promise<Uint8Array> {
  try {
    return await decode(await collect(body, EXCERPT_BYTES), encoding, EXCERPT_BYTES);
  } catch {
    return new Uint8Array();
  }
}

async function collect(body: Body, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > maxBytes) {
      abandon(body);
      throw new BodyError('body_too_large', `more than ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
}

async function decode(sent: Buffer, encoding: string | null, maxBytes: number): Promise<Uint8Array> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return sent;
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new BodyError('broken_body', 'a content-encoding that was not requested');
  }
  try {
    return await decompress(sent, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES });
  } catch (error) {
    const tooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw tooLarge
      ? new BodyError('body_too_large', `more than ${maxBytes} bytes decompressed`)
      : new BodyError('broken_body', 'the gzip data is cut off or damaged');
  }
}

function abandon(body: Body): void {
  // without a listener, a later error of the destroyed body would be an uncaught exception
  body.on('error', () => {});
  body.destroy();
}

/** Upper bound of the first backoff; it doubles with each attempt. */
const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/** What to do after an attempt, and the error code if it was the last. */
export type AttemptVerdict =
  | { readonly kind: 'parse' }
  | { readonly kind: 'retry'; readonly code: ErrorCode }
  | { readonly kind: 'fail'; readonly code: ErrorCode };

/** Whether the outcome is worth reading, worth another attempt, or final. */
export function classify(outcome: AttemptOutcome): AttemptVerdict {
  return outcome.kind === 'answer' ? classifyStatus(outcome.status) : AFTER_FAILURE[outcome.failure];
}

type Failure = Extract<AttemptOutcome, { kind: 'failure' }>['failure'];
const AFTER_FAILURE: Readonly<Record<Failure, AttemptVerdict>> = {
  network: { kind: 'retry', code: 'network' },
  timeout: { kind: 'retry', code: 'timeout' },
  broken_body: { kind: 'retry', code: 'bad_response' },
  body_too_large: { kind: 'fail', code: 'body_too_large' },
  tls: { kind: 'fail', code: 'network' },
};

function classifyStatus(status: number): AttemptVerdict {
  if (status === 200) return { kind: 'parse' };
  if (status < 300) return { kind: 'retry', code: 'bad_response' };
  if (status < 400) return { kind: 'fail', code: 'redirect' };
  if (status === 401 || status === 403) return { kind: 'fail', code: 'auth' };
  // a refusal if it lasts
  if (status === 501) return { kind: 'retry', code: 'http_status' };
  const isPassing = status === 408 || status === 429 || status >= 500;
  return isPassing ? { kind: 'retry', code: 'unavailable' } : { kind: 'fail', code: 'http_status' };
}

/** Exponential backoff with full jitter. `attempt` counts from 1. */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)));
}

const TIME = '([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)';
/** The three forms of RFC 9110, section 5.6.7; `Date.parse` checks their names of months. */
const HTTP_DATES = [
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d{2}) [A-Z][a-z]{2} \\d{4} ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d{2})-[A-Z][a-z]{2}-\\d{2} ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} (?<day>[ \\d]\\d) ${TIME} \\d{4}$`),
];

/**
 * The wait that a Retry-After header asks for, in ms, from seconds or an HTTP date. Null if it is missing, invalid,
 * negative or in the past. `nowMs` is the server's time if known.
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), Number.MAX_SAFE_INTEGER);
  const at = parseHttpDate(text);
  return at === null || at < nowMs ? null : Math.ceil(at - nowMs);
}

/** Parses an HTTP date; ms since 1970, or null. Two-digit years, which are obsolete, are 19xx from 50 on, otherwise 20xx. */
export function parseHttpDate(text: string): number | null {
  const day = HTTP_DATES.map((one) => one.exec(text)?.groups?.['day']).find((found) => found !== undefined);
  if (day === undefined) return null;
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  // Date.parse takes 31 February for 3 March
  return new Date(ms).getUTCDate() === Number(day) ? ms : null;
}
