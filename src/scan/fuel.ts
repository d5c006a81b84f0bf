/** Steps from one expression before following its values is given up. */
const EXPRESSION_STEPS = 1500;
/** Steps in one file: many times what ordinary code of the largest size takes. */
const FILE_STEPS = 4_000_000;
/** A last resort, far above what those steps take on a loaded machine, ms. */
const FILE_MS = 60_000;

/**
 * Limits the work that the source can cause: names may lead in circles, and calls fan out. Work is counted, so that
 * the same files give the same findings on every machine.
 */
export class Fuel {
  #left = EXPRESSION_STEPS;
  #leftInFile = FILE_STEPS;
  #endMs = Number.POSITIVE_INFINITY;

  /** Before each file. */
  startFile(): void {
    this.#left = EXPRESSION_STEPS;
    this.#leftInFile = FILE_STEPS;
    this.#endMs = performance.now() + FILE_MS;
  }

  /** Before each expression. */
  refill(): void {
    this.#leftInFile -= EXPRESSION_STEPS - this.#left;
    if (this.#leftInFile > 0 && performance.now() > this.#endMs) this.#leftInFile = 0;
    this.#left = this.isFileOut ? 0 : EXPRESSION_STEPS;
  }

  /** Whether one more step is allowed. */
  spend(steps = 1): boolean {
    this.#left -= steps;
    return this.#left > 0;
  }

  /** Whether steps are left for the expression, so that an answer does not depend on what was asked before. */
  get isLeft(): boolean {
    return this.#left > 0;
  }

  /** Whether the file took more than it may, so that parts of it were not followed. */
  get isFileOut(): boolean {
    return this.#leftInFile <= 0;
  }
}
