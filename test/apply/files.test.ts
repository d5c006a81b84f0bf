import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkFile, planFile, undoFile, writeFile } from '../../src/apply/files/file-targets.js';
import { applyTargetSchema, type FileTarget, outputOf } from '../../src/config/apply-targets.js';
import { CYCLE, fakeRemap } from './support/scene.js';

const remap = fakeRemap(CYCLE);
const ignore = () => {};

function makeTarget(content: string | Buffer, more: Record<string, unknown> = {}, kind = 'csv'): FileTarget {
  const file = join(mkdtempSync(join(tmpdir(), 'files-')), `orders.${kind}`);
  writeFileSync(file, content);
  const ids = [{ column: kind === 'csv' ? 'item' : '$.item', model: 'payments/items' }];
  const target = applyTargetSchema.parse({ name: 'orders', kind, file, ids, ...more });
  if (target.kind !== 'csv' && target.kind !== 'ndjson') throw new Error('not a file');
  return target;
}

const write = (target: FileTarget, partial = false) =>
  writeFile(target, remap, { partial, onProgress: ignore });
const bytesOf = (target: FileTarget) => readFileSync(outputOf(target), 'latin1');

const CSV: readonly (readonly [name: string, before: string, after: string])[] = [
  ['commas', 'id,item\n1,20\n2,30\n', 'id,item\n1,30\n2,40\n'],
  ['no newline at the end', 'id,item\n1,20', 'id,item\n1,30'],
  ['CRLF and a BOM', '\u00ef\u00bb\u00bfid;item\r\n1;20\r\n', '\u00ef\u00bb\u00bfid;item\r\n1;30\r\n'],
  ['CR alone', 'id,item\r1,20\r2,40\r', 'id,item\r1,30\r2,20\r'],
  ["Excel's first line", 'sep=;\r\nid;item;n\r\n1;20;a,b\r\n', 'sep=;\r\nid;item;n\r\n1;30;a,b\r\n'],
  ['quotes', '"item","a ""b"""\n"20","x,\n""y"""\n20,z\n', '"item","a ""b"""\n"30","x,\n""y"""\n30,z\n'],
  ['tabs, Latin-1 and empty cells', 'n\titem\n\u00e9\t20\n\u00ff\t\n', 'n\titem\n\u00e9\t30\n\u00ff\t\n'],
  ['blank lines', 'id,item\n\n1,20\n\n', 'id,item\n\n1,30\n\n'],
  ['one column', 'item\n20\n30\n', 'item\n30\n40\n'],
];

describe('CSV files', () => {
  it.each(CSV)('keep every byte but the ids: %s', async (_, before, after) => {
    const target = makeTarget(Buffer.from(before, 'latin1'));
    await write(target);
    expect(bytesOf(target)).toBe(after);
    expect(await checkFile(target, remap, ignore)).toMatchObject({ exists: true, wrongCount: 0, missing: 0 });
    expect(readFileSync(target.file, 'latin1')).toBe(before);
    expect(await undoFile(target)).toMatchObject({ removed: true });
    expect(readdirSync(dirname(target.file))).toEqual(['orders.csv']);
  });

  it('refuse ids without a V4 id, and leave their cells empty with --partial', async () => {
    const target = makeTarget('id,item\n1,60\n2,20\n3,x\n');
    const plan = await planFile(target, remap, ignore);
    expect(plan.columns[0]?.counts.map(({ name, rows }) => [name, rows])).toEqual([
      ['mapped', 1],
      ['unknown/not_a_number', 1],
      ['unmatched/outside_backfill_window', 1],
    ]);
    await expect(write(target)).rejects.toMatchObject({ code: 'bad_input' });
    expect(existsSync(outputOf(target))).toBe(false);
    await write(target, true);
    expect(bytesOf(target)).toBe('id,item\n1,\n2,30\n3,\n');
  });

  it('take rows that came since, and notice changed ones', async () => {
    const target = makeTarget('id,item\n1,20\n');
    await write(target);
    writeFileSync(target.file, 'id,item\n1,20\n2,30\n');
    expect(await checkFile(target, remap, ignore)).toMatchObject({ wrongCount: 0, missing: 1 });
    await write(target);
    expect(bytesOf(target)).toBe('id,item\n1,30\n2,40\n');
    writeFileSync(outputOf(target), 'id,item\n1,30\n2,41\n');
    expect(await checkFile(target, remap, ignore)).toMatchObject({ wrongCount: 1, wrong: ['record 2'] });
  });

  it('never replace or remove a file of somebody else', async () => {
    const target = makeTarget('id,item\n1,20\n');
    writeFileSync(outputOf(target), 'my,item\n1,20\n');
    await expect(write(target)).rejects.toMatchObject({ code: 'bad_input' });
    await expect(undoFile(target)).rejects.toMatchObject({ code: 'bad_input' });
    expect(bytesOf(target)).toBe('my,item\n1,20\n');
  });

  it('have one writer when three come at once', async () => {
    const target = makeTarget(`id,item\n${'1,20\n'.repeat(50_000)}`);
    const results = await Promise.allSettled([write(target), write(target), write(target)]);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(bytesOf(target)).toBe(`id,item\n${'1,30\n'.repeat(50_000)}`);
    expect(readdirSync(dirname(target.file)).length).toBe(2);
  });

  it.each([
    ['a short record', 'id,item\n1\n'],
    ['an open quote', 'id,item\n1,"20\n'],
    ['no such column', 'id,name\n1,20\n'],
    ['the column twice', 'item,item\n1,20\n'],
    ['UTF-16', '\u00ff\u00fei\0t\0'],
  ])('are refused with %s', async (_, text) => {
    await expect(write(makeTarget(Buffer.from(text, 'latin1')))).rejects.toMatchObject({ code: 'bad_input' });
  });

  it('take model and region from other columns', async () => {
    const ids = [{ column: 'item', modelColumn: 'kind', models: { ä: 't/a', x: null }, regionColumn: 'r' }];
    const target = makeTarget('item,kind,r\n20,ä,eu\n20,x,eu\n', { ids });
    await writeFile(target, fakeRemap({ 't/a eu 20': 7 }), { partial: false, onProgress: ignore });
    expect(readFileSync(outputOf(target), 'utf8')).toBe('item,kind,r\n7,ä,eu\n20,x,eu\n');
  });

  it('are taken back by two processes at once', async () => {
    const target = makeTarget('id,item\n1,20\n');
    await write(target);
    await Promise.all([undoFile(target), undoFile(target)]);
    expect(readdirSync(dirname(target.file))).toEqual(['orders.csv']);
  });

  it.each([false, true])(
    'say locked where an undo overtakes a write; written before: %s',
    async (isThere) => {
      const target = makeTarget('id,item\n1,20\n');
      if (isThere) await write(target);
      const folder = dirname(target.file);
      const takeBack = () => {
        for (const name of readdirSync(folder)) if (name !== 'orders.csv') rmSync(join(folder, name));
      };
      const late = writeFile(target, remap, { partial: false, onProgress: takeBack });
      await expect(late).rejects.toMatchObject({ code: 'locked' });
      expect(readdirSync(folder)).toEqual(['orders.csv']);
    },
  );
});

describe('NDJSON files', () => {
  it('keep every byte but the ids', async () => {
    const target = makeTarget(
      '{"item": 20, "n": 1.50}\r\n\n{"item":"30","é":[1 ]}\n{"item":null}\n{}',
      {},
      'ndjson',
    );
    await write(target);
    expect(readFileSync(outputOf(target), 'utf8')).toBe(
      '{"item": 30, "n": 1.50}\r\n\n{"item":"40","é":[1 ]}\n{"item":null}\n{}',
    );
    expect(await undoFile(target)).toMatchObject({ removed: true });
  });

  it('get null for ids without a V4 id with --partial, and can be taken back', async () => {
    const target = makeTarget('{"item":60}\n{"item":"60"}\n{"item":20}\n', {}, 'ndjson');
    await expect(write(target)).rejects.toMatchObject({ code: 'bad_input' });
    await write(target, true);
    expect(readFileSync(outputOf(target), 'utf8')).toBe('{"item":null}\n{"item":null}\n{"item":30}\n');
    expect(await checkFile(target, remap, ignore)).toMatchObject({ wrongCount: 0, missing: 0, checked: 1 });
    expect(await undoFile(target)).toMatchObject({ removed: true });
  });

  it('are refused where a line is not JSON', async () => {
    await expect(write(makeTarget('{"item":20}\n{"item":\n', {}, 'ndjson'))).rejects.toMatchObject({
      code: 'bad_input',
    });
  });
});
