/**
 * `npm run bench [-- --records N] [--rounds N] [--only whole,remap,…] [--old CLI]`, against the built program. Prints times,
 * ratios of interleaved runs, and which bars were reached; asserts nothing.
 */
import { parseArgs } from 'node:util';
import { benchGrowth } from './growth.mjs';
import { benchMixed } from './mixed.mjs';
import { describeMachine, print } from './processes.mjs';
import { benchRemap } from './remap.mjs';
import { benchScan } from './scan.mjs';
import { benchStart } from './start.mjs';
import { benchWhole } from './whole.mjs';

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    old: { type: 'string' },
  },
});
const BENCHES = {
  growth: benchGrowth,
  mixed: benchMixed,
  remap: benchRemap,
  scan: benchScan,
  start: benchStart,
  whole: benchWhole,
};
const size = { records: Number(values.records), rounds: Number(values.rounds), old: values.old };
print(describeMachine());
for (const name of values.only?.split(',') ?? Object.keys(BENCHES)) await BENCHES[name](size);
