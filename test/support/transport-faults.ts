import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type FaultKind, fatal, harmless, retried } from './fault-kinds.js';
import { type Exchange, type Strike, send } from './fault-server.js';

const JSON_TYPE = 'content-type: application/json';
const OK = 'HTTP/1.1 200 OK';

/** Writes an answer byte by byte as given, past Node's own rules, and ends the connection as told. */
function raw(lines: readonly string[], body: Buffer | string, end: 'fin' | 'reset' | 'open'): Strike {
  return ({ socket }) => {
    socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)]), () => {
      if (end === 'fin') socket.end();
      if (end === 'reset') socket.resetAndDestroy();
    });
  };
}

/** The same with the true body, or what `change` makes of it. */
function rawBody(
  lines: (body: Buffer) => readonly string[],
  change: (body: Buffer) => Buffer,
  end: 'fin' | 'reset' | 'open',
): Strike {
  return (exchange) => {
    const { body } = exchange.answer;
    return raw([OK, JSON_TYPE, ...lines(body)], change(body), end)(exchange);
  };
}

const withLength = (body: Buffer): string[] => [`content-length: ${body.length}`];
const untilClosed = (): string[] => ['connection: close'];
const half = (body: Buffer): Buffer => body.subarray(0, body.length >>> 1);
const chunked = (body: Buffer): Buffer => Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n`, 'utf8');

/** A place in the body that depends on its bytes, so that many pages are cut at many places. */
function anywhere(body: Buffer): Buffer {
  const hash = createHash('sha256').update(body).digest().readUInt32BE(0);
  return body.subarray(0, hash % body.length);
}

function compressed(change: (gzip: Buffer) => Buffer, framing: 'length' | 'close' = 'length'): Strike {
  return (exchange) => {
    const sent = change(gzipSync(exchange.answer.body));
    const length = framing === 'length' ? withLength(sent) : [];
    return raw([OK, JSON_TYPE, 'content-encoding: gzip', ...length, ...untilClosed()], sent, 'fin')(exchange);
  };
}

/** Changes one byte, counted from the end where it is negative: gzip ends with four of the checksum and four of the length. */
function flipByte(at: number) {
  return (gzip: Buffer): Buffer => {
    const changed = Buffer.from(gzip);
    changed.writeUInt8(
      changed.readUInt8((changed.length + at) % changed.length) ^ 0xff,
      (changed.length + at) % changed.length,
    );
    return changed;
  };
}

/** Closes the listener with the connection: this attempt is reset, others are refused. */
function goAway({ server, strikes }: Exchange): void {
  server.refuse(Number.isFinite(strikes.left) ? 'a moment' : 'until healed');
}

function dribble({ socket, answer }: Exchange): void {
  socket.write(`${OK}\r\n${JSON_TYPE}\r\ncontent-length: ${answer.body.length}\r\n\r\n`);
  let sent = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(answer.body.subarray(sent, ++sent));
  }, 15);
}

/** Writes `start`, then `more` for ever. */
function drip(start: string, more: string, everyMs = 15): Strike {
  return ({ socket }) => {
    socket.write(start);
    const timer = setInterval(() => {
      if (socket.destroyed) clearInterval(timer);
      else socket.write(more);
    }, everyMs);
  };
}

const HINT = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n';

/** More than the cap of one MiB, as sent or once decompressed. */
const TOO_MUCH = Buffer.from(`{"data":[],"prev":null,"next":null,"x":"${'x'.repeat(1_500_000)}"}`);

export const TRANSPORT_FAULTS: readonly FaultKind[] = [
  retried('refused connections', 'network', goAway),
  retried('reset before the headers', 'network', ({ socket }) => void socket.resetAndDestroy()),
  retried('closed instead of answered, as a stale kept-alive connection', 'network', ({ socket }) => {
    socket.end();
  }),
  retried('reset within the headers', 'network', raw([OK, 'content-ty'], '', 'reset')),
  retried(
    'reset after the headers',
    'network',
    rawBody(withLength, () => Buffer.alloc(0), 'reset'),
  ),
  retried('reset at some byte of the body', 'network', rawBody(withLength, anywhere, 'reset')),
  retried(
    'reset before the last byte',
    'network',
    rawBody(withLength, (body) => body.subarray(0, -1), 'reset'),
  ),
  retried('a body shorter than announced', 'network', rawBody(withLength, half, 'fin')),
  retried(
    'a body longer than announced',
    'bad_response',
    rawBody(
      (body) => [`content-length: ${body.length - 9}`],
      (body) => body,
      'fin',
    ),
  ),
  retried(
    'a missing last chunk',
    'network',
    rawBody(() => ['transfer-encoding: chunked'], chunked, 'fin'),
  ),
  retried(
    'a broken chunk size',
    'network',
    rawBody(
      () => ['transfer-encoding: chunked'],
      (body) => Buffer.from(`zz\r\n${body}\r\n0\r\n\r\n`),
      'fin',
    ),
  ),
  retried('a cut body that ends with the connection', 'bad_response', rawBody(untilClosed, anywhere, 'fin')),
  retried('cut gzip', 'bad_response', compressed(half)),
  retried('gzip cut where the connection ends', 'bad_response', compressed(half, 'close')),
  retried(
    'gzip without its last byte',
    'bad_response',
    compressed((gzip) => gzip.subarray(0, -1)),
  ),
  retried('gzip with a wrong checksum', 'bad_response', compressed(flipByte(-6))),
  retried('gzip with a wrong length', 'bad_response', compressed(flipByte(-2))),
  retried('gzip with a damaged byte', 'bad_response', compressed(flipByte(20))),
  retried(
    'nothing as gzip',
    'bad_response',
    compressed(() => Buffer.alloc(0)),
  ),
  retried(
    'gzip that is not announced',
    'bad_response',
    rawBody(untilClosed, (body) => gzipSync(body), 'fin'),
  ),
  retried(
    'gzip that is none',
    'bad_response',
    compressed(() => Buffer.from('no gzip at all')),
  ),
  retried(
    'an encoding nobody asked for',
    'bad_response',
    rawBody(
      (body) => ['content-encoding: br', ...withLength(body), ...untilClosed()],
      (body) => body,
      'fin',
    ),
  ),
  retried('no HTTP', 'network', raw(['SSH-2.0-OpenSSH_9.6'], '', 'fin')),
  retried('endless headers', 'network', drip(`${OK}\r\n`, `x-more: ${'y'.repeat(4000)}\r\n`, 1)),
  retried('a hang before the headers', 'timeout', () => {}, { slow: true }),
  retried(
    'a hang after the headers',
    'timeout',
    rawBody(withLength, () => Buffer.alloc(0), 'open'),
    {
      slow: true,
    },
  ),
  retried('a hang within the body', 'timeout', rawBody(withLength, half, 'open'), { slow: true }),
  retried('a byte at a time', 'timeout', dribble, { slow: true }),
  retried('endless informational responses', 'timeout', drip('', HINT), { slow: true }),
  retried('a header a byte at a time', 'timeout', drip(`${OK}\r\nx-more: `, 'y'), { slow: true }),
  retried(
    'endless chunks of blanks',
    'timeout',
    drip(`${OK}\r\ntransfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
    { slow: true },
  ),
  fatal(
    'a body over the cap, announced',
    'body_too_large',
    raw([OK, JSON_TYPE, `content-length: ${TOO_MUCH.length}`], TOO_MUCH, 'fin'),
  ),
  fatal(
    'a body over the cap, not announced',
    'body_too_large',
    raw([OK, JSON_TYPE, 'connection: close'], TOO_MUCH, 'fin'),
  ),
  fatal(
    'a decompression bomb',
    'body_too_large',
    compressed(() => gzipSync(TOO_MUCH)),
  ),
  harmless(
    'gzip',
    compressed((gzip) => gzip),
  ),
  harmless(
    'a body that ends with the connection',
    rawBody(untilClosed, (body) => body, 'fin'),
  ),
  harmless('an informational response before the answer', ({ socket, response, answer }) => {
    socket.write(HINT);
    send(response, answer);
  }),
];
