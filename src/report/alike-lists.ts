import type { ReportStream } from './report-schema.js';

/** Lists that ended alike. */
interface AlikeLists {
  readonly first: ReportStream;
  lists: number;
  records: number;
  /** Records by the counts of the service, and the number of lists with such a count. */
  counted: number;
  known: number;
}

function addAlike(alike: Map<string, AlikeLists>, one: ReportStream): void {
  const key = JSON.stringify([one.generation, one.model, one.region, one.state, one.endReason]);
  const own = alike.get(key) ?? { first: one, lists: 0, records: 0, counted: 0, known: 0 };
  alike.set(key, own);
  own.lists += 1;
  own.records += one.uniqueRecords;
  own.counted += one.totalCountLast ?? 0;
  own.known += one.totalCountLast === null ? 0 : 1;
}

/** Lists that are not complete, grouped, and the numbers of complete lists and of all. */
export function groupAlike(lists: Iterable<ReportStream>) {
  const alike = new Map<string, AlikeLists>();
  let [complete, all] = [0, 0];
  for (const one of lists) {
    all += 1;
    if (one.state === 'complete') complete += 1;
    else addAlike(alike, one);
  }
  return { alike, complete, all };
}
