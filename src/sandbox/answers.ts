import { type JsonObject, writeJson } from './json.js';
import type { Page } from './pages.js';
import { malformedBefore, type Quirks } from './quirks.js';
import { mix } from './random.js';
import { type Extras, writeRecord } from './records.js';
import type { World } from './world.js';

/** A response before it is sent; the body is made piece by piece. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<string>;
}

/** Answers of V4 carry the request's id; those of V3 have none. */
export type RequestId = string | null;

/** One page in the envelope of its generation. */
export function answerPage(
  world: World,
  page: Page,
  extras: Extras,
  requestId: RequestId,
  quirks: Quirks,
): Answer {
  const { totalCount } = page;
  const counted = totalCount === null ? page : { ...page, totalCount: quirks.totalCount ?? totalCount };
  return answerList(writeItems(world, page, extras, quirks), counted, requestId);
}

function* writeItems(world: World, page: Page, extras: Extras, quirks: Quirks): Generator<string> {
  for (const stored of page.records) {
    const malformed = malformedBefore(quirks, mix(stored.table.hash, stored.position));
    if (malformed !== null) yield malformed;
    yield writeRecord(world, stored, extras);
  }
}

/** A list of objects in the envelope of its generation. */
export function answerList(
  texts: Iterable<string>,
  { prev, next, totalCount }: Pick<Page, 'prev' | 'next' | 'totalCount'>,
  requestId: RequestId,
): Answer {
  const tail = `],${writeJson({ prev, next, total_count: totalCount }).slice(1)}`;
  return requestId === null
    ? ok(join('{"data":[', texts, tail))
    : ok(join('{"data":{"data":[', texts, `${tail},"request_id":${writeJson(requestId)}}`));
}

/** One record in V4's envelope. */
export function answerRecord(record: string, requestId: RequestId): Answer {
  return ok([`{"data":${record},"request_id":${writeJson(requestId)}}`]);
}

export function answerError(
  status: number,
  code: string,
  message: string,
  requestId: RequestId,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const error: JsonObject = { error: { code, message } };
  const body = requestId === null ? error : { data: null, ...error, request_id: requestId };
  return { status, headers: { ...JSON_TYPE, ...headers }, body: [writeJson(body)] };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function ok(body: Iterable<string>): Answer {
  return { status: 200, headers: JSON_TYPE, body };
}

/** Pieces of about this many characters are sent at once. */
const PIECE = 32_768;

function* join(head: string, texts: Iterable<string>, tail: string): Generator<string> {
  let piece = head;
  let separator = '';
  for (const text of texts) {
    piece += separator + text;
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + tail;
}
