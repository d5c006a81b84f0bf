import type { RowScope } from '../verdict.js';

/** Returns the new text of the id in `ids[index]`, '' to empty it, null to leave it. */
export type RewriteCell = (index: number, value: string, scope: RowScope) => string | null;
export type OnNothing = (index: number, document: string) => void;
/** The end of the record at `start`; null if it is not whole yet. */
export type Splitter = (text: string, start: number, isLast: boolean) => number | null;

export interface FileFormat {
  readonly dataStart: number;
  readonly split: Splitter;
  /** `row`: counted from 1. @throws SvcError `bad_input` for a malformed record */
  readonly rewrite: (record: string, row: number, rewriteCell: RewriteCell, onNothing?: OnNothing) => string;
}
