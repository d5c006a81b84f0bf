import { closeSync, openSync, readSync } from 'node:fs';

const LF = 0x0a;

/** The lines at which two files differ, by number from 1: the first `named`, and how many there are. */
export function differingLines(
  expected: string,
  actual: string,
  named: number,
): { readonly named: readonly string[]; readonly count: number } {
  const left = readLines(expected);
  const right = readLines(actual);
  const found: string[] = [];
  let count = 0;
  for (let line = 1; ; line += 1) {
    const a = left.next();
    const b = right.next();
    if (a.done === true && b.done === true) return { named: found, count };
    if (a.done !== true && b.done !== true && a.value.equals(b.value)) continue;
    count += 1;
    if (found.length < named) found.push(`line ${line}`);
  }
}

function* readLines(file: string): Generator<Buffer, undefined> {
  const fd = openSync(file, 'r');
  const chunk = Buffer.alloc(256 * 1024);
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const got = readSync(fd, chunk, 0, chunk.length, null);
      const bytes = Buffer.concat([rest, chunk.subarray(0, got)]);
      let from = 0;
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
        yield bytes.subarray(from, end + 1);
        from = end + 1;
      }
      rest = bytes.subarray(from);
      if (got > 0) continue;
      if (rest.length > 0) yield rest;
      return;
    }
  } finally {
    closeSync(fd);
  }
}
