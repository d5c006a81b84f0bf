import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder that is removed when the file's tests are done. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-apply-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
