import type { Status } from '../reasons.js';
import type { Column } from '../text/text-layout.js';
import type { Report } from './report-schema.js';

/** A part of a report with its own title. Text between backticks is code. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly DocumentBlock[];
}

export type DocumentBlock = SentenceBlock | NumbersBlock | TableBlock | ListBlock | FoldBlock | AgesBlock;

export interface SentenceBlock {
  readonly kind: 'sentence';
  readonly text: string;
  readonly isWarning?: boolean;
}

/** A few counts, each with its unit. Those with a status are parts of the last one without. */
export interface NumbersBlock {
  readonly kind: 'numbers';
  readonly rows: readonly {
    readonly name: string;
    readonly count: number;
    readonly note: string;
    readonly status: Status | null;
  }[];
}

export interface TableBlock {
  readonly kind: 'table';
  readonly caption: string;
  readonly columns: readonly DocumentColumn[];
  /** The first rows. */
  readonly rows: readonly (readonly TableCell[])[];
  /** The number of all rows. */
  readonly total: number;
}

export interface DocumentColumn extends Column {
  /** Whether sorting by it would be meaningless, as with charts, sentences and mixed units. */
  readonly unordered?: true;
  /** Where it is shown: everywhere, in files only, or on the HTML page only. */
  readonly only?: 'files' | 'page';
}

/** Text as it is, a value, a `status/reason`, text with code between backticks, an outcome, or a bar of the statuses. */
export type TableCell =
  | string
  | { readonly kind: 'code' | 'key' | 'inline'; readonly text: string }
  | { readonly kind: 'judged'; readonly pass: boolean }
  | { readonly kind: 'bar'; readonly parts: readonly StatusCount[] };

export interface ListBlock {
  readonly kind: 'list';
  readonly isOrdered: boolean;
  readonly items: readonly ListItem[];
  readonly total: number;
}

export interface ListItem {
  readonly title: string;
  readonly code?: string | null;
  /** The rest of the line of the title. */
  readonly numbers?: string;
  readonly lines?: readonly string[];
  /** Left out where there is little room and the numbers say enough. */
  readonly meaning?: string;
  readonly action?: string;
  readonly links?: readonly { readonly id: string; readonly text: string }[];
}

/** Details, closed at first. */
export interface FoldBlock {
  readonly kind: 'fold';
  readonly title: string;
  readonly code?: string;
  readonly id?: string;
  readonly blocks: readonly DocumentBlock[];
  /** Open on the HTML page, or only there: details of details. */
  readonly page?: 'open' | 'only';
}

/** The ages of the records beside the start of V4's window: a chart on the HTML page. */
export interface AgesBlock {
  readonly kind: 'ages';
  readonly timeline: Report['timeline'];
}

/** Display names of the statuses. */
export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  matched: 'matched',
  unmatched: 'unmatched',
  deleted: 'deleted',
  ambiguous: 'ambiguous',
  v4_only: 'without a V3 id',
};

/** Count of one status of V3 ids, or of the V4 ids without a V3 id. */
export interface StatusCount {
  readonly status: Status;
  readonly count: number;
}

export function sentence(text: string, isWarning = false): SentenceBlock {
  return { kind: 'sentence', text, isWarning };
}

export function fold(title: string, blocks: readonly DocumentBlock[], page?: 'open' | 'only'): FoldBlock {
  return { kind: 'fold', title, blocks, ...(page === undefined ? {} : { page }) };
}

export function table(
  caption: string,
  columns: readonly DocumentColumn[],
  rows: TableBlock['rows'],
  total = rows.length,
): TableBlock {
  return { kind: 'table', caption, columns, rows, total };
}

export function list(items: readonly ListItem[], total = items.length, isOrdered = false): ListBlock {
  return { kind: 'list', isOrdered, items, total };
}

export function plain(...titles: readonly string[]): DocumentColumn[] {
  return titles.map((title) => ({ title }));
}

export function numeric(...titles: readonly string[]): DocumentColumn[] {
  return titles.map((title) => ({ title, numeric: true }));
}
