import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

export interface HttpServer {
  readonly origin: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** Serves on loopback until it is closed, which cuts the connections that are left. */
export async function serveHttp(answer: RequestListener, options: ServerOptions = {}): Promise<HttpServer> {
  const server = createServer(options, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Serves while the tests of a file run; the origin is known to its hooks and tests. */
export function serveFile(answer: RequestListener): { readonly origin: string } {
  const served = { origin: '' };
  let http: HttpServer;
  beforeAll(async () => {
    http = await serveHttp(answer);
    served.origin = http.origin;
  });
  afterAll(() => http.close());
  return served;
}

/** Passes a request on to another origin, and its answer back. */
export function forward(origin: string, ...[incoming, outgoing]: Parameters<RequestListener>): void {
  const { method, headers, url } = incoming;
  const forwarded = request(new URL(url ?? '', origin), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(forwarded);
}
