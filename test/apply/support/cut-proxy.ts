import { createServer, connect as dial, type Socket } from 'node:net';

export type Direction = 'frontend' | 'backend';

/** One message of the server's protocol on its way. */
export interface Message {
  readonly direction: Direction;
  /** Its first byte; '' for the first one of a connection. */
  readonly type: string;
  readonly bytes: Buffer;
  /** How many came before it, over all connections and both directions. */
  readonly at: number;
}

/** What happens to a message: passed on, or the connection is cut before or after that. */
export type Verdict = 'pass' | 'cut_before' | 'cut_after';

/** Bytes of the message at the start; null where it is not complete. */
type MessageSize = (bytes: Buffer, isFirst: boolean) => number | null;

/** Stands between a client and a server and cuts connections between two messages. */
export interface CutProxy {
  readonly port: number;
  /** Messages since `judge` was set. */
  count: number;
  judge: (message: Message) => Verdict;
  /** Cuts every connection now. */
  cutAll(): void;
  close(): Promise<void>;
}

export async function startCutProxy(serverPort: number, sizeOf: MessageSize): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) =>
    relay(proxy, sizeOf, [client, dial(serverPort, '127.0.0.1')], sockets),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const proxy: CutProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    count: 0,
    judge: () => 'pass',
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: () => {
      proxy.cutAll();
      return new Promise((done) => server.close(() => done()));
    },
  };
  return proxy;
}

function relay(
  proxy: CutProxy,
  sizeOf: MessageSize,
  [client, server]: readonly [client: Socket, server: Socket],
  sockets: Set<Socket>,
): void {
  const cut = () => {
    client.destroy();
    server.destroy();
  };
  for (const socket of [client, server]) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', cut);
    socket.on('close', () => {
      sockets.delete(socket);
      cut();
    });
  }
  pump(proxy, { from: client, to: server, direction: 'frontend', sizeOf, cut });
  pump(proxy, { from: server, to: client, direction: 'backend', sizeOf, cut });
}

interface Way {
  readonly from: Socket;
  readonly to: Socket;
  readonly direction: Direction;
  readonly sizeOf: MessageSize;
  readonly cut: () => void;
}

function pump(proxy: CutProxy, { from, to, direction, sizeOf, cut }: Way): void {
  let rest = Buffer.alloc(0);
  let isFirst = direction === 'frontend';
  from.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const size = sizeOf(rest, isFirst);
      if (size === null || from.destroyed) return;
      const bytes = rest.subarray(0, size);
      const type = isFirst ? '' : String.fromCharCode(bytes[0] ?? 0);
      rest = rest.subarray(size);
      isFirst = false;
      const verdict = proxy.judge({ direction, type, bytes, at: proxy.count });
      proxy.count += 1;
      if (verdict === 'cut_before') return cut();
      to.write(bytes, verdict === 'cut_after' ? cut : undefined);
      if (verdict === 'cut_after') return;
    }
  });
}

/** The first message of a client has no type. */
export const postgresSize: MessageSize = (bytes, isFirst) => {
  const at = isFirst ? 0 : 1;
  return bytes.length < at + 4 ? null : whole(bytes, at + bytes.readInt32BE(at));
};

export const mysqlSize: MessageSize = (bytes) =>
  bytes.length < 4 ? null : whole(bytes, 4 + bytes.readUIntLE(0, 3));

function whole(bytes: Buffer, size: number): number | null {
  return bytes.length < size ? null : size;
}
