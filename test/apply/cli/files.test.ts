import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withFileLock } from '../../../src/apply/files/write-file.js';
import { IDS, MAPPED, makeScene, runOf, type Scene, upTo } from './scene.js';

/** A V3 id without a twin, and a number that is no id of the model. */
const [NO_TWIN, FOREIGN] = [181, 5000];

const KINDS = {
  csv: {
    head: '"n\nn";invoice_id\r\n',
    line: (id: number | string) => `"two\nlines";${id}\r\n`,
    ids: 'invoice_id',
  },
  ndjson: {
    head: '',
    line: (id: number | string) => `{"n":1,  "lines":[{"invoice":"${id}"}], "id": 1.50}\n`,
    ids: '$.lines[*].invoice',
  },
};

describe.each(Object.entries(KINDS))('apply on a file (%s)', (kind, { head, line, ids }) => {
  const [input, output] = [`orders.${kind}`, `orders.v4.${kind}`];
  const given = `${input} --ids ${ids}=accounting/invoices`;
  const list = ' --unmapped left.ndjson';
  const textOf = (values: readonly (number | string)[]) => head + values.map(line).join('');

  function open(values: readonly number[]): Scene {
    const scene = makeScene();
    writeFileSync(scene.path(input), textOf(values));
    return scene;
  }

  it('looks first, writes a new file, does it once, and takes it back', async () => {
    const scene = open(upTo(MAPPED));
    const looked = await scene.apply(`plan ${given}`);
    expect(looked.said).toContain(`Of ${MAPPED} ids you store, ${MAPPED} map; none is left over.`);
    expect(await scene.json(`check ${given}`)).toMatchObject({ action: 'check' });
    expect(existsSync(scene.path(output))).toBe(false);
    const done = await scene.apply(`write ${given} --yes`);
    const after = textOf(upTo(MAPPED).map(scene.v4Of));
    expect([scene.read(input), scene.read(output)]).toEqual([textOf(upTo(MAPPED)), after]);
    const again = await scene.apply(`write ${given} --yes`);
    expect([again.said, scene.read(output)]).toEqual([
      expect.stringContaining('Nothing was left to do'),
      after,
    ]);
    expect(await scene.json(`write ${given} --yes`)).toMatchObject({ written: [{ alreadyDone: true }] });
    expect(await scene.json(`verify ${input}`)).toMatchObject({ verified: [{ checked: MAPPED }] });
    const fed = await scene.apply(`write ${given.replace(input, output)} --yes`, 6);
    expect(fed.said).toMatch(/STOP .* wrote: its ids are V4 ids/);
    expect(await scene.json(`runs ${input}`)).toMatchObject({ runs: [{ run: runOf(done), state: 'done' }] });
    const undo = /^To undo it: svc-migrate apply (.*)$/m.exec(done.stdout)?.[1];
    expect(undo).toBe(`undo ${runOf(done)} ${input}`);
    expect(await scene.json(undo ?? '')).toMatchObject({ undone: [{ changedSince: [] }] });
    expect([existsSync(scene.path(output)), scene.read(input)]).toEqual([false, textOf(upTo(MAPPED))]);
  });

  it('writes nothing while ids are without a twin, unless told what becomes of them', async () => {
    const scene = open([1, 2, NO_TWIN]);
    const refused = await scene.apply(`write ${given} --yes`, 1);
    expect(refused.said).toContain('Nothing was written.');
    expect(refused.said).toContain(`Next: svc-migrate explain accounting/invoices ${NO_TWIN}`);
    expect(existsSync(scene.path(output))).toBe(false);
    for (const missing of ['keep', 'keep-v3', 'null']) {
      await scene.apply(`write ${given} --yes --missing ${missing}`);
      const third = missing === 'keep-v3' ? NO_TWIN : '';
      const text = textOf([scene.v4Of(1), scene.v4Of(2), third]);
      expect(scene.read(output)).toBe(kind === 'csv' || third !== '' ? text : text.replace('""', 'null'));
      await scene.apply(`undo ${input}`);
    }
  });

  it('lists what it left with row and line', async () => {
    const scene = open([1, NO_TWIN, 2, FOREIGN]);
    const [first, lines] = kind === 'csv' ? [3, 2] : [1, 1];
    const expectListed = (missing: string) =>
      expect(
        scene
          .read('left.ndjson')
          .trim()
          .split('\n')
          .map((text) => JSON.parse(text)),
      ).toMatchObject([
        { kind: missing, value: String(NO_TWIN), row: 2, line: first + lines },
        { value: String(FOREIGN), row: 4, line: first + 3 * lines },
      ]);
    await scene.apply(`write ${given} --yes${list}`, 1);
    expectListed('undecided');
    for (const _ of ['first', 'again']) {
      const { left } = await scene.json(`write ${given} --yes --missing null --unknown keep${list}`);
      expect(left).toMatchObject([
        { kind: 'emptied', cells: 1, isAccepted: true },
        { kind: 'left_alone', reason: 'unknown/not_in_remap', cells: 1, isAccepted: true },
      ]);
      expectListed('emptied');
    }
  });

  it('never writes its list over a file of the target', async () => {
    const scene = open([1]);
    for (const name of [input, output, `${output}.svc-migrate.json`])
      await scene.apply(`write ${given} --yes --unmapped ${name}`, 2);
    expect(scene.read(input)).toBe(textOf([1]));
  });

  it('says of a new file that it was edited since, or is gone', async () => {
    const scene = open([1, 2]);
    await scene.apply(`write ${given} --yes`);
    appendFileSync(scene.path(output), line(3));
    const { left } = await scene.json(`write ${given} --yes${list}`, 1);
    expect(left).toMatchObject([{ kind: 'changed_since', reason: 'changed_file', cells: 1 }]);
    const fileNotCell = /^(?!.*\b1 cell\b).*the file that the run wrote was changed since/s;
    expect((await scene.apply(`write ${given} --yes`, 1)).said).toMatch(fileNotCell);
    const { said } = await scene.apply(`verify ${input}`, 1);
    expect(said).toMatch(/; 1\s+file\s+changed\s+by\s+others\s+since/);
    expect(said).toContain('1 file changed by others since.');
    expect(scene.read('left.ndjson')).toBe('');
    const { verified } = await scene.json(`verify ${input}`, 1);
    expect(verified).toMatchObject([
      { wrongCount: 0, changedSince: [scene.path(output)], changedSinceCount: 1 },
    ]);
    const fed = await scene.apply(`write ${given.replace(input, output)} --yes`, 6);
    expect(fed.said).toContain('changed since');
    rmSync(scene.path(output));
    await scene.apply(`verify ${input}`, 1);
  });
});

it('two processes that rewrite a file at once do it once', async () => {
  const scene = makeScene();
  const text = (map: (id: number) => number) =>
    `invoice_id\n${Array.from({ length: 30_000 }, (_, at) => map((at % MAPPED) + 1)).join('\n')}\n`;
  writeFileSync(
    scene.path('orders.csv'),
    text((id) => id),
  );
  const words = 'write orders.csv --ids invoice_id=accounting/invoices --yes';
  const both = [0, 1].map(() => scene.spawn(['apply', ...words.split(' ')], {}));
  expect((await Promise.all(both)).map(({ code }) => code)).toContain(0);
  await scene.apply('verify orders.csv');
  expect(scene.read('orders.v4.csv') === text(scene.v4Of)).toBe(true);
  const done = await scene.apply(words);
  expect(done.said).toContain('Nothing was left to do');
  await scene.apply(`undo ${runOf(done)} orders.csv`);
  expect(scene.read('orders.csv') === text((id) => id)).toBe(true);
});

it('a file that another process writes is left to it: exit code 6, also for a plan that both carry out', async () => {
  const scene = makeScene([{ name: 'orders', kind: 'csv', file: 'orders.csv', ids: IDS }]);
  writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n');
  await scene.apply('plan --save plan.json');
  const write = 'write --plan plan.json --yes';
  const expectLocked = async (words: string) => {
    const hold = { file: scene.path('orders.v4.csv'), command: 'apply write', nowMs: 0 };
    const ended = await withFileLock(hold, () => scene.apply(words, 6));
    expect(ended.said).toContain(`is in use: svc-migrate apply write (process ${process.pid}`);
  };
  await expectLocked(write);
  await scene.apply(write);
  const car = 'orders.v4.csv.svc-migrate.json';
  // The other process has recorded the run of the plan, and not finished it.
  writeFileSync(scene.path(car), scene.read(car).replace('"done"', '"writing"'));
  await expectLocked(write);
  await expectLocked('undo orders.csv');
  await scene.apply(write);
  await scene.apply('undo orders.csv');
  expect(scene.read('orders.csv')).toBe('invoice_id\n1\n');
});
