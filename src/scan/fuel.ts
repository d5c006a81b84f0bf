/** Steps from one expression before following its values is given up. */
const STEPS = 4000;
/** Longest time for one file, ms. */
const FILE_MS = 3000;

/** Limits the work that the source can cause: names may lead in circles, and calls fan out. */
export class Fuel {
  #left = STEPS;
  #endMs = Number.POSITIVE_INFINITY;
  #isOut = false;

  /** Before each file. */
  startFile(): void {
    this.#endMs = performance.now() + FILE_MS;
    this.#isOut = false;
  }

  /** Before each expression. */
  refill(): void {
    this.#left = STEPS;
    if (performance.now() <= this.#endMs) return;
    this.#isOut = true;
    this.#left = 0;
  }

  /** Whether one more step is allowed. */
  spend(steps = 1): boolean {
    this.#left -= steps;
    return this.#left > 0;
  }

  /** Whether the file took longer than it may, so that parts of it were not followed. */
  get isFileOut(): boolean {
    return this.#isOut;
  }
}
