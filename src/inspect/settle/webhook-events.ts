import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { SvcError } from '../../errors.js';

/** What a webhook event says of a backfill. `moving`: a sync started or data changed; `completed`: a sync is over. */
export type EventMeaning = 'moving' | 'completed';

/** The service's event types that concern a backfill. */
const MEANINGS: ReadonlyMap<unknown, EventMeaning> = new Map([
  ['SYNC_STARTED', 'moving'],
  ['DATA_MODEL_CHANGES', 'moving'],
  ['SYNC_COMPLETED', 'completed'],
]);

/** Largest accepted body; events are small. */
const MAX_EVENT_BYTES = 1 << 20;

export interface WebhookListener {
  readonly port: number;
  /** The events received since the last call. */
  take(): EventMeaning[];
  close(): Promise<void>;
}

/**
 * Receives webhook events over HTTP. Payload shapes are unknown: any JSON is accepted, and `typeField` names the member
 * that holds the type, as a dotted path. Events change only the times at which counts are requested.
 *
 * @throws SvcError `usage` if it cannot listen on this host and port
 */
export async function listenForEvents(
  host: string,
  port: number,
  typeField: string,
): Promise<WebhookListener> {
  const received: EventMeaning[] = [];
  const server = createServer((request, response) => {
    readEvent(request).then(
      (event) => {
        const meaning = meaningOf(event, typeField);
        if (meaning !== null) received.push(meaning);
        response.writeHead(204).end();
      },
      () => response.writeHead(400).end(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw new SvcError('usage', `Cannot listen on ${host}:${port}.`, {
      hint: 'Name a free port with --listen.',
      cause,
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    take: () => received.splice(0),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readEvent(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_EVENT_BYTES) throw new RangeError('larger than an event');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** What an event means; null for types that do not concern a backfill. */
export function meaningOf(event: unknown, typeField: string): EventMeaning | null {
  let value = event;
  for (const name of typeField.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = Reflect.get(value, name);
  }
  return MEANINGS.get(value) ?? null;
}
