import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { writeParquet } from '../../src/report/write-parquet.js';
import { openDatabase } from '../../src/store/open.js';
import { EVERYTHING, REMAP_COLUMNS, type RemapRow, readRemap } from '../../src/store/remap-rows.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, newIo, SINCE, withDatabase } from './support.js';

const MAX = 2n ** 63n - 1n;
const FACTS = { tool: 'svc-migrate test', builtAt: 't', remapSha256: 's', isComplete: true };

/** The rows of the file, and what its footer says of the remap. */
async function readFile(path: string): Promise<{ rows: unknown[]; footer: Record<string, unknown> }> {
  const file = await asyncBufferFromFile(path);
  const { key_value_metadata: pairs = [] } = await parquetMetadataAsync(file);
  const footer = Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
  return { rows: await parquetReadObjects({ file }), footer };
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
  it('writes one file that reads back exactly, with what it is in its footer', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const target = join(folder, 'remap.parquet');
      for (const _ of ['first', 'again']) {
        expect(await runNamed('dump', givenOf(config, { format: 'parquet', output: target }), newIo())).toBe(
          0,
        );
      }
      const { rows, footer } = await readFile(target);
      const db = openDatabase(config.database, 'read');
      expect(rows).toEqual([...readRemap(db, EVERYTHING)]);
      expect(Object.keys(rows[0] ?? {})).toEqual(REMAP_COLUMNS);
      const built = db
        .prepare<[], { sha256: string; built_at: string }>('SELECT * FROM remap_run ORDER BY id DESC')
        .get();
      expect(footer).toEqual({
        'svc_migrate.tool': expect.stringMatching(/^svc-migrate \d/),
        'svc_migrate.built_at': built?.built_at,
        'svc_migrate.remap_sha256': built?.sha256,
        'svc_migrate.is_complete': 'true',
      });
      db.close();
      expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      expect(statSync(target).mode & 0o777).toBe(0o600);
    });
  });

  it('keeps every digit, null, and text over several row groups and models', async () => {
    await withDatabase(MIXED, {}, async ({ folder }) => {
      const rows = [
        ...Array.from({ length: 25_000 }, (_, at) => rowOf(at, 'accounting/invoices')),
        ...['', '\u0000', 'caf\u0065\u0301', '😀', '\r\n', '=1+1', 'x'.repeat(100_000)].map(
          (platform_id, at) => rowOf(at, 'commerce/orders', { platform_id }),
        ),
      ];
      const target = join(folder, 'out.parquet');
      await writeParquet(target, () => rows, FACTS, new AbortController().signal);
      expect((await readFile(target)).rows).toEqual(rows);
    });
  });

  it('says that a part of the remap is not complete', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const target = join(folder, 'part.parquet');
      await runNamed('dump', givenOf(config, { format: 'parquet', output: target, company: ['1'] }), newIo());
      expect((await readFile(target)).footer).toMatchObject({ 'svc_migrate.is_complete': 'false' });
    });
  });

  it('says that a remap of lists that were not read in full is not complete', async () => {
    await withDatabase(MIXED, {}, async ({ config, folder, write, remap }) => {
      write((db) => db.exec("UPDATE stream SET state = 'failed' WHERE generation = 'v4'"));
      remap();
      const output = join(folder, 'all.parquet');
      await runNamed('dump', givenOf(config, { format: 'parquet', output, allowIncomplete: true }), newIo());
      expect((await readFile(output)).footer).toMatchObject({ 'svc_migrate.is_complete': 'false' });
    });
  });

  it('needs a file that can be written', async () => {
    await withDatabase(MIXED, {}, async ({ config, folder }) => {
      const dumping = (output: string | undefined) =>
        expect(runNamed('dump', givenOf(config, { format: 'parquet', output }), newIo())).rejects;
      for (const output of [config.database, folder, '/dev/null', '-', undefined]) {
        await dumping(output).toMatchObject({ code: 'usage' });
      }
      await dumping(join(folder, 'no', 'such', 'folder')).toMatchObject({ code: 'output' });
    });
  });

  it('leaves nothing behind where it is interrupted', async () => {
    await withDatabase(MIXED, {}, async ({ folder }) => {
      const abort = new AbortController();
      const rows = function* () {
        for (let at = 0; at < 40_000; at += 1) {
          if (at === 15_000) abort.abort();
          yield rowOf(at, 'accounting/invoices');
        }
      };
      const writing = writeParquet(join(folder, 'out'), rows, FACTS, abort.signal);
      await expect(writing).rejects.toMatchObject({ code: 'interrupted' });
      expect(readdirSync(folder).filter((name) => name.startsWith('out'))).toEqual([]);
    });
  });
});
