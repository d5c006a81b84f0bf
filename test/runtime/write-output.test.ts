import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assertTargets, createFile, writeOutput, writeText } from '../../src/runtime/write-output.js';
import { Sink } from '../report/support.js';

const { signal } = new AbortController();
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-migrate-output-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (target: string, chunks: Iterable<string> = ['new\n']) =>
  writeOutput({ target, chunks: () => chunks }, { stdout: new Sink(), signal });

function* failing(): Generator<string> {
  yield 'half';
  throw new Error('no more');
}

describe('writing an output', () => {
  it('replaces a file, for its owner only', async () => {
    const file = join(folder, 'report.json');
    writeFileSync(file, 'old', { mode: 0o644 });
    await write(file);
    expect(readFileSync(file, 'utf8')).toBe('new\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['report.json']);
  });

  it('leaves the old file and nothing else where rendering fails', async () => {
    const file = join(folder, 'report.json');
    writeFileSync(file, 'old');
    await expect(write(file, failing())).rejects.toThrow('no more');
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['report.json']);
  });

  it('follows a link to its file', async () => {
    writeFileSync(join(folder, 'real'), 'old');
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    await write(join(folder, 'link'));
    expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('new\n');
  });

  it('writes to a device without replacing it', async () => {
    await write('/dev/null');
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it.runIf(existsSync('/dev/full'))('says so where the disk is full', async () => {
    await expect(write('/dev/full')).rejects.toMatchObject({ code: 'output', facts: { error: 'ENOSPC' } });
  });

  it('says so where the folder is missing or the target is a folder', async () => {
    await expect(write(join(folder, 'no', 'x'))).rejects.toMatchObject({ code: 'output', exitCode: 6 });
    await expect(write(folder)).rejects.toMatchObject({ code: 'output' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('sends - to stdout, all of it', async () => {
    const stdout = new Sink();
    const chunks = Array.from({ length: 30_000 }, (_, at) => `${at}\n`);
    await writeOutput({ target: '-', chunks: () => chunks }, { stdout, signal });
    expect(stdout.text).toBe(chunks.join(''));
  });

  it('stops where the reader has gone', async () => {
    let asked = 0;
    const closed = new Writable({
      write(_chunk, _encoding, done) {
        asked += 1;
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      },
    });
    const endless = {
      *[Symbol.iterator]() {
        for (;;) yield 'x'.repeat(1000);
      },
    };
    await expect(writeText(closed, endless)).rejects.toMatchObject({
      code: 'output',
      facts: { error: 'EPIPE' },
    });
    expect(asked).toBe(1);
  });
});

describe('targets', () => {
  it('refuses our own files, however they are spelled', () => {
    const database = join(folder, 'x.db');
    writeFileSync(database, '');
    symlinkSync(database, join(folder, 'link'));
    for (const target of [database, join(folder, 'a', '..', 'x.db'), join(folder, 'link')]) {
      expect(() => assertTargets([target], [database])).toThrow(expect.objectContaining({ code: 'usage' }));
    }
    expect(() => assertTargets([join(folder, 'y'), '-'], [database])).not.toThrow();
  });

  it.each(['-journal', '-wal', '-shm', '-writer', '.lock'])(
    'refuses the companion x.db%s, there or not',
    (suffix) => {
      const own = mkdtempSync(join(folder, 'own-'));
      const database = join(own, 'x.db');
      writeFileSync(database, '');
      symlinkSync(own, join(own, 'linked'));
      for (const target of [`${database}${suffix}`, join(own, 'linked', `x.db${suffix}`)]) {
        expect(() => assertTargets([target], [database])).toThrow(expect.objectContaining({ code: 'usage' }));
      }
      writeFileSync(`${database}${suffix}`, '');
      linkSync(`${database}${suffix}`, join(own, 'other'));
      expect(() => assertTargets([join(own, 'other')], [database])).toThrow(
        expect.objectContaining({ code: 'usage' }),
      );
    },
  );

  it('refuses hard links to our own files, and to another output', () => {
    const own = mkdtempSync(join(folder, 'own-'));
    const file = join(own, 'x');
    writeFileSync(file, '');
    linkSync(file, join(own, 'other'));
    for (const [targets, inputs] of [
      [[join(own, 'other')], [file]],
      [[file, join(own, 'other')], []],
    ] as const) {
      expect(() => assertTargets(targets, inputs)).toThrow(expect.objectContaining({ code: 'usage' }));
    }
    expect(() => assertTargets(['/dev/null', '/dev/stderr'], [file])).not.toThrow();
  });
});

describe('a file that is created', () => {
  it('is whole under its name, and takes the place of another only where that is asked for', () => {
    const own = mkdtempSync(join(folder, 'own-'));
    const file = join(own, 'x');
    createFile(file, 'one', { replace: false });
    expect(() => createFile(file, 'two', { replace: false })).toThrow(
      expect.objectContaining({ code: 'EEXIST' }),
    );
    expect(readFileSync(file, 'utf8')).toBe('one');
    const before = statSync(file).ino;
    createFile(file, 'three', { replace: true });
    expect(readFileSync(file, 'utf8')).toBe('three');
    // another file under the same name: nobody ever sees half of it
    expect(statSync(file).ino).not.toBe(before);
    expect(readdirSync(own)).toEqual(['x']);
  });

  it('follows a link where it replaces, and leaves a link that leads nowhere alone where it does not', () => {
    const own = mkdtempSync(join(folder, 'own-'));
    writeFileSync(join(own, 'x'), 'old');
    symlinkSync(join(own, 'x'), join(own, 'link'));
    createFile(join(own, 'link'), 'new', { replace: true });
    expect(readFileSync(join(own, 'x'), 'utf8')).toBe('new');
    symlinkSync(join(own, 'nowhere'), join(own, 'dangling'));
    expect(() => createFile(join(own, 'dangling'), 'y', { replace: false })).toThrow(/EEXIST/);
  });
});
