import type { ReportStream } from './report-schema.js';

/** Lists of the same generation, model and region that have the same state and end reason. */
interface ListGroup {
  readonly first: ReportStream;
  lists: number;
  records: number;
  /** Sum of `totalCountLast`, where it is known. */
  totalCount: number;
  /** Lists whose `totalCountLast` is known. */
  counted: number;
}

/** Groups the lists that are not complete, and counts the complete lists, all, and those read company by company. */
export function groupIncomplete(lists: Iterable<ReportStream>) {
  const groups = new Map<string, ListGroup>();
  let [complete, all, byCompany] = [0, 0, 0];
  for (const one of lists) {
    all += 1;
    if (one.readBy === 'companies') byCompany += 1;
    if (one.state === 'complete') complete += 1;
    else addList(groups, one);
  }
  return { groups: [...groups.values()], complete, all, byCompany };
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
