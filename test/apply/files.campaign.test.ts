import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planFile } from '../../src/apply/files/file-targets.js';
import { applyTargetSchema } from '../../src/config/apply-targets.js';
import { CYCLE, fakeRemap } from './support/scene.js';

const LONG = 'x y'.repeat(7_000_000);
const FILES: readonly (readonly [name: string, text: string])[] = [
  ['a cell without quotes', `id,item,n\n1,20,${LONG}\n2,30,z\n`],
  ['a cell of quoted lines', `id,item,n\n1,20,"${'a ""b""\n'.repeat(2_300_000)}"\n2,30,z\n`],
  ['the cell of an id', `id,item\n1,${LONG}\n2,20\n`],
];

it.each(FILES)('reads %s of 20 MB in less than a second', async (_, text) => {
  const file = join(mkdtempSync(join(tmpdir(), 'files-')), 'orders.csv');
  writeFileSync(file, text);
  const ids = [{ column: 'item', model: 'payments/items' }];
  const target = applyTargetSchema.parse({ name: 'orders', kind: 'csv', file, ids });
  if (target.kind !== 'csv') throw new Error('not a CSV file');
  const start = process.cpuUsage();
  await planFile(target, fakeRemap(CYCLE), () => {});
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6).toBeLessThan(1);
});
