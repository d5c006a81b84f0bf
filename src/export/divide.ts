import { EXPIRED_STATUSES, REFUSED_STATUSES } from '../domain.js';
import { type KnownCompanies, newPart, type Part } from '../store/parts.js';
import type { StreamRow } from '../store/streams.js';
import {
  countPage,
  fail,
  MAX_IDLE_PAGES,
  movedTo,
  objectsIn,
  type PageOutcome,
  type Step,
  type StreamOutcome,
  toOneList,
} from './passes.js';

/*
 * A long V3 list is read company by company, because the pages of one list come one after the other. Its records are
 * saved as those of the list, so that nothing else depends on how it was read.
 *
 * | situation                                                        | what happens                                  |
 * | ---------------------------------------------------------------- | --------------------------------------------- |
 * | not the first pass of a reading, or decided before                | the list is read as one                       |
 * | no total_count, or fewer than 8 pages, or than 2 per company      | the list is read as one                       |
 * | V4's companies are unknown, and fewer than 3 pages were read      | the next page decides                         |
 * | otherwise                                                         | each known company's part is read             |
 * | a part's page holds an object of another company, or of none      | the list is read as one; the page is not saved |
 * | a part has no total_count, or another one than before             | the list is read as one                       |
 * | the total_counts of all parts differ from the list's              | the list is read as one                       |
 * | a part repeats a cursor, does not advance, or its filter or       | the list is read as one                       |
 * | cursor is refused                                                 |                                               |
 * | a request fails otherwise                                         | the stream fails; the next export continues   |
 * |                                                                   | each part at its cursor                       |
 * | every part is read to its end, and together they do not hold as   | the list is read as one                       |
 * | many objects as the list's total_count says                       |                                               |
 * | every part is read to its end otherwise                           | the list's next page confirms its total_count |
 * | that page has another total_count, or an object not seen before   | the list is read as one from there            |
 * | that page confirms                                                | the list is read to its end                   |
 * | the configuration no longer lets lists be divided                 | the list is read as one                       |
 *
 * total_count is confirmed because a list that grew since its first page may hide that a company is missing.
 * Reading as one continues at the cursor where the parts began. It is a walk of its own, because the records that the
 * parts have brought would look like pages without anything new.
 */

/** Fewest pages of a list that is read company by company. */
const LONG_LIST_PAGES = 8;
const PAGES_PER_COMPANY = 2;
/** A list is not held back for V4's companies after so many of its pages. */
const LAST_TRY = 3;

/** Number of pages like this one that the list takes; 0 if unknown. */
function pagesOf({ totalCount, unique, duplicates, rejected, excluded }: PageOutcome): number {
  const objects = unique + duplicates + rejected + excluded;
  return totalCount === null || objects === 0 ? 0 : Math.ceil(totalCount / objects);
}

/** Whether the page belongs to a list that may be worth dividing. */
export function isLong(page: PageOutcome): boolean {
  return page.next !== null && pagesOf(page) >= LONG_LIST_PAGES;
}

/** The parts to read a list by, none if it is read as one, or `later` if the next page decides. */
export function divideList(
  row: StreamRow,
  page: PageOutcome,
  { inV3, inV4 }: KnownCompanies,
): readonly Part[] | 'later' {
  if (!isLong(page)) return [];
  if (inV4.length === 0 && row.pages < LAST_TRY) return 'later';
  const companies = [...new Set([...inV3, ...inV4])].sort((a, b) => (a < b ? -1 : 1));
  if (companies.length < 2 || pagesOf(page) < PAGES_PER_COMPANY * companies.length) return [];
  return companies.map(newPart);
}

/** A page of a part that shows that the service does not filter by company. */
export interface ForeignOutcome {
  readonly kind: 'foreign';
}

/** Decides the next step after a page of a part, or its error. `part` is its new state. Pure. */
export function decidePart(
  row: StreamRow,
  parts: ReadonlyMap<bigint, Part>,
  part: Part,
  outcome: StreamOutcome | ForeignOutcome,
): { readonly step: Step; readonly part: Part } {
  const asOne = (why: string) => ({ step: readAsOne(row, part, why), part });
  switch (outcome.kind) {
    case 'foreign':
      return asOne('it holds records of others');
    case 'error': {
      const { code, status, sentence } = outcome;
      const isRefused = code === 'http_status' && [...EXPIRED_STATUSES, ...REFUSED_STATUSES].includes(status);
      return isRefused ? asOne(`the service answered ${status}`) : { step: fail(row, code, sentence), part };
    }
    case 'page':
      return afterPartPage(row, parts, part, outcome);
    case 'dropped':
      throw new Error('Parts drop nothing.');
    default:
      return outcome satisfies never;
  }
}

function afterPartPage(
  row: StreamRow,
  parts: ReadonlyMap<bigint, Part>,
  part: Part,
  page: PageOutcome,
): { readonly step: Step; readonly part: Part } {
  const { idlePages, emptyEnd } = row.position;
  // The list's own count and position stay: those of the page are the part's.
  const counted = movedTo(countPage(row, { ...page, totalCount: null }), { idlePages, emptyEnd });
  const read = advance(part, page);
  const asOne = (why: string) => ({ step: readAsOne(counted, part, why), part: read });
  if (page.totalCount === null) return asOne('it has no total_count');
  if (part.totalCount !== null && part.totalCount !== page.totalCount) return asOne('its total_count moves');
  if (page.cursorRepeats) return asOne('it repeats a cursor');
  if (read.idlePages >= MAX_IDLE_PAGES) return asOne('it does not advance');
  const all = [...parts.values()].map((one) => (one.companyId === part.companyId ? read : one));
  const sum = all.reduce((total, one) => total + (one.totalCount ?? 0), 0);
  const expected = row.totalCountLast ?? 0;
  const isCounted = all.every(({ totalCount }) => totalCount !== null);
  if (sum > expected || (isCounted && sum < expected)) {
    return asOne(`the companies' total_counts add up to ${sum}, the list's is ${expected}`);
  }
  if (all.some(({ ended }) => !ended)) return { step: { row: counted, discard: [] }, part: read };
  const objects = objectsIn(counted);
  if (objects !== expected)
    return asOne(`all parts hold ${objects} objects, the list's total_count is ${expected}`);
  return { step: toOneList({ ...counted, readBy: 'companies' }), part: read };
}

/** An empty last page after a cursor may be an error of the service: the same page is requested once more. */
function advance(part: Part, page: PageOutcome): Part {
  const isDoubtful = page.next === null && page.isEmpty && part.cursor !== null && !part.emptyEnd;
  return {
    companyId: part.companyId,
    cursor: page.next ?? part.cursor,
    ended: page.next === null && !isDoubtful,
    totalCount: part.totalCount ?? page.totalCount,
    emptyEnd: isDoubtful,
    idlePages: page.fresh > 0 ? 0 : part.idlePages + 1,
  };
}

function readAsOne(row: StreamRow, { companyId }: Part, why: string): Step {
  const note = `${row.model} is read as one list, not company by company: company ${companyId}: ${why}.`;
  return { ...toOneList(row), note };
}
