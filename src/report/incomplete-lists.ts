import type { ReportStream } from './report-schema.js';

/** Lists of one model and region that ended in the same way. */
interface ListGroup {
  readonly first: ReportStream;
  lists: number;
  records: number;
  /** Sum of `totalCountLast`, and the number of lists that have one. */
  totalCount: number;
  counted: number;
}

/** Groups the lists that are not complete; also counts the complete ones and all. */
export function groupIncomplete(lists: Iterable<ReportStream>) {
  const groups = new Map<string, ListGroup>();
  let [complete, all] = [0, 0];
  for (const one of lists) {
    all += 1;
    if (one.state === 'complete') complete += 1;
    else addList(groups, one);
  }
  return { groups: [...groups.values()], complete, all };
}

function addList(groups: Map<string, ListGroup>, one: ReportStream): void {
  const key = JSON.stringify([one.generation, one.model, one.region, one.state, one.endReason]);
  const group = groups.get(key) ?? { first: one, lists: 0, records: 0, totalCount: 0, counted: 0 };
  groups.set(key, group);
  group.lists += 1;
  group.records += one.uniqueRecords;
  group.totalCount += one.totalCountLast ?? 0;
  group.counted += one.totalCountLast === null ? 0 : 1;
}
