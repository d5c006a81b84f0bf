import { type BinaryLike, createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** The sha256 of a content, as hex. */
export function sha256Of(content: BinaryLike): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The sha256 of a file of any size, as hex. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
