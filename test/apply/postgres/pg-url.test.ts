import { execFileSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { POSTGRES_URL, readUrl } from '../../../src/apply/dialects/server-url.js';
import { makeFolder } from '../support/folder.js';

const URL = 'postgres://user:password@127.0.0.1:5432/shop';

describe('the file with a connection string', () => {
  const folder = makeFolder();
  const path = (name: string) => join(folder, name);
  writeFileSync(path('url'), `${URL}\n`, { mode: 0o600 });
  symlinkSync('url', path('link'));
  writeFileSync(path('open'), URL);
  chmodSync(path('open'), 0o640);
  execFileSync('mkfifo', ['-m', '600', path('pipe')]);

  it.each(['url', 'link'])('is read where only its owner can read it: %s', (name) => {
    expect(readUrl({ urlFile: path(name) }, {}, POSTGRES_URL)).toBe(URL);
  });

  it.each(['open', 'pipe', '.', 'none'])('is refused elsewhere, without waiting: %s', (name) => {
    expect(() => readUrl({ urlFile: path(name) }, {}, POSTGRES_URL)).toThrow(
      expect.objectContaining({ code: 'config' }),
    );
  });
});
