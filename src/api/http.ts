import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, EnvHttpProxyAgent, errors, request } from 'undici';
import type { Config } from '../config/config.js';
import { expectedError, SvcError } from '../errors.js';

/** The outcome of one attempt. Only the caller's abort reason and unexpected errors are thrown instead. */
export type AttemptOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<
        Record<'retryAfter' | 'rateLimitReset' | 'date' | 'location', string | null>
      >;
      readonly body: AnswerBody;
    }
  | {
      readonly kind: 'failure';
      readonly failure: 'network' | 'tls' | 'timeout' | 'broken_body' | 'body_too_large';
      readonly detail: string;
    };

export interface AnswerBody {
  readonly decoded: Uint8Array;
  readonly gzip: Uint8Array | null;
}

export interface TransportOptions {
  readonly dispatcher: Dispatcher;
  /** For the whole attempt, until the last byte is received. */
  readonly timeoutMs: number;
  /** As sent, and decompressed. */
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

/** Certificates are always verified, also through a proxy, and even if NODE_TLS_REJECT_UNAUTHORIZED is 0. */
export function createDispatcher({ v3, v4, http }: Config): Dispatcher {
  const tls = { timeout: http.timeoutMs, rejectUnauthorized: true };
  try {
    return new EnvHttpProxyAgent({
      pipelining: 1,
      connections: Math.max(...[...v3.regions, v4].map(({ concurrency }) => concurrency)),
      maxResponseSize: http.maxBodyBytes,
      // Each attempt has a deadline; undici's own timers are coarser and not needed.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: tls,
      proxyTls: tls,
      requestTls: tls,
      // Plain http never goes through a proxy, which could read the key.
      httpProxy: '',
    });
  } catch (cause) {
    // The value may contain a password, so no message shows it.
    throw new SvcError('config', 'HTTPS_PROXY is not the address of an HTTP proxy.', {
      hint: 'Write it like http://proxy.example.com:3128, or unset it.',
      cause: cause instanceof Error ? cause.name : undefined,
    });
  }
}

export async function fetchOnce(url: URL, key: string, options: TransportOptions): Promise<AttemptOutcome> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  try {
    return await send(url, key, options, AbortSignal.any([options.signal, deadline]));
  } catch (error) {
    options.signal.throwIfAborted();
    if (deadline.aborted) return { kind: 'failure', failure: 'timeout', detail: 'deadline' };
    return failureOf(error, options.maxBodyBytes);
  }
}

async function send(
  url: URL,
  key: string,
  { dispatcher, maxBodyBytes }: TransportOptions,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const response = await request(url, {
    dispatcher,
    headers: {
      api_key: key,
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'svc-migrate',
    },
    signal,
  });
  const header = (name: string): string | null => [response.headers[name]].flat().at(-1) ?? null;
  const status = response.statusCode;
  const body = readBody(response.body, header('content-encoding'), maxBodyBytes);
  const outcome = {
    kind: 'answer',
    status,
    headers: {
      retryAfter: header('retry-after'),
      rateLimitReset: header('x-ratelimit-reset') ?? header('ratelimit-reset'),
      date: header('date'),
      location: header('location'),
    },
    // The status of an error counts, whatever becomes of its body.
    body: await (status === 200 ? body : body.catch(() => ({ decoded: new Uint8Array(), gzip: null }))),
  } as const;
  // undici reuses the connection one turn of the event loop after the response has ended.
  await setImmediate();
  return outcome;
}

const decompress = promisify(gunzip);

/** Pages decompress to megabytes; zlib's default of 16 KiB would need a hundred chunks. */
const CHUNK_BYTES = 262_144;

async function readBody(
  body: Dispatcher.ResponseData['body'],
  encoding: string | null,
  maxBytes: number,
): Promise<AnswerBody> {
  const sent = await body.bytes();
  // An encoding that was not requested fails as damaged gzip.
  if (/^\s*(?:identity\s*)?$/i.test(encoding ?? '')) return { decoded: sent, gzip: null };
  return {
    decoded: await decompress(sent, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }),
    gzip: sent,
  };
}

function failureOf(error: unknown, maxBytes: number): AttemptOutcome {
  const code = networkCodeOf(error);
  if (code === null) throw error;
  const failed = (failure: 'broken_body' | 'body_too_large' | 'tls' | 'network', detail: string) =>
    ({ kind: 'failure', failure, detail }) as const;
  if (/^Z_/.test(code))
    return failed('broken_body', 'its gzip data is cut off, damaged or of another encoding');
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' || code === 'ERR_BUFFER_TOO_LARGE')
    return failed('body_too_large', `more than ${maxBytes} bytes`);
  return failed(isTlsFailure(code) ? 'tls' : 'network', code);
}

/** The code of a socket, TLS, undici or zlib error; null for any other error, which is a bug. */
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
