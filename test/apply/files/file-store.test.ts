import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import { withFileLock } from '../../../src/apply/files/file-lock.js';
import { openFileStore } from '../../../src/apply/files/file-store.js';
import { readSideCar, writeSideCar } from '../../../src/apply/files/side-car.js';
import type { Policy } from '../../../src/apply/plan.js';
import type { FileTarget } from '../../../src/config/apply-targets.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, pairs, target } from '../support/remap.js';

const INPUT = 'id,n\n20,a\n30,b\n40,c\n';
const OUTPUT = 'id,n\n30,a\n40,b\n50,c\n';
const RUN = { run: 'run-1', planSha256: 'p', isExact: false };

interface Setup {
  readonly folder: string;
  readonly file: string;
  readonly open: (policy: Policy, changes?: object) => DataStore;
}

function setUp(input = INPUT): Setup {
  const folder = makeFolder();
  const file = join(folder, 'orders.csv');
  const remap = join(makeFolder(), 'remap.db');
  writeFileSync(file, input);
  createRemap(remap, [
    ...pairs([
      [20, 30],
      [30, 40],
      [40, 50],
    ]),
    { v3: 60 },
  ]);
  const targetWith = (changes: object): FileTarget => {
    const under = target({ kind: 'csv', file, ids: [{ column: 'id', model: INVOICES }], ...changes });
    if (under.kind !== 'csv') throw new Error('not a file');
    return under;
  };
  return {
    folder,
    file,
    open: (policy, changes = {}) => openFileStore(openContext(remap, policy), targetWith(changes)),
  };
}

async function apply(store: DataStore, run = RUN.run) {
  const plans = await store.survey();
  return store.write(plans, { ...RUN, run });
}

const blocksOf = async (store: DataStore) =>
  (await store.survey()).flatMap(({ notes }) =>
    notes.filter((note) => note.level === 'blocks').map(({ code }) => code),
  );

describe('files, new file beside the old', () => {
  it('writes the new file and leaves the old one as it is', async () => {
    const { file, folder, open } = setUp();
    const [written] = await apply(open(NEW));
    expect(written).toMatchObject({ changed: 3, alreadyDone: false, run: 'run-1' });
    expect(readFileSync(file, 'utf8')).toBe(INPUT);
    expect(readFileSync(join(folder, 'orders.v4.csv'), 'utf8')).toBe(OUTPUT);
  });

  it('is the same after three times as after once', async () => {
    const { folder, open } = setUp();
    await apply(open(NEW));
    for (const again of ['run-2', 'run-3']) {
      const [written] = await apply(open(NEW), again);
      expect(written).toMatchObject({ alreadyDone: true, run: 'run-1', changed: 3 });
    }
    expect(readFileSync(join(folder, 'orders.v4.csv'), 'utf8')).toBe(OUTPUT);
  });

  it('refuses an output of its own as input, also under another name', async () => {
    const { folder, open } = setUp();
    await apply(open(NEW));
    const output = join(folder, 'orders.v4.csv');
    expect(await blocksOf(open(NEW, { file: output }))).toEqual(['known_output']);
    const renamed = join(folder, 'renamed.csv');
    writeFileSync(renamed, readFileSync(output));
    expect(await blocksOf(open(NEW, { file: renamed }))).toEqual(['known_output']);
  });

  it('is found, verified and undone by the name of the new file, too', async () => {
    const { folder, open } = setUp();
    await apply(open(NEW));
    const output = join(folder, 'orders.v4.csv');
    const store = open(NEW, { file: output });
    expect(await store.runs()).toEqual(await open(NEW).runs());
    expect(await store.verify(null)).toEqual(await open(NEW).verify(null));
    expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
    expect(await store.undo(RUN.run)).toMatchObject([{ changedSinceCount: 0 }]);
    expect([existsSync(output), await open(NEW).runs()]).toEqual([false, []]);
  });

  it('never overwrites a file that is not its own, or that came from another input', async () => {
    const { file, folder, open } = setUp();
    writeFileSync(join(folder, 'orders.v4.csv'), 'mine');
    expect(await blocksOf(open(NEW))).toEqual(['output_exists']);
    expect(await blocksOf(open(NEW, { output: file }))).toEqual(['output_exists']);
    const other = join(folder, 'out.csv');
    await apply(open(NEW, { output: other }));
    appendFileSync(file, '20,d\n');
    expect(await blocksOf(open(NEW, { output: other }))).toEqual(['other_output']);
  });

  it('is not finished for other columns or another way to read the records', async () => {
    const { open } = setUp('id,n\n20,30\n');
    await apply(open(NEW));
    const ids = ['id', 'n'].map((column) => ({ column, model: INVOICES }));
    expect(await blocksOf(open(NEW, { ids }))).toEqual(['other_output']);
    expect(await blocksOf(open(NEW, { delimiter: ',' }))).toEqual(['other_output']);
    expect(await blocksOf(open(NEW, { name: 'other' }))).toEqual([]);
  });

  it('does not matter to a check, which judges the ids of the file', async () => {
    const { folder, open } = setUp();
    await apply(open(NEW));
    appendFileSync(join(folder, 'orders.v4.csv'), '20,d\n');
    const [plan] = await open(IN_PLACE).survey();
    expect(plan).toMatchObject({
      notes: [],
      earlier: { state: 'none' },
      columns: [{ counts: [{ ids: 3 }] }],
    });
  });

  it('ends the same when it was killed before or after the new file got its name', async () => {
    const { folder, open } = setUp();
    const output = join(folder, 'orders.v4.csv');
    await apply(open(NEW));
    const car = readSideCar(output);
    if (car === null) throw new Error('no side-car');
    await writeSideCar(output, { ...car, state: 'writing' });
    expect(await apply(open(NEW), 'run-2')).toMatchObject([{ alreadyDone: true, run: 'run-1' }]);
    expect([readSideCar(output)?.state, readFileSync(output, 'utf8')]).toEqual(['done', OUTPUT]);
    rmSync(output);
    await writeSideCar(output, { ...car, state: 'writing' });
    writeFileSync(`${output}.svc-migrate-tmp`, 'half');
    expect(await apply(open(NEW), 'run-3')).toMatchObject([{ alreadyDone: false, run: 'run-3' }]);
    expect(readFileSync(output, 'utf8')).toBe(OUTPUT);
    expect(await open(NEW).undo('run-3')).toMatchObject([{ restored: 3 }]);
    expect(readdirSync(folder)).toEqual(['orders.csv']);
  });

  it('writes nothing where the file changed after it was planned for', async () => {
    const { file, folder, open } = setUp();
    const store = open(NEW);
    const plans = await store.survey();
    appendFileSync(file, '20,late\n');
    await expect(store.write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect(readdirSync(folder)).toEqual(['orders.csv']);
  });

  it('is taken back by removing the new file, unless that changed', async () => {
    const { folder, open } = setUp();
    await apply(open(NEW));
    const output = join(folder, 'orders.v4.csv');
    writeFileSync(output, OUTPUT.replace('40,b', '41,b'));
    expect(await open(NEW).undo('run-1')).toEqual([
      { target: 'under-test', restored: 0, changedSince: [output], changedSinceCount: 1 },
    ]);
    writeFileSync(output, OUTPUT);
    expect(await open(NEW).undo('run-0')).toEqual([]);
    expect(await open(NEW).undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect(readdirSync(folder).sort()).toEqual(['orders.csv']);
  });
});

describe('file verification', () => {
  it('recomputes the output and says what does not agree', async () => {
    const { file, folder, open } = setUp();
    await apply(open(NEW));
    expect(await open(NEW).verify(null)).toMatchObject([{ run: 'run-1', checked: 3, wrongCount: 0 }]);
    expect(await open(NEW).verify('run-0')).toEqual([]);
    writeFileSync(join(folder, 'orders.v4.csv'), 'id,n\n30,a\n41,b\n50,c\n');
    expect(await open(NEW).verify(null)).toMatchObject([
      { wrongCount: 0, changedSince: [join(folder, 'orders.v4.csv')], changedSinceCount: 1 },
    ]);
    writeFileSync(file, INPUT.replace('20', '21'));
    expect(await open(NEW).verify(null)).toMatchObject([{ wrongCount: 1 }]);
  });
});

describe('file plans', () => {
  it('name ragged rows, lines that are no JSON, and unknown models', async () => {
    const { open } = setUp('id,n\n20\n30,b,c\n40,d\n');
    expect(await blocksOf(open(NEW))).toEqual(['short_rows', 'long_rows']);
    expect(await blocksOf(open({ ...NEW, unknown: 'keep' }))).toEqual([]);
    expect(await blocksOf(open(NEW, { ids: [{ column: 'id', model: 'accounting/invoice' }] }))).toContain(
      'unknown_model',
    );
  });

  it('read missing files and folders as bad input', async () => {
    const { folder, open } = setUp();
    await expect(open(NEW, { file: join(folder, 'none.csv') }).survey()).rejects.toMatchObject({
      code: 'bad_input',
    });
    await expect(open(NEW, { file: folder }).survey()).rejects.toMatchObject({ code: 'bad_input' });
    expect(existsSync(join(folder, 'none.v4.csv'))).toBe(false);
  });
});

describe('another process that writes the same file', () => {
  it('refuses to write and to undo, and is named', async () => {
    const { folder, file, open } = setUp();
    const output = join(folder, 'orders.v4.csv');
    const plans = await open(NEW).survey();
    const refused = { code: 'locked', message: expect.stringContaining(`(process ${process.pid} on`) };
    const hold = { file: output, command: 'apply write', nowMs: 0 };
    await withFileLock(hold, async () => {
      await expect(open(NEW).write(plans, RUN)).rejects.toMatchObject(refused);
    });
    expect(readdirSync(folder)).toEqual(['orders.csv']);
    await open(NEW).write(plans, RUN);
    await withFileLock(hold, async () => {
      await expect(open(NEW).undo('run-1')).rejects.toMatchObject(refused);
    });
    expect(readFileSync(output, 'utf8')).toBe(OUTPUT);
    expect(await open(NEW).undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual([INPUT, ['orders.csv']]);
  });

  it('and finishes after the plan keeps its run', async () => {
    const { folder, file, open } = setUp();
    const plans = await open(NEW).survey();
    await apply(open(NEW), 'other');
    await expect(open(NEW).write(plans, RUN)).rejects.toMatchObject({ code: 'bad_input' });
    expect(await open(NEW).undo('other')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual([INPUT, ['orders.csv']]);
  });
});
