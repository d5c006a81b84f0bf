import { type FaultKind, fatal, harmless } from './fault-kinds.js';
import { cursorOf, type Exchange, type Strike, send, withCursor } from './fault-server.js';
import { readPageText, writePageText } from './page-text.js';

/** Answers the true page with a cursor that leads to `address`; the same name is the same cursor text. */
function leadingTo(address: (exchange: Exchange) => string, name?: string): Strike {
  return (exchange) => {
    const { response, server, answer } = exchange;
    const next = server.mintCursor(address(exchange), name);
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(writePageText(readPageText(answer.body), { next }));
  };
}

const samePage = ({ seen }: Exchange): string => seen.address;
const firstPage = ({ seen }: Exchange): string => withCursor(seen.address, '');

/** Never shown before in this walk; leads on as the true one does. */
function trueNext(text: (exchange: Exchange) => string): Strike {
  return (exchange) => {
    const { next } = readPageText(exchange.answer.body);
    if (next === null) return leadingTo(samePage, text(exchange))(exchange);
    return leadingTo(({ seen }) => withCursor(seen.address, next), text(exchange))(exchange);
  };
}

/** The page of another size; cursors lead on from its end. */
function sized(size: number): Strike {
  return async ({ response, server, seen }) => {
    const address = seen.address.replace(/limit=\d+/, `limit=${size}`);
    const { body } = await server.ask(address);
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
}

/** The true page, with a cursor that goes back to its second record. */
async function overlap(exchange: Exchange): Promise<void> {
  const { server, seen } = exchange;
  const { body } = await server.ask(seen.address.replace(/limit=\d+/, 'limit=1'));
  const { next } = readPageText(body);
  // A page of one record has no second one.
  if (next === null) return send(exchange.response, exchange.answer);
  const back = withCursor(seen.address, next);
  return leadingTo(() => back, `overlap-${cursorOf(back)}`)(exchange);
}

function emptyWithCursor(exchange: Exchange): void {
  const { response, server, answer, seen } = exchange;
  const next = server.mintCursor(seen.address);
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(writePageText({ ...readPageText(answer.body), records: '' }, { next }));
}

function endEarly({ response, answer }: Exchange): void {
  const page = { ...readPageText(answer.body), records: '', next: null };
  response.writeHead(200, { 'content-type': 'application/json' }).end(writePageText(page));
}

/** The cursor that was asked with, as the next one. */
function ownCursor({ response, answer, request }: Exchange): void {
  const next = cursorOf(request.url ?? '');
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(writePageText(readPageText(answer.body), { next }));
}

/** Records as if they were another company's. */
function otherCompany({ response, answer }: Exchange): void {
  const text = answer.body.toString('utf8').replace(/"svc_company_id":\d+/g, '"svc_company_id":4040404');
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

/** A cursor that comes a second time ends the stream with an error; one time is a detour. */
function loop(name: string, strike: Strike): FaultKind {
  return { name, strike, expect: (persistence) => (persistence === 'once' ? 'same' : 'cursor_loop') };
}

/** Back to the first page: from there on every cursor comes a second time. */
function cycleOr(onFirst: 'cursor_loop' | 'no_progress'): FaultKind['expect'] {
  return (persistence, position) => {
    if (position !== 'first') return 'cursor_loop';
    if (persistence === 'once') return 'same';
    return persistence === 'for ever' || onFirst === 'cursor_loop' ? onFirst : 'same';
  };
}

/** Leads on as it should; at the end of the list there is nowhere to lead. */
function odd(name: string, strike: Strike): FaultKind {
  return {
    name,
    strike,
    expect: (persistence, position) =>
      position === 'last' && persistence !== 'once' ? 'cursor_loop' : 'same',
  };
}

/** A detour under ever new cursors: patience for 100 pages without anything new. */
function endless(name: string, strike: Strike): FaultKind {
  return { name, strike, expect: (persistence) => (persistence === 'for ever' ? 'no_progress' : 'same') };
}

/** Faults of paging; `elsewhere` is an origin that cursors point at. */
export function pagingFaults(elsewhere: string): readonly FaultKind[] {
  return [
    loop('a cursor that leads to its own page', leadingTo(samePage, 'loop')),
    // Behind the first page comes a cursor that the walk had before.
    {
      ...loop('a cycle back to the first page', leadingTo(firstPage, 'cycle')),
      expect: cycleOr('cursor_loop'),
    },
    fatal('the cursor that was asked with', 'cursor_loop', ownCursor, { notFirst: true }),
    endless('the page again under a new cursor', leadingTo(samePage)),
    endless('an empty page with a cursor', emptyWithCursor),
    {
      ...endless('back to the first page under a new cursor', leadingTo(firstPage)),
      expect: cycleOr('no_progress'),
    },
    {
      name: 'an empty page as the end',
      strike: endEarly,
      // Behind a cursor it is asked for once more; the count then calls for a second walk, unless it shows the same.
      expect: (persistence, position) =>
        persistence === 'for ever' || (persistence !== 'once' && position === 'first') ? 'short' : 'same',
    },
    harmless('an overlapping page', overlap),
    harmless('a smaller page', sized(1)),
    harmless('a larger page', sized(50)),
    odd(
      'an absolute address as cursor',
      trueNext(() => `${elsewhere}/steal?next=1`),
    ),
    odd(
      'a scheme-relative address as cursor',
      trueNext(() => `//${new URL(elsewhere).host}/steal`),
    ),
    odd(
      'a cursor with line breaks and quotes',
      trueNext(() => 'a\r\napi_key: x\u0000"\'&next=%00#\u202e'),
    ),
    odd(
      'a cursor of 10 kB',
      trueNext(() => 'c'.repeat(10_000)),
    ),
    {
      name: 'records of another company',
      strike: otherCompany,
      only: 'v4',
      expect: () => 'rejected',
    },
  ];
}
