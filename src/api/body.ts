import { isAscii } from 'node:buffer';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** The text of a stored body. */
export function decodeBody(body: Uint8Array, encoding: string): string {
  if (encoding === 'gzip') return textOf(gunzipSync(body));
  if (encoding === 'br') return textOf(brotliDecompressSync(body));
  return textOf(body);
}

/** UTF-8 as text. Bytes that are all ASCII are copied, which is several times as fast. */
export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isAscii(buffer) ? buffer.latin1Slice() : buffer.utf8Slice();
}
