import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';

const decompress = promisify(gunzip);

/** Pages decompress to megabytes; zlib's own 16 KiB would mean a hundred hand-overs for each. */
const CHUNK_BYTES = 262_144;

/** As much of an error's body as is looked at. */
const EXCERPT_BYTES = 16_384;

/** A body over the cap, as sent or decompressed. */
export class BodyTooLargeError extends Error {}

/** A body that ends early or is not what its headers say. */
export class BrokenBodyError extends Error {}

type Body = Dispatcher.ResponseData['body'];

export interface BodyRules {
  /** Cap of the body as sent, and again of the decompressed one. */
  readonly maxBytes: number;
  readonly contentLength: string | null;
  readonly encoding: string | null;
}

/**
 * The whole body, decoded.
 *
 * @throws BodyTooLargeError, BrokenBodyError, undici's errors
 */
export async function readBody(body: Body, rules: BodyRules): Promise<Uint8Array> {
  const announced = rules.contentLength === null ? null : Number(rules.contentLength);
  if (announced !== null && announced > rules.maxBytes) {
    abandon(body);
    throw new BodyTooLargeError(`${announced} bytes announced`);
  }
  const sent = await collect(body, rules.maxBytes);
  if (announced !== null && sent.length !== announced) {
    throw new BrokenBodyError(`${sent.length} of ${announced} bytes arrived`);
  }
  return decode(sent, rules.encoding, rules.maxBytes);
}

/** The beginning of an error's body, or nothing where that cannot be read: the status says enough. */
export async function readExcerpt(body: Body, encoding: string | null): Promise<Uint8Array> {
  try {
    const sent = await collect(body, EXCERPT_BYTES);
    return await decode(sent, encoding, EXCERPT_BYTES);
  } catch {
    return new Uint8Array();
  }
}

async function collect(body: Body, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > maxBytes) {
      abandon(body);
      throw new BodyTooLargeError(`more than ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  return Buffer.concat(chunks, length);
}

async function decode(sent: Buffer, encoding: string | null, maxBytes: number): Promise<Uint8Array> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return sent;
  if (name !== 'gzip' && name !== 'x-gzip') throw new BrokenBodyError('a content-encoding nobody asked for');
  try {
    return await decompress(sent, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES });
  } catch (error) {
    const tooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw tooLarge
      ? new BodyTooLargeError(`more than ${maxBytes} bytes decompressed`)
      : new BrokenBodyError('the gzip data is cut off or damaged');
  }
}

function abandon(body: Body): void {
  // an error of a body nobody reads any more must not surface elsewhere
  body.on('error', () => {});
  body.destroy();
}
