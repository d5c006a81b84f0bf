import { existsSync, readFileSync } from 'node:fs';

/** Beside the bundle, and beside the sources. */
const PLACES = ['../package.json', '../../package.json'];

/** The package's version. Checked by hand: `--version` should not load a validator. */
export function readVersion(): string {
  const file = PLACES.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  const content: unknown = file === undefined ? null : JSON.parse(readFileSync(file, 'utf8'));
  if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
  throw new Error('package.json names no version.');
}
