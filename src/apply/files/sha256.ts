import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** The sha256 of a file's bytes, as hex. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
