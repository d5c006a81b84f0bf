import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Recorded, Recordings } from './recordings.js';

/** One request that reached the server. */
export interface Seen {
  /** Path and query, as the service behind knows it: cursors of the fault server are replaced. */
  readonly address: string;
  /** When it arrived, by the clock that was passed in. */
  readonly atMs: number;
  /** The status sent, 0 where none was. */
  status: number;
}

/** What a fault may do with one request. */
export interface Exchange {
  readonly seen: Seen;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** What the service behind answers. */
  readonly answer: Recorded;
  readonly server: FaultServer;
  /** How often the fault will strike after this. */
  readonly strikes: Strikes;
}

export interface Strikes {
  left: number;
}

export type Strike = (exchange: Exchange) => void | Promise<void>;

/** What strikes a request; null: it is answered truly. */
export type Script = (seen: Seen) => { readonly strike: Strike; readonly strikes: Strikes } | null;

export interface FaultServer {
  readonly origin: string;
  readonly log: readonly Seen[];
  script: Script;
  /** What the service behind answers. */
  ask(address: string): Promise<Recorded>;
  /** A cursor that leads where the address of a page leads; the same name gives the same text. */
  mintCursor(address: string, name?: string): string;
  /** Resets all connections and refuses new ones, for a moment or until `heal`. */
  refuse(howLong: 'a moment' | 'until healed'): void;
  /** Does no more harm. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

export interface FaultServerOptions {
  readonly recordings: Recordings;
  readonly script?: Script;
  readonly clock?: { now(): number };
}

/** A server on loopback that stands in front of the recorded service and misbehaves as its script says. */
export async function startFaultServer(options: FaultServerOptions): Promise<FaultServer> {
  const { recordings, clock = Date } = options;
  const log: Seen[] = [];
  const minted = new Map<string, string>();
  const sockets = new Set<Socket>();
  let port = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = resolveCursor(request.url ?? '/', minted);
    const seen: Seen = { address, atMs: clock.now(), status: 0 };
    log.push(seen);
    response.on('finish', () => {
      seen.status = response.statusCode;
    });
    const struck = server.script(seen);
    const answer = await recordings.ask(address);
    if (struck === null) return send(response, answer);
    const { strike, strikes } = struck;
    await strike({ seen, request, response, socket: request.socket, answer, server, strikes });
  };
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      process.stderr.write(`fault server: ${error instanceof Error ? error.stack : String(error)}\n`);
      response.destroy();
    });
  });
  http.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  const listen = async (): Promise<void> => {
    http.listen(port, '127.0.0.1');
    await once(http, 'listening');
    port = (http.address() as AddressInfo).port;
  };
  await listen();
  const server: FaultServer = {
    origin: `http://127.0.0.1:${port}`,
    log,
    script: options.script ?? (() => null),
    ask: recordings.ask,
    mintCursor: (address, name = `minted-${minted.size}`) => {
      minted.set(name, cursorOf(address));
      return name;
    },
    refuse: (howLong) => {
      http.close();
      for (const socket of sockets) socket.resetAndDestroy();
      if (howLong === 'a moment') setImmediate(() => void listen());
    },
    heal: async () => {
      server.script = () => null;
      if (!http.listening) await listen();
    },
    close: () => closeAll(http, sockets),
  };
  return server;
}

async function closeAll(http: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = http.listening ? once(http, 'close') : Promise.resolve();
  http.close();
  for (const socket of sockets) socket.destroy();
  await closed;
}

/** The recorded answer, unharmed. */
export function send(response: ServerResponse, answer: Recorded): void {
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': answer.body.length,
  });
  response.end(answer.body);
}

/** The cursor an address asks with; '' for the first page. */
export function cursorOf(address: string): string {
  return new URL(address, 'http://x').searchParams.get('next') ?? '';
}

/** The same list from another cursor; '' is its start. */
export function withCursor(address: string, cursor: string): string {
  const [path = '', query = ''] = address.split('?', 2);
  const others = query.split('&').filter((part) => part !== '' && !part.startsWith('next='));
  if (cursor !== '') others.push(`next=${encodeURIComponent(cursor)}`);
  return `${path}?${others.join('&')}`;
}

/** Addresses with minted cursors become those of the service behind; its own are left as they are. */
function resolveCursor(address: string, minted: ReadonlyMap<string, string>): string {
  const known = minted.get(cursorOf(address));
  return known === undefined ? address : withCursor(address, known);
}
