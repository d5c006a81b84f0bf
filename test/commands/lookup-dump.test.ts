import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { must } from '../../src/text/at.js';
import { readCells, readRemapRows } from '../contract.js';
import { openProject } from '../support/project.js';
import type { RemapCells } from '../support/remap-cells.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';

const MODEL = 'accounting/invoices';

const { at, cwd, run } = await openProject({ seed: 2, scenario: 'ugly', scale: 200 });
let rows: readonly RemapCells[];
/** A record with another id in V4, whose id is in no other row of its model. */
let pair: RemapCells;

beforeAll(async () => {
  expect((await run('run', '--quiet')).code).toBe(1);
  rows = readRemapRows(cwd);
  const invoices = rows.filter(({ model, path }) => model === MODEL && path === '');
  const isAlone = (row: RemapCells) =>
    invoices.filter(({ v3_svc_id }) => v3_svc_id === row.v3_svc_id).length === 1;
  const isRenumbered = (row: RemapCells) => row.v3_svc_id !== row.v4_svc_id;
  pair = must(invoices.find((row) => row.status === 'matched' && isRenumbered(row) && isAlone(row)));
});

describe('lookup', () => {
  it('translates ids there and back, in the order given, and exits with 1 for ids that are not in the remap', async () => {
    const { v3_svc_id: v3, v4_svc_id: v4, region } = pair;
    const there = await run('lookup', MODEL, String(v3), '123456789', '--region', String(region));
    expect([there.code, there.stdout]).toEqual([1, `${v3}\t${v4}\tmatched\n123456789\t-\tunknown\n`]);
    const company = String(pair.v4_company_id);
    const back = await run('lookup', MODEL, '--reverse', String(v4), '--company', company);
    expect([back.code, back.stdout]).toEqual([0, `${v4}\t${v3}\tmatched\n`]);
  });

  it('reads ids from stdin, and answers every row as the remap has it', async () => {
    const invoices = rows.filter(
      ({ model, path, v3_svc_id }) => model === MODEL && path === '' && v3_svc_id !== null,
    );
    for (const region of ['eu', 'us']) {
      const ofRegion = invoices.filter((row) => row.region === region);
      const input = ofRegion.map(({ v3_svc_id }) => `${v3_svc_id}\r\n`).join('\n');
      const { code, stdout } = await runCli(['lookup', MODEL, '--stdin', '--region', region, '--json', '-'], {
        ...at,
        input,
      });
      const answers = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(code).toBe(0);
      expect(
        answers.map((answer) => [answer.v3_svc_id, answer.v4_svc_id, answer.status, answer.reason]),
      ).toEqual(
        ofRegion.map((row) => [
          String(row.v3_svc_id),
          row.v4_svc_id === null ? null : String(row.v4_svc_id),
          row.status,
          row.reason,
        ]),
      );
    }
  });

  it('does not choose between regions', async () => {
    const shared = rows.find(
      (row) =>
        row.region === 'eu' &&
        row.path === '' &&
        row.v4_svc_id !== null &&
        rows.some(
          (other) =>
            other.region === 'us' &&
            other.path === '' &&
            other.model === row.model &&
            other.v3_svc_id === row.v3_svc_id,
        ),
    );
    const { stdout, stderr } = await run(
      'lookup',
      String(must(shared).model),
      String(must(shared).v3_svc_id),
    );
    expect(stdout).toContain('ambiguous/several_records');
    expect(stderr).toContain('--region');
  });

  it.each([
    [['lookup', MODEL], 2],
    [['lookup', MODEL, '1x'], 2],
    [['lookup', 'accounting/nothing', '1'], 2],
    [['lookup', `${MODEL}#nothing`, '1'], 2],
    [['lookup', MODEL, '1', '--region', 'mars'], 2],
  ])('%j: exit %i', async (args, code) => {
    expect((await run(...args)).code).toBe(code);
  });

  it('names the line of a text that is not an id', async () => {
    const { code, stderr } = await runCli(['lookup', MODEL, '--stdin'], { ...at, input: '1\n2\nthree\n' });
    expect([code, stderr]).toEqual([6, expect.stringContaining('Line 3')]);
  });
});

describe('lookup of an id in several rows', () => {
  const lines = `${MODEL}#line_items`;
  const record = (id: number, company: number, key: string, line: number) => ({
    svc_id: id,
    svc_company_id: company,
    platform_id: key,
    line_items: [{ svc_id: line, platform_id: `line-${key}` }],
  });
  // In eu the V3 ids 1 and 2 became the V4 id 9; us has the V3 id 1, too.
  const eu = [record(1, 5, 'a', 51), record(2, 5, 'a', 52)];
  const us = [record(1, 6, 'b', 61), record(3, 6, 'c', 62)];
  const v4 = [record(9, 5, 'a', 500), record(8, 6, 'b', 501), record(7, 6, 'c', 501)];
  const service = serveFile(({ url = '' }, response) => {
    const [, region, , , company] = new URL(url, 'http://x').pathname.split('/');
    const ofCompany = v4.filter(({ svc_company_id }) => String(svc_company_id) === company);
    const data = company === undefined ? [{ svc_id: 5 }, { svc_id: 6 }] : ofCompany;
    const isV3 = region !== 'v4';
    const body = isV3 ? { data: region === 'eu' ? eu : us, next: null } : { data: { data, next: null } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  let folder = '';

  beforeAll(async () => {
    folder = makeFolder({
      v3: {
        regions: { eu: { baseUrl: `${service.origin}/eu` }, us: { baseUrl: `${service.origin}/us` } },
      },
      v4: { baseUrl: service.origin },
      models: [{ v3: MODEL, v4: 'invoices' }],
      companies: { match: 'same_id' },
      limits: { merged: '100%' },
    });
    const ended = await runCli(['run', '--quiet'], { cwd: folder, env: keysOf('secret-key-1') });
    expect([ended.code, ended.stderr]).toEqual([0, '']);
  });

  const lookUp = (...args: readonly string[]) =>
    runCli(['lookup', ...args], { cwd: folder, env: keysOf('secret-key-1') });

  it.each([
    ['a record that two became', [MODEL, '9'], '9\t1,2\tambiguous/merged', ['1', '2']],
    ['a child that two became', [lines, '500'], '500\t51,52\tambiguous/merged', ['51', '52']],
    ['children of two records', [lines, '501'], '501\t-\tambiguous/several_records', []],
  ])('answers with every V3 id, back from %s', async (_name, args, line, merged) => {
    const { code, stdout, stderr } = await lookUp(...args, '--reverse');
    expect([code, stdout]).toEqual([0, `${line}\n`]);
    expect(stderr.includes('--region')).toBe(merged.length === 0);
    const json = JSON.parse((await lookUp(...args, '--reverse', '--json', '-')).stdout);
    expect(json).toMatchObject({ v3_svc_id: null, merged_v3_svc_ids: merged });
  });

  it('does not choose between rows that differ only in their V4 id', async () => {
    expect((await lookUp(MODEL, '1')).stdout).toBe('1\t-\tambiguous/several_records\n');
    expect((await lookUp(MODEL, '1', '--company', '6')).stdout).toBe('1\t8\tmatched\n');
    expect((await lookUp(MODEL, '2')).stdout).toBe('2\t9\tmatched\n');
  });
});

describe('dump', () => {
  const textOf = (row: RemapCells) => Object.values(row).map((cell) => (cell === null ? null : String(cell)));
  const cellTextOf = (cell: unknown) => (cell === null || cell === undefined ? null : String(cell));

  it('writes the rows of the remap, in its order, in every format', async () => {
    const csv = await run('dump');
    const cells: Record<string, string>[] = parse(csv.stdout, { columns: true });
    expect(cells.map((row) => Object.values(row))).toEqual(
      rows.map((row) => textOf(row).map((cell) => cell ?? '')),
    );
    const { stdout } = await run('dump', '--format', 'ndjson');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(
      lines.map(({ evidence, ...row }) => [...Object.values(row).map(cellTextOf), JSON.stringify(evidence)]),
    ).toEqual(
      rows.map((row) => [...textOf(row).slice(0, -1), JSON.stringify(JSON.parse(String(row.evidence)))]),
    );
    expect((await run('dump', '--format', 'parquet', '--output', 'remap.parquet')).code).toBe(0);
    const bytes = readFileSync(join(cwd, 'remap.parquet'));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    expect((await parquetReadObjects({ file })).map((row) => Object.values(row).map(cellTextOf))).toEqual(
      rows.map(textOf),
    );
    const [{ sha256 } = { sha256: '' }] = readCells<{ sha256: string }>(
      join(cwd, 'svc-migrate.db'),
      'select sha256 from remap_run',
    );
    expect(parquetMetadata(file).key_value_metadata).toContainEqual({
      key: 'svc_migrate.remap_sha256',
      value: sha256,
    });
  });

  it('names the formats for others', async () => {
    expect((await run('dump', '--format', 'sql')).code).toBe(2);
  });
});
