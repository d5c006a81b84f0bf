import { readFileSync } from 'node:fs';

/** The package's version. Checked by hand: `--version` should not load a validator. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof content !== 'object' || content === null || !('version' in content)) {
    throw new Error(`${file.pathname} names no version.`);
  }
  return String(content.version);
}
