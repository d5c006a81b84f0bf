/** The item at an index that exists. @throws Error if it does not */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index < 0 ? list.length + index : index];
  if (item === undefined) throw new Error(`There is no item ${index} in a list of ${list.length}.`);
  return item;
}

/** A value that must be there. @throws Error for null and undefined */
export function must<T>(value: T | null | undefined, what = 'value'): T {
  if (value === null || value === undefined) throw new Error(`The ${what} is missing.`);
  return value;
}
