import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONTRACT } from './contract.js';

it.each(
  Object.entries(CONTRACT).flatMap(([promise, files]) => files.map((file) => [promise, file] as const)),
)('the contract "%s" is held by %s', (_, file) => {
  const url = new URL(`../${file}`, import.meta.url);
  expect(existsSync(url)).toBe(true);
  expect(readFileSync(url, 'utf8')).toMatch(/\b(?:it|test)(?:\.\w+)*\(/);
});
