import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeUnchanged, renameToFreeName, takeSnapshot } from '../../../src/apply/files/file-snapshot.js';
import { readSideCar, writeSideCar } from '../../../src/apply/files/side-car.js';
import { withFileLock } from '../../../src/apply/files/write-file.js';
import { openFile } from '../support/file-job.js';
import { IN_PLACE, INVOICES, makeRemap, NEW, pairs } from '../support/remap.js';

const INPUT = 'id,n\n20,a\n30,b\n40,c\n';
const OUTPUT = 'id,n\n30,a\n40,b\n50,c\n';
const RUN = { run: 'run-1', planSha256: 'p', isExact: false };

const remap = makeRemap([
  ...pairs([
    [20, 30],
    [30, 40],
    [40, 50],
  ]),
  { v3: 60 },
  { v3: 9_007_199_254_740_993n, v4: 70 },
]);
const setUp = (input = INPUT) => openFile(remap, input);

describe('files, new file beside the old', () => {
  it('writes the new file, the same after three times as after once, and leaves the old one as it is', async () => {
    const { file, read, write } = setUp();
    expect(await write()).toMatchObject([{ changed: 3, alreadyDone: false, run: 'run-1' }]);
    for (const again of ['run-2', 'run-3'])
      expect(await write(again)).toMatchObject([{ alreadyDone: true, run: 'run-1', changed: 3 }]);
    expect([read(file), read()]).toEqual([INPUT, OUTPUT]);
  });

  it('refuses an output of its own as input, also under another name', async () => {
    const { folder, output, blocks, read, write } = setUp();
    await write();
    expect(await blocks(NEW, { file: output })).toEqual(['known_output']);
    const renamed = join(folder, 'renamed.csv');
    writeFileSync(renamed, read());
    expect(await blocks(NEW, { file: renamed })).toEqual(['known_output']);
  });

  it('is found, verified and undone by the name of the new file, too', async () => {
    const { output, open, write } = setUp();
    await write();
    const store = open(NEW, { file: output });
    expect(await store.runs()).toEqual(await open().runs());
    expect(await store.verify(null)).toEqual(await open().verify(null));
    expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
    expect(await store.undo(RUN.run)).toMatchObject([{ changedSinceCount: 0 }]);
    expect([existsSync(output), await open().runs()]).toEqual([false, []]);
  });

  it('is verified where it was moved, together with the file it was made from or alone', async () => {
    const { file, folder, names, open, write } = setUp();
    await write();
    const moved = join(folder, 'moved');
    const all = names();
    mkdirSync(moved);
    for (const name of all) renameSync(join(folder, name), join(moved, name));
    const store = open(NEW, { file: join(moved, 'orders.v4.csv') });
    expect(await store.verify(null)).toMatchObject([{ wrong: [], changedSince: [] }]);
    renameSync(join(moved, 'orders.csv'), file);
    expect(await store.verify(null)).toMatchObject([{ wrong: [], changedSince: [] }]);
  });

  it('may equal the old one, and is read by those who may read that', async () => {
    const { file, output, blocks, write } = setUp('id,n\n,a\n');
    chmodSync(file, 0o600);
    await write();
    expect([await blocks(), statSync(output).mode & 0o777]).toEqual([[], 0o600]);
  });

  it('never overwrites a file that is not its own, or that came from another input', async () => {
    const { file, folder, output, blocks, open, write } = setUp();
    writeFileSync(output, 'mine');
    expect(await blocks()).toEqual(['output_exists']);
    expect(await blocks(NEW, { output: file })).toEqual(['output_exists']);
    const other = { output: join(folder, 'out.csv') };
    await write(RUN.run, open(NEW, other));
    appendFileSync(file, '20,d\n');
    expect(await blocks(NEW, other)).toEqual(['other_output']);
  });

  it('is not finished for other columns, another way to read the records, or another remap', async () => {
    const { output, blocks, write } = setUp('id,n\n20,30\n');
    await write();
    const ids = ['id', 'n'].map((column) => ({ column, model: INVOICES }));
    expect(await blocks(NEW, { ids })).toEqual(['other_output']);
    expect(await blocks(NEW, { delimiter: ',' })).toEqual(['other_output']);
    expect(await blocks(NEW, { name: 'other' })).toEqual([]);
    const sideCar = readSideCar(output);
    if (sideCar === null) throw new Error('no side car');
    await writeSideCar(output, { ...sideCar, remapSha256: 'another' });
    expect(await blocks()).toEqual(['other_output']);
  });

  it('does not matter to a check, which judges the ids of the file', async () => {
    const { output, open, write } = setUp();
    await write();
    appendFileSync(output, '20,d\n');
    const expected = { notes: [], earlier: { state: 'none' }, columns: [{ counts: [{ ids: 3 }] }] };
    expect(await open(IN_PLACE).survey()).toMatchObject([expected]);
  });

  it('ends the same when it was killed before or after the new file got its name', async () => {
    const { output, names, open, read, undo, write } = setUp();
    await write();
    const car = readSideCar(output);
    if (car === null) throw new Error('no side-car');
    await writeSideCar(output, { ...car, state: 'writing' });
    expect(await open().runs()).toMatchObject([{ run: 'run-1', state: 'working' }]);
    expect(await write('run-2')).toMatchObject([{ alreadyDone: true, run: 'run-1' }]);
    expect([readSideCar(output)?.state, read()]).toEqual(['done', OUTPUT]);
    rmSync(output);
    await writeSideCar(output, { ...car, state: 'writing' });
    writeFileSync(`${output}.svc-migrate-tmp`, 'half');
    expect(await write('run-3')).toMatchObject([{ alreadyDone: false, run: 'run-3' }]);
    expect(read()).toBe(OUTPUT);
    expect(await undo('run-3')).toMatchObject([{ restored: 3 }]);
    expect(names()).toEqual(['orders.csv']);
  });

  it('writes nothing where the file changed after it was planned for', async () => {
    const { file, names, open } = setUp();
    const store = open();
    const plans = await store.survey();
    appendFileSync(file, '20,late\n');
    await expect(store.write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect(names()).toEqual(['orders.csv']);
  });

  it('writes nothing where the new file came after the plan, whoever made it', async () => {
    const { output, open, read, write } = setUp('id,n\n20,30\n');
    const store = open();
    const plans = await store.survey();
    writeFileSync(output, 'mine');
    await expect(store.write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect([read(), readSideCar(output)]).toEqual(['mine', null]);
    rmSync(output);
    const ids = ['id', 'n'].map((column) => ({ column, model: INVOICES }));
    await write('other', open(NEW, { ids }));
    await expect(store.write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect([read(), readSideCar(output)?.run]).toEqual(['id,n\n30,40\n', 'other']);
  });

  it('neither replaces nor removes a file that was made or changed in the last moment', async () => {
    const { file, output, read } = setUp();
    writeFileSync(output, 'mine');
    expect(() => renameToFreeName(file, output)).toThrow('EEXIST');
    expect([read(file), read()]).toEqual([INPUT, 'mine']);
    const seen = await takeSnapshot(output);
    writeFileSync(output, 'changed');
    expect(() => seen !== null && removeUnchanged(output, seen)).toThrow('changed a moment ago');
    expect(read()).toBe('changed');
  });

  it.each([
    ['another file of the same size and time', 'cp -p "$0" copy; mv copy "$0"'],
    ['longer, at the same time', 'touch -r "$0" time; printf x >> "$0"; touch -r time "$0"'],
    ['written again', 'touch "$0"'],
  ])('does not remove a file that is %s', async (_, command) => {
    const { output, folder } = setUp();
    writeFileSync(output, 'mine');
    const seen = await takeSnapshot(output);
    execFileSync('sh', ['-c', command, output], { cwd: folder });
    expect(() => seen !== null && removeUnchanged(output, seen)).toThrow('changed a moment ago');
    expect(existsSync(output)).toBe(true);
  });

  it('is taken back by removing the new file, unless that changed', async () => {
    const { output, names, undo, write } = setUp();
    await write();
    writeFileSync(output, OUTPUT.replace('40,b', '41,b'));
    expect(await undo()).toEqual([
      { target: 'under-test', restored: 0, changedSince: [output], changedSinceCount: 1 },
    ]);
    writeFileSync(output, OUTPUT);
    expect(await undo('run-0')).toEqual([]);
    expect(await undo()).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect(names()).toEqual(['orders.csv']);
  });
});

it('a verification recomputes the output and says what does not agree', async () => {
  const { file, output, open, write } = setUp();
  await write();
  expect(await open().verify(null)).toMatchObject([{ run: 'run-1', checked: 3, wrongCount: 0 }]);
  expect(await open().verify('run-0')).toEqual([]);
  writeFileSync(output, 'id,n\n30,a\n41,b\n50,c\n');
  const changed = { wrongCount: 0, changedSince: [output], changedSinceCount: 1 };
  expect(await open().verify(null)).toMatchObject([changed]);
  const car = readSideCar(output);
  if (car === null) throw new Error('no side-car');
  const other = { ...car, output: { ...car.output, sha256: '0'.repeat(64) } };
  await writeSideCar(output, other);
  expect(await open().verify(null)).toMatchObject([{ wrong: [`${output} is not what the remap gives`] }]);
  await writeSideCar(output, { ...other, remapSha256: 'another' });
  expect(await open().verify(null)).toMatchObject([{ wrong: ['the current remap gives other ids'] }]);
  writeFileSync(file, INPUT.replace('20', '21'));
  rmSync(output);
  expect(await open().verify(null)).toMatchObject([
    { wrong: [`${output} is gone`, `${file} changed since`], changedSinceCount: 0 },
  ]);
  rmSync(file);
  expect(await open().verify(null)).toMatchObject([{ wrong: [`${output} is gone`, `${file} is gone`] }]);
});

it('a verification and a later plan go by the policy of the run', async () => {
  const { open, read, write } = setUp('id,n\n60,a\n');
  await write('run-1', open({ ...NEW, missing: 'null' }));
  expect([read(), await open().verify(null)]).toMatchObject(['id,n\n,a\n', [{ wrongCount: 0 }]]);
  const kinds: string[] = [];
  for (const policy of [NEW, { ...NEW, missing: 'null' as const }])
    await open(policy).survey({ onUnmapped: ({ kind }) => kinds.push(kind) });
  expect(kinds).toEqual(['emptied', 'emptied']);
});

it.each([
  [
    'their model',
    { modelColumn: 'm', models: { inv: INVOICES, '': INVOICES } },
    '20,inv\n30\n40,\n',
    '30,inv\n30\n40,\n',
  ],
  ['their company', { model: INVOICES, companyColumn: 'm' }, '20,1\n30,2\n40,\n', '30,1\n30,2\n40,\n'],
  ['their region', { model: INVOICES, regionColumn: 'm' }, '20,default\n30,us\n', '30,default\n30,us\n'],
  ['all digits', { model: INVOICES }, '9007199254740993,\n9007199254740992,\n', '70,\n9007199254740992,\n'],
  [
    'a pattern',
    { model: INVOICES, pattern: ['*/{id}'] },
    '"a"b/20",\n"a""b/20",\n/60,\n\n',
    '"a"b/20",\n"a""b/30",\n,\n\n',
  ],
])('ids of a CSV file are looked up by %s', async (_, column, before, after) => {
  const { open, read, write } = openFile(remap, `id,m\n${before}`, { ids: [{ column: 'id', ...column }] });
  const store = open({ ...NEW, missing: 'null', unknown: 'keep' });
  const [plan] = await store.survey();
  expect(plan?.rows).toBe(after.match(/.\n/g)?.length);
  await write('run-1', store);
  expect(read()).toBe(`id,m\n${after}`);
});

describe('file plans', () => {
  it('name ragged rows, an open quote and unknown models', async () => {
    const { blocks } = setUp('id,n\n20\n30,b,c\n40,d\n');
    expect(await blocks()).toEqual(['short_rows', 'long_rows']);
    expect(await blocks({ ...NEW, unknown: 'keep' })).toEqual([]);
    const open = setUp('id,n\n20,"a\n30,b\n');
    expect(await open.blocks({ ...NEW, unknown: 'keep' })).toEqual(['unfinished_quote']);
    expect(await blocks(NEW, { ids: [{ column: 'id', model: 'accounting/invoice' }] })).toContain(
      'unknown_model',
    );
  });

  it('read missing files and folders as bad input', async () => {
    const { folder, open } = setUp();
    for (const file of [join(folder, 'none.csv'), folder])
      await expect(open(NEW, { file }).survey()).rejects.toMatchObject({ code: 'bad_input' });
    expect(existsSync(join(folder, 'none.v4.csv'))).toBe(false);
  });
});

describe('another process that writes the same file', () => {
  it('refuses to write and to undo, and is named', async () => {
    const { file, output, names, open, read, undo } = setUp();
    const plans = await open().survey();
    const refused = { code: 'locked', message: expect.stringContaining(`(process ${process.pid} on`) };
    const hold = { file: output, command: 'apply write', nowMs: 0 };
    const expectRefused = (work: () => Promise<unknown>) =>
      withFileLock(hold, () => expect(work()).rejects.toMatchObject(refused));
    await expectRefused(() => open().write(plans, RUN));
    expect(names()).toEqual(['orders.csv']);
    await open().write(plans, RUN);
    await expectRefused(() => undo());
    expect(read()).toBe(OUTPUT);
    expect(await undo()).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect([read(file), names()]).toEqual([INPUT, ['orders.csv']]);
  });

  it('and finishes after the plan keeps its run', async () => {
    const { file, names, open, read, undo, write } = setUp();
    const plans = await open().survey();
    await write('other');
    await expect(open().write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect(await undo('other')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect([read(file), names()]).toEqual([INPUT, ['orders.csv']]);
  });
});
