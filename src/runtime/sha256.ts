import { type BinaryLike, createHash, hash as hashOf } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** SHA-256 as hex. */
export function sha256Of(content: BinaryLike): string {
  return hashOf('sha256', content, 'hex');
}

/** SHA-256 of a file as hex; the file is streamed. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
