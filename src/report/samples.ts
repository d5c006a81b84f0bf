import type { Db } from '../store/open.js';
import { prepareSamples, type RemapGroup, type RemapRow, type Scope } from '../store/remap.js';
import type { Slice } from '../store/slices.js';

const PER_KIND = 5;
const TOTAL = 500;

/** Collects the first findings of each model, status and reason while the remap is counted. */
export interface SampleCollector {
  readonly add: (slice: Slice<RemapGroup>) => void;
  /** The samples, the first of each kind before the second of any. */
  readonly finish: () => RemapRow[];
}

export function newSampleCollector(db: Db, scope: Scope): SampleCollector {
  const read = prepareSamples(db, scope, PER_KIND);
  const kinds = new Map<string, RemapRow[]>();
  const add = (slice: Slice<RemapGroup>) => {
    const wanted = slice.rows.some(
      (row) => row.status !== 'matched' && (kinds.get(kindOf(row))?.length ?? 0) < PER_KIND,
    );
    if (!wanted) return;
    for (const row of read(slice)) {
      const samples = kinds.get(kindOf(row)) ?? [];
      if (samples.length < PER_KIND) samples.push(row);
      kinds.set(kindOf(row), samples);
    }
  };
  const finish = () => {
    const ranks = Array.from({ length: PER_KIND }, (_, at) =>
      [...kinds.values()].flatMap((rows) => rows[at] ?? []),
    );
    return ranks.flat().slice(0, TOTAL);
  };
  return { add, finish };
}

function kindOf(row: Pick<RemapRow, 'model' | 'status' | 'reason'>): string {
  return JSON.stringify([row.model, row.status, row.reason]);
}
