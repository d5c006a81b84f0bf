import { request } from 'undici';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';

/** A true answer of the service, as bytes. */
export interface Recorded {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** The service behind a faulty one; each address is asked once and answered from memory from then on. */
export interface Recordings {
  readonly origin: string;
  readonly apiKey: string;
  ask(address: string): Promise<Recorded>;
}

/** The answers of a sandbox that does not change. `address` is path and query. */
export function recordSandbox(sandbox: Sandbox): Recordings {
  const known = new Map<string, Promise<Recorded>>();
  const ask = async (address: string): Promise<Recorded> => {
    const { statusCode, headers, body } = await request(sandbox.v4 + address, {
      headers: { api_key: sandbox.apiKey },
    });
    const type = headers['content-type'];
    return {
      status: statusCode,
      contentType: typeof type === 'string' ? type : 'application/json',
      body: Buffer.from(await body.arrayBuffer()),
    };
  };
  return {
    origin: sandbox.v4,
    apiKey: sandbox.apiKey,
    ask: (address) => {
      const answer = known.get(address) ?? ask(address);
      known.set(address, answer);
      return answer;
    },
  };
}
