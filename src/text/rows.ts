export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) append(groups, keyOf(item), item);
  return groups;
}

export function append<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

export function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function* inBatches<Row>(rows: Iterable<Row>, size: number): Generator<Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    if (batch.push(row) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export function sumOf<Row>(rows: Iterable<Row>, numberOf: (row: Row) => number): number {
  let sum = 0;
  for (const row of rows) sum += numberOf(row);
  return sum;
}

export function sumBy<Row, K>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => K,
  numberOf: (row: Row) => number,
): Map<K, number> {
  const groups = groupBy(rows, keyOf);
  return new Map([...groups].map(([key, ofKey]) => [key, sumOf(ofKey, numberOf)]));
}
