import type { Connection } from './database.js';

/** How a database server is reached. */
export interface ServerOptions extends Connection {
  /** The connection string. */
  readonly url: string;
  /** The environment variable that contains it, for messages. */
  readonly name: string;
  readonly tls: 'verified' | 'unverified';
  readonly mode: 'read' | 'write';
}
