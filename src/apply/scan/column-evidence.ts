import { formatModelRef, type ModelRef } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import { isIdText } from '../ids/id-form.js';
import type { ColumnSample } from './column-sample.js';

/** How a column's values agree with the ids of one model. */
export interface Overlap {
  readonly model: string;
  /** Distinct values that are V3 ids of the model, V4 ids of it, and both. */
  readonly v3: number;
  readonly v4: number;
  readonly both: number;
  /** Share of all numbers in the range of the values that are V3 ids: what any column of such numbers would show. */
  readonly chance: number;
}

/** A column with what its values overlap. */
export interface ColumnEvidence {
  readonly sample: ColumnSample;
  /** Distinct values seen. */
  readonly seen: number;
  readonly overlaps: readonly Overlap[];
}

const PROBES = 200;
/** Steps of the golden ratio fill a range evenly and fall into no rhythm with it. */
const GOLDEN = 0.618_033_988_749_895;

/** Numbers out of a range, both ends included: all of them where there are few, else a spread. */
function probes([low, high]: readonly [bigint, bigint]): bigint[] {
  const span = high - low + 1n;
  if (span <= BigInt(PROBES)) return Array.from({ length: Number(span) }, (_, at) => low + BigInt(at));
  return Array.from({ length: PROBES }, (_, at) => {
    const part = BigInt(Math.floor(((at * GOLDEN) % 1) * 2 ** 53));
    return low + ((span * part) >> 53n);
  });
}

/** Holds values against the ids of every model that the remap knows. */
export function prepareEvidence(db: Db, refs: readonly ModelRef[]): (sample: ColumnSample) => ColumnEvidence {
  const isV3 = db
    .prepare<[string, bigint, string], unknown>(
      'SELECT 1 FROM remap WHERE model = ? AND v3_svc_id = ? AND path = ? LIMIT 1',
    )
    .pluck();
  const isV4 = db
    .prepare<[string, bigint, string], unknown>(
      'SELECT 1 FROM remap WHERE model = ? AND v4_svc_id = ? AND path = ? LIMIT 1',
    )
    .pluck();
  const overlapOf = (
    { model, path }: ModelRef,
    ids: readonly bigint[],
    range: readonly [bigint, bigint],
  ): Overlap => {
    const counts = { v3: 0, v4: 0, both: 0 };
    for (const id of ids) {
      const [inV3, inV4] = [isV3.get(model, id, path) !== undefined, isV4.get(model, id, path) !== undefined];
      if (inV3) counts.v3 += 1;
      if (inV4) counts.v4 += 1;
      if (inV3 && inV4) counts.both += 1;
    }
    const others = counts.v3 === 0 ? [] : probes(range);
    const hits = others.filter((id) => isV3.get(model, id, path) !== undefined).length;
    const chance = others.length === 0 ? 0 : hits / others.length;
    return { model: formatModelRef({ model, path }), ...counts, chance };
  };
  return (sample) => {
    const ids = [...sample.values].filter(isIdText).map(BigInt);
    const [first = 0n] = ids;
    const low = ids.reduce((least, id) => (id < least ? id : least), first);
    const high = ids.reduce((most, id) => (id > most ? id : most), first);
    const all = ids.length === 0 ? [] : refs.map((ref) => overlapOf(ref, ids, [low, high]));
    return { sample, seen: sample.values.size, overlaps: all.filter(({ v3, v4 }) => v3 + v4 > 0) };
  };
}
