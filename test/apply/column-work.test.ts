import { expect, it } from 'vitest';
import { FinalIds, judgeValue, openColumn } from '../../src/apply/column-work.js';
import { IN_PLACE, INVOICES, makeRemap, openContext } from './support/remap.js';

it('checks that every V4 id fits which a V3 id has in several companies', () => {
  const remap = makeRemap([
    { v3: 5, v4: 7, company: 1 },
    { v3: 5, v4: 70_000, company: 2 },
  ]);
  const column = { column: 'i', model: INVOICES, companyColumn: 'c' };
  const finals = new FinalIds(
    { name: 'i', type: 'smallint', range: [-32_768n, 32_767n], maxChars: null },
    false,
  );
  const work = { ...openColumn(openContext(remap, IN_PLACE), column, IN_PLACE), finals };
  for (const company of ['1', '2']) judgeValue(work, '5', { model: null, region: null, company });
  expect(finals.notes()).toMatchObject([{ code: 'does_not_fit' }]);
});

it('counts ids of several regions by themselves', () => {
  const remap = makeRemap([
    { v3: 5, v4: 7, region: 'eu' },
    { v3: 5, v4: 8, region: 'us' },
    { v3: 6, region: 'eu' },
    { v3: 6, region: 'us' },
  ]);
  const column = { column: 'i', model: INVOICES, regionColumn: 'r' };
  const work = openColumn(openContext(remap, IN_PLACE), column, IN_PLACE);
  for (const region of ['eu', 'us', 'eu'])
    for (const id of ['5', '6']) judgeValue(work, id, { model: null, region, company: null });
  expect(work.tally.result().counts).toMatchObject([
    { name: 'mapped', rows: 3, ids: 2 },
    { rows: 3, ids: 2, samples: ['6'] },
  ]);
});
