import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFile } from '../support/file-job.js';
import { makeFolder } from '../support/folder.js';
import { makeRemap, pairs } from '../support/remap.js';

const INPUT = 'id\n20\n30\n';
const OUTPUT = 'id\n30\n20\n';

const remap = makeRemap(
  pairs([
    [20, 30],
    [30, 20],
  ]),
);

/** A file that a run rewrote, and in another folder a file `victim` that is none of ours. */
async function setUp() {
  const root = makeFolder();
  const victim = join(root, 'victim');
  writeFileSync(victim, INPUT);
  const place = openFile(remap, INPUT);
  await place.write();
  const car = `${place.output}.svc-migrate.json`;
  const tamper = (changes: object) =>
    writeFileSync(car, JSON.stringify({ ...JSON.parse(readFileSync(car, 'utf8')), ...changes }));
  return { ...place, root, victim, car, tamper };
}

describe('a side-car that was tampered with', () => {
  it.each([
    { run: '../victim' },
    { output: { file: '../victim', sha256: '0'.repeat(64), bytes: 1 } },
    { input: { file: 'a/b', sha256: '0'.repeat(64), bytes: 1 } },
    { input: { file: 'a', sha256: 'x', bytes: 1 } },
  ])('is refused and nothing is removed or overwritten: %j', async (changes) => {
    const { file, output, victim, names, open, tamper } = await setUp();
    const before = names();
    tamper(changes);
    for (const run of ['run-1', '../victim']) {
      const outcome = await open()
        .undo(run)
        .catch((error: unknown) => error);
      expect(outcome).toMatchObject({ code: 'bad_input' });
    }
    expect(names()).toEqual(before);
    expect([output, file, victim].map((one) => readFileSync(one, 'utf8'))).toEqual([OUTPUT, INPUT, INPUT]);
    await expect(open().verify(null)).rejects.toMatchObject({ code: 'bad_input' });
  });

  it('removes a new file only where its bytes are those of the run', async () => {
    const { output, open, tamper } = await setUp();
    writeFileSync(output, 'mine');
    const before = { sha256: '0'.repeat(64), bytes: 4, file: 'orders.v4.csv' };
    tamper({ output: before });
    expect(await open().undo('run-1')).toMatchObject([{ restored: 0, changedSinceCount: 1 }]);
    expect(readFileSync(output, 'utf8')).toBe('mine');
  });

  it('is not read through a symbolic link', async () => {
    const { root, car, open } = await setUp();
    renameSync(car, join(root, 'elsewhere.json'));
    symlinkSync(join(root, 'elsewhere.json'), car);
    await expect(open().undo('run-1')).rejects.toMatchObject({ code: 'bad_input' });
  });
});

describe('symbolic links where files of a run stand', () => {
  it('and pipes are neither followed nor removed by undo', async () => {
    const fresh = await setUp();
    renameSync(fresh.output, join(fresh.root, 'made'));
    symlinkSync(join(fresh.root, 'made'), fresh.output);
    await expect(fresh.open().undo('run-1')).rejects.toMatchObject({ code: 'bad_input' });
    rmSync(fresh.output);
    execFileSync('mkfifo', [fresh.output]);
    await expect(fresh.open().undo('run-1')).rejects.toMatchObject({ code: 'bad_input' });
    expect(readFileSync(join(fresh.root, 'made'), 'utf8')).toBe(OUTPUT);
  });

  it('are not written through', async () => {
    const { file, victim, output, open, write } = await setUp();
    expect(await open().undo('run-1')).toMatchObject([{ restored: 2 }]);
    for (const name of [`${output}.svc-migrate-tmp`, `${output}.svc-migrate.json.tmp`])
      symlinkSync(victim, name);
    await write('run-2');
    writeFileSync(output, 'changed');
    symlinkSync(victim, `${output}.svc-migrate-expected`);
    expect(await open().undo('run-2')).toMatchObject([{ restored: 0 }]);
    expect(readFileSync(victim, 'utf8')).toBe(INPUT);
    expect([existsSync(file), existsSync(output)]).toEqual([true, true]);
  });

  it('under the name of the output are found by the plan, also where they lead nowhere', async () => {
    const { root, output, open } = await setUp();
    expect(await open().undo('run-1')).toMatchObject([{ restored: 2 }]);
    symlinkSync(join(root, 'nowhere'), output);
    const [plan] = await open().survey();
    expect(plan?.notes.map(({ code }) => code)).toContain('output_exists');
  });
});
