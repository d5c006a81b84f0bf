import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

it('CONTRIBUTING names files that exist and scripts that package.json has', () => {
  const text = readFileSync(join(ROOT, '.github/CONTRIBUTING.md'), 'utf8');
  const files = [...text.matchAll(/\b(?:src|test)\/[\w./-]*\w/g)].map(([file]) => file);
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  const known = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((file) =>
    basename(file),
  );
  const named = [...text.matchAll(/`([a-z][a-z-]*\.ts)`/g)].map(([, file = '']) => file);
  expect(named.filter((file) => !known.includes(file))).toEqual([]);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const run = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
  expect(run.filter((name) => !(name in scripts))).toEqual([]);
});
