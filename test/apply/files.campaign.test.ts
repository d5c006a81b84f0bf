import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planFile } from '../../src/apply/files/file-targets.js';
import { applyTargetSchema } from '../../src/config/apply-targets.js';
import { CYCLE, fakeRemap } from './support/scene.js';

const FILES: readonly (readonly [name: string, make: (megabytes: number) => string])[] = [
  ['a cell without quotes', (size) => `id,item,n\n1,20,${long(size)}\n2,30,z\n`],
  ['a cell of quoted lines', (size) => `id,item,n\n1,20,"${'a ""b""\n'.repeat(size * 125_000)}"\n2,30,z\n`],
  ['the cell of an id', (size) => `id,item\n1,${long(size)}\n2,20\n`],
];

// A reader that starts the cell again with each part would take 64 times as long.
it.each(FILES)('reads %s of 32 MB in about 8 times the CPU of 4 MB', async (_, make) => {
  await cpuOfPlan(make(4));
  const small = await cpuOfPlan(make(4));
  expect((await cpuOfPlan(make(32))) / small).toBeLessThan(24);
});

function long(megabytes: number): string {
  return 'x y '.repeat(megabytes * 250_000);
}

async function cpuOfPlan(text: string): Promise<number> {
  const file = join(mkdtempSync(join(tmpdir(), 'files-')), 'orders.csv');
  writeFileSync(file, text);
  const ids = [{ column: 'item', model: 'payments/items' }];
  const target = applyTargetSchema.parse({ name: 'orders', kind: 'csv', file, ids });
  if (target.kind !== 'csv') throw new Error('not a CSV file');
  const start = process.cpuUsage();
  await planFile(target, fakeRemap(CYCLE), () => {});
  const { user, system } = process.cpuUsage(start);
  return user + system;
}
