import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors, request } from 'undici';
import { expectedError } from '../errors.js';

export interface Call {
  readonly url: URL;
  readonly key: string;
}

export interface AnswerHeaders {
  readonly retryAfter: string | null;
  /** `X-RateLimit-Reset` or `RateLimit-Reset`. */
  readonly rateLimitReset: string | null;
  readonly date: string | null;
  readonly location: string | null;
}

/** Complete if the status is 200, otherwise the first bytes. */
export interface AnswerBody {
  readonly decoded: Uint8Array;
  readonly sent: Uint8Array;
  readonly encoding: 'identity' | 'gzip';
}

/** The outcome of one attempt. Only the caller's abort reason and unexpected errors are thrown instead. */
export type AttemptOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly body: AnswerBody;
    }
  | {
      readonly kind: 'failure';
      readonly failure: 'network' | 'tls' | 'timeout' | 'broken_body' | 'body_too_large';
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
      ? await readBody(response.body, options.maxBodyBytes, encoding)
      : await readExcerpt(response.body, encoding);
  // undici reuses the connection one turn of the event loop after the response has ended.
  await setImmediate();
  return {
    kind: 'answer',
    status: response.statusCode,
    headers: {
      retryAfter: header('retry-after'),
      rateLimitReset: header('x-ratelimit-reset') ?? header('ratelimit-reset'),
      date: header('date'),
      location: header('location'),
    },
    body,
  };
}

function failureOf(error: unknown, isLate: boolean): AttemptOutcome {
  if (isLate) return { kind: 'failure', failure: 'timeout', detail: 'deadline' };
  if (error instanceof BodyError) return { kind: 'failure', failure: error.failure, detail: error.message };
  const code = networkCodeOf(error);
  if (code === null) throw error;
  return { kind: 'failure', failure: isTlsFailure(code) ? 'tls' : 'network', detail: code };
}

/** The code of a socket, TLS or undici error; null for any other error, which is a bug. */
function networkCodeOf(error: unknown): string | null {
  // A proxy refused to open a tunnel; the message names its status.
  if (error instanceof errors.RequestAbortedError) return error.message;
  if (error instanceof errors.HTTPParserError) return error.code ?? 'no HTTP';
  if (error instanceof errors.InvalidArgumentError || expectedError(error) !== null) return null;
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

function isTlsFailure(code: string): boolean {
  return /CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|EPROTO/.test(code);
}

const decompress = promisify(gunzip);

/** Pages decompress to megabytes; zlib's default of 16 KiB would need a hundred chunks. */
const CHUNK_BYTES = 262_144;

const EXCERPT_BYTES = 16_384;

/** A body that exceeds the limit (as sent or decompressed), ends early, or contradicts its headers. */
class BodyError extends Error {
  readonly failure: 'broken_body' | 'body_too_large';

  constructor(failure: BodyError['failure'], detail: string) {
    super(detail);
    this.failure = failure;
  }
}

const NO_BODY: AnswerBody = { decoded: new Uint8Array(), sent: new Uint8Array(), encoding: 'identity' };

type Body = Dispatcher.ResponseData['body'];

/** The whole body, decoded; `maxBytes` limits its size both as sent and decompressed. */
async function readBody(body: Body, maxBytes: number, encoding: string | null): Promise<AnswerBody> {
  return decode(await collect(body, maxBytes), encoding, maxBytes);
}

/** The beginning of an error response's body; empty if it cannot be read. */
async function readExcerpt(body: Body, encoding: string | null): Promise<AnswerBody> {
  try {
    return await readBody(body, EXCERPT_BYTES, encoding);
  } catch {
    return NO_BODY;
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

async function decode(sent: Buffer, encoding: string | null, maxBytes: number): Promise<AnswerBody> {
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (name === '' || name === 'identity') return { decoded: sent, sent, encoding: 'identity' };
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new BodyError('broken_body', 'a content-encoding that was not requested');
  }
  try {
    const decoded = await decompress(sent, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES });
    return { decoded, sent, encoding: 'gzip' };
  } catch (error) {
    const tooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw tooLarge
      ? new BodyError('body_too_large', `more than ${maxBytes} bytes decompressed`)
      : new BodyError('broken_body', 'the gzip data is cut off or damaged');
  }
}

function abandon(body: Body): void {
  // Without a listener, a later error of the destroyed body would be an uncaught exception.
  body.on('error', () => {});
  body.destroy();
}
