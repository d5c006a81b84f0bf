/** Ledger entries that are carried out in one transaction: those after `from` up to `until`. */
export interface Batch {
  readonly from: number;
  readonly until: number;
}

/** What is carried out next of a unit; null where all of it was. */
export function nextBatch(
  { done, last }: { readonly done: number; readonly last: number },
  batchRows: number,
): Batch | null {
  return done < last ? { from: done, until: Math.min(done + batchRows, last) } : null;
}

/** What is taken back of a unit: all that was carried out, in the same order. */
export function undoBatches(
  { first, done }: { readonly first: number; readonly done: number },
  batchRows: number,
): Batch[] {
  const count = Math.ceil((done - first) / batchRows);
  return Array.from({ length: count }, (_, at) => {
    const from = first + at * batchRows;
    return { from, until: Math.min(from + batchRows, done) };
  });
}
