import { type FaultKind, fatal, harmless, retried } from './fault-kinds.js';
import type { Strike } from './fault-server.js';
import { type PageText, readPageText, writePageText } from './page-text.js';

/** An address that nobody may ever be asked at; tests listen on it. */
export interface Elsewhere {
  readonly origin: string;
}

function answer(status: number, headers: Readonly<Record<string, string>>, body: string): Strike {
  return ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

const ERROR_BODY = JSON.stringify({ error: { code: 'broken', message: 'It broke.' }, request_id: 'req_77' });

function status(code: number): Strike {
  return answer(code, {}, ERROR_BODY);
}

/** Retry-After as a header; `after` is made from the server's own time. */
function wait(code: number, after: (nowMs: number) => string): Strike {
  return ({ response, seen }) => {
    const headers = { 'retry-after': after(seen.atMs), date: new Date(seen.atMs).toUTCString() };
    response.writeHead(code, headers).end(ERROR_BODY);
  };
}

const inSeconds = (seconds: number) => (nowMs: number) => new Date(nowMs + seconds * 1000).toUTCString();

const WAITS: readonly FaultKind[] = [
  retried(
    '429 with Retry-After in seconds',
    'unavailable',
    wait(429, () => '2'),
  ),
  retried('429 with Retry-After as a date', 'unavailable', wait(429, inSeconds(3))),
  retried('429 without Retry-After', 'unavailable', status(429)),
  retried(
    '429 with Retry-After 0',
    'unavailable',
    wait(429, () => '0'),
  ),
  retried(
    '429 with a negative Retry-After',
    'unavailable',
    wait(429, () => '-5'),
  ),
  retried(
    '429 with a garbled Retry-After',
    'unavailable',
    wait(429, () => 'soon'),
  ),
  retried('429 with a Retry-After in the past', 'unavailable', wait(429, inSeconds(-60))),
  retried(
    '503 with Retry-After',
    'unavailable',
    wait(503, () => '1'),
  ),
  fatal(
    '429 with a Retry-After beyond the budget',
    'wait_too_long',
    wait(429, () => '86400'),
  ),
  fatal('503 with a Retry-After beyond the budget, as a date', 'wait_too_long', wait(503, inSeconds(86_400))),
];

const STATUSES: readonly FaultKind[] = [
  ...[408, 500, 502, 503, 504, 599].map((code) => retried(`status ${code}`, 'unavailable', status(code))),
  ...[204, 206].map((code) => retried(`status ${code}`, 'bad_response', answer(code, {}, ''))),
  ...[405, 409, 418, 451].map((code) => fatal(`status ${code}`, 'http_status', status(code))),
  ...[401, 403].map((code) => fatal(`status ${code}`, 'auth', status(code))),
  ...[400, 410, 422].map((code) => expired(code, 'http_status')),
  expired(404, 'absent'),
];

/** On a cursor the server gave: the walk starts again, which must bring more than the last time. */
function expired(code: number, onFirst: 'http_status' | 'absent'): FaultKind {
  return {
    name: `status ${code}`,
    strike: status(code),
    expect: (persistence, position) =>
      position === 'first' ? onFirst : persistence === 'once' ? 'same' : 'cursor_expired',
  };
}

function redirects({ origin }: Elsewhere): FaultKind[] {
  const { host } = new URL(origin);
  const targets = [
    [301, `${origin}/v3/accounting/invoices`],
    [302, `//${host}/elsewhere`],
    [303, '/v3/other'],
    [307, `${origin}/x`],
    [308, 'https://user:secret@example.invalid/'],
    [304, ''],
  ] as const;
  return targets.map(([code, location]) =>
    fatal(
      `status ${code} to ${location === '' ? 'nowhere' : location.replace(origin, 'another origin').replace(host, 'another host')}`,
      'redirect',
      answer(code, location === '' ? {} : { location }, ''),
    ),
  );
}

/** The true page with another envelope, `empty` of records. */
function envelope(
  change: (page: PageText) => Readonly<Record<string, unknown>>,
  { empty = false } = {},
): Strike {
  return ({ response, answer: truth }) => {
    const page = readPageText(truth.body);
    const shown = empty ? { ...page, records: '' } : page;
    response.writeHead(200, { 'content-type': 'application/json' }).end(writePageText(shown, change(page)));
  };
}

function body(name: string, text: string | Buffer, type = 'application/json'): FaultKind {
  return retried(`200 with ${name}`, 'bad_response', ({ response }) => {
    response.writeHead(200, { 'content-type': type }).end(text);
  });
}

function bodyFrom(name: string, make: (truth: string) => string | Buffer): FaultKind {
  return retried(`200 with ${name}`, 'bad_response', ({ response, answer: truth }) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(make(truth.body.toString('utf8')));
  });
}

/** The page in the envelope of the other generation. */
function otherShape(text: string): string {
  const page = readPageText(Buffer.from(text));
  return writePageText({ ...page, requestId: page.requestId === null ? 'req_1' : null });
}

const BODIES: readonly FaultKind[] = [
  body('an HTML page', '<!DOCTYPE html><html><body>Please sign in</body></html>', 'text/html'),
  body('an empty body', ''),
  body('blanks only', ' \n '),
  body('null', 'null'),
  body('an empty list', '[]'),
  body('an empty object', '{}'),
  body('an error object', ERROR_BODY),
  body('data null', '{"data":null,"request_id":"r"}'),
  body('a text', '"ok"'),
  body('invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
  bodyFrom('the shape of the other generation', otherShape),
  bodyFrom('JSON cut at a record', (truth) => truth.slice(0, truth.lastIndexOf('{"svc_id"'))),
  bodyFrom('something behind the JSON', (truth) => `${truth}{}`),
  bodyFrom('a BOM before the JSON', (truth) => `\ufeff${truth}`),
  bodyFrom('NaN in it', (truth) => truth.replace(/"total_count":\d+/, '"total_count":NaN')),
  bodyFrom('the list as an object', (truth) => truth.replace('[', '{').replace(/\],"prev"/, '},"prev"')),
  retried(
    '200 without next',
    'bad_response',
    envelope(() => ({ next: undefined })),
  ),
  retried(
    '200 with a number as next',
    'bad_response',
    envelope(() => ({ next: 5 })),
  ),
  retried(
    '200 with an empty next',
    'bad_response',
    envelope(() => ({ next: '' })),
  ),
  retried(
    '200 with an object as next',
    'bad_response',
    envelope(() => ({ next: { cursor: 'x' } })),
  ),
  retried(
    '200 with an error beside the records',
    'bad_response',
    envelope(() => ({ error: { code: 'partial' } })),
  ),
  retried(
    '200 with errors beside an empty list that ends',
    'bad_response',
    envelope(() => ({ errors: ['busy'], next: null, total_count: null }), { empty: true }),
  ),
  harmless('200 as text/plain', ({ response, answer: truth }) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(truth.body);
  }),
];

/** A total_count that is too high calls for another walk; two that agree against it leave it disputed. */
const COUNTS: readonly FaultKind[] = [
  ...([null, -1, 2.5, 'many', 9e99] as const).map((count) =>
    harmless(
      `total_count ${JSON.stringify(count)}`,
      envelope(() => ({ total_count: count })),
    ),
  ),
  harmless(
    'a total_count that is too low',
    envelope(() => ({ total_count: 1 })),
  ),
  {
    name: 'a total_count that is too high',
    strike: envelope((page) => ({ total_count: (page.totalCount ?? 0) + 3 })),
    // Only the last page has the last word on the count.
    expect: (persistence, position) => (position === 'last' && persistence !== 'once' ? 'short' : 'same'),
  },
];

/** Faults of status, headers and body. */
export function answerFaults(elsewhere: Elsewhere): readonly FaultKind[] {
  return [...WAITS, ...STATUSES, ...redirects(elsewhere), ...BODIES, ...COUNTS];
}
