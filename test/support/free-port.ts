import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections by themselves: from 32,768, or from 49,152. */
const [FIRST, LAST] = [10_000, 30_000];

/** A port on loopback that nobody listens on, and that no connection is given meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
}
