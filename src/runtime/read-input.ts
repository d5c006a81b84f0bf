import { type FileHandle, open } from 'node:fs/promises';
import { SvcError } from '../errors.js';

const CHUNK_BYTES = 65_536;

/**
 * Reads a text file, pipe or device up to a size. It waits for a pipe without blocking signals.
 *
 * @param check looks at the open file before it is read
 * @throws SvcError `bad_input` if it is larger; errors of the system
 */
export async function readInput(
  file: string,
  maxBytes: number,
  check: (handle: FileHandle) => Promise<void> = async () => {},
): Promise<string> {
  const handle = await open(file, 'r');
  try {
    await check(handle);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
      bytes += bytesRead;
      if (bytes > maxBytes) throw tooLarge(file, maxBytes);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

function tooLarge(file: string, maxBytes: number): SvcError {
  return new SvcError('bad_input', `${file} is larger than ${maxBytes / 1_048_576} MiB.`, {
    hint: 'Check that it is the right file.',
  });
}
