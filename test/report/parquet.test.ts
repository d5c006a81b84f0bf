import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { writeCrosswalk } from '../../src/report/write-parquet.js';
import { openDatabase } from '../../src/store/open.js';
import { EVERYTHING, type RemapRow, readRemap } from '../../src/store/remap-rows.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, newIo, SINCE, withDatabase } from './support.js';

const MAX = 2n ** 63n - 1n;
const FACTS = { tool: 'svc-migrate test', builtAt: 't', remapSha256: 's', isComplete: true };

const manifestSchema = z.object({
  rows: z.int(),
  isComplete: z.boolean(),
  remapSha256: z.string(),
  files: z.array(
    z.object({ path: z.string(), model: z.string(), rows: z.int(), bytes: z.int(), sha256: z.string() }),
  ),
});

/** The rows that the files hold, in the manifest's order; checks the files against it. */
async function readFolder(
  folder: string,
): Promise<{ manifest: z.output<typeof manifestSchema>; rows: unknown[] }> {
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));
  const rows: unknown[] = [];
  for (const { path, model, rows: count, bytes, sha256 } of manifest.files) {
    const file = join(folder, path);
    expect(statSync(file).size).toBe(bytes);
    expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(sha256);
    expect(path.startsWith(`model=${encodeURIComponent(model)}/`)).toBe(true);
    const read = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
    expect(read.length).toBe(count);
    rows.push(...read.map((row) => ({ model, ...row })));
  }
  expect(manifest.rows).toBe(rows.length);
  return { manifest, rows };
}

function rowOf(at: number, model: string, more: Partial<RemapRow> = {}): RemapRow {
  return {
    model,
    path: '',
    region: at % 3 === 0 ? null : 'eu',
    v3_company_id: at % 5 === 0 ? null : BigInt(at % 7),
    v4_company_id: 1n,
    platform_id: at % 11 === 0 ? null : `P-${at}`,
    parent_platform_id: null,
    v3_svc_id: MAX - BigInt(at),
    v4_svc_id: at % 4 === 0 ? null : BigInt(at),
    status: at % 4 === 0 ? 'unmatched' : 'matched',
    reason: at % 4 === 0 ? 'unexplained' : null,
    matched_by: null,
    evidence: '{}',
    ...more,
  };
}

describe('dump --format parquet', () => {
  it('writes a folder per model that reads back exactly, with a manifest', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const target = join(folder, 'crosswalk');
      for (const _ of ['first', 'again']) {
        expect(await runNamed('dump', givenOf(config, { format: 'parquet', output: target }), newIo())).toBe(
          0,
        );
      }
      const { manifest, rows } = await readFolder(target);
      const db = openDatabase(config.database, 'read');
      expect(rows).toEqual([...readRemap(db, EVERYTHING)]);
      const built = db.prepare<[], { sha256: string }>('SELECT sha256 FROM remap_run ORDER BY id DESC').get();
      expect(manifest).toMatchObject({ isComplete: true, remapSha256: built?.sha256 });
      db.close();
      expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    });
  });

  it('keeps every digit, null, and text over several row groups and models', async () => {
    await withDatabase(MIXED, {}, async ({ folder }) => {
      const rows = [
        ...Array.from({ length: 120_000 }, (_, at) => rowOf(at, 'accounting/invoices')),
        ...['', '\u0000', 'caf\u0065\u0301', '😀', '\r\n', '=1+1', 'x'.repeat(100_000)].map(
          (platform_id, at) => rowOf(at, 'commerce/orders', { platform_id }),
        ),
      ];
      const target = join(folder, 'out');
      await writeCrosswalk(target, () => rows, FACTS, new AbortController().signal);
      const { rows: read, manifest } = await readFolder(target);
      expect(read).toEqual(rows);
      expect(manifest.files.map(({ model, rows: count }) => [model, count])).toEqual([
        ['accounting/invoices', 120_000],
        ['commerce/orders', 7],
      ]);
    });
  });

  it('marks a part of the remap as incomplete', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const target = join(folder, 'part');
      await runNamed('dump', givenOf(config, { format: 'parquet', output: target, company: ['1'] }), newIo());
      expect((await readFolder(target)).manifest.isComplete).toBe(false);
    });
  });

  it('leaves nothing behind where it is interrupted', async () => {
    await withDatabase(MIXED, {}, async ({ folder }) => {
      const abort = new AbortController();
      const rows = function* () {
        for (let at = 0; at < 200_000; at += 1) {
          if (at === 60_000) abort.abort();
          yield rowOf(at, 'accounting/invoices');
        }
      };
      const writing = writeCrosswalk(join(folder, 'out'), rows, FACTS, abort.signal);
      await expect(writing).rejects.toMatchObject({ code: 'interrupted' });
      expect(readdirSync(folder).filter((name) => name.startsWith('out'))).toEqual([]);
    });
  });

  it('never replaces a folder of somebody else, or a file', async () => {
    await withDatabase(MIXED, {}, async ({ config, folder }) => {
      const other = join(folder, 'lake');
      mkdirSync(join(other, 'model=a'), { recursive: true });
      writeFileSync(join(other, 'model=a', 'data.parquet'), 'x');
      writeFileSync(join(folder, 'file'), 'x');
      for (const output of [other, join(folder, 'file'), config.database, '-', undefined]) {
        const dumping = runNamed('dump', givenOf(config, { format: 'parquet', output }), newIo());
        await expect(dumping).rejects.toMatchObject({ code: 'usage' });
      }
      expect(existsSync(join(other, 'model=a', 'data.parquet'))).toBe(true);
      const missing = join(folder, 'no', 'such', 'folder');
      const dumping = runNamed('dump', givenOf(config, { format: 'parquet', output: missing }), newIo());
      await expect(dumping).rejects.toMatchObject({ code: 'output' });
    });
  });
});
