import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** What the server does on one request: writes what it likes to the socket, or breaks it. */
export type Script = (socket: Socket, request: RawRequest) => void;

export interface RawRequest {
  /** Counts from 1 over the server's life. */
  readonly count: number;
  readonly path: string;
  readonly headers: string;
}

/** A server of real sockets that does nothing on its own. */
export class RawServer {
  readonly requests: RawRequest[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(script: Script) {
    this.#server = createServer((socket) => this.#serve(socket, script));
  }

  static async start(script: Script): Promise<RawServer> {
    const server = new RawServer(script);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return `http://127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket, script: Script): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // broken connections are what these servers are for
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const headers = text.slice(0, end);
        text = text.slice(end + 4);
        const request = { count: this.requests.length + 1, path: headers.split(' ')[1] ?? '', headers };
        this.requests.push(request);
        script(socket, request);
      }
    });
  }
}

/** A whole answer with Content-Length. */
export function answer(
  body: string | Uint8Array,
  headers: readonly string[] = [],
  status = '200 OK',
): Buffer {
  const bytes = Buffer.from(body);
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes.length}`,
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
}

/** A chunked answer, without its last chunk where `isWhole` is false. */
export function chunkedAnswer(
  body: string | Uint8Array,
  isWhole: boolean,
  headers: readonly string[] = [],
): Buffer {
  const bytes = Buffer.from(body);
  const head = ['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', ...headers].join('\r\n');
  return Buffer.concat([
    Buffer.from(`${head}\r\n\r\n${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from(isWhole ? '\r\n0\r\n\r\n' : '\r\n'),
  ]);
}
