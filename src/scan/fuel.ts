/** Maximum number of steps in which the values of one expression are followed. */
const EXPRESSION_STEPS = 1500;
/** Maximum number of steps in one file: many times what the largest ordinary files take. */
const FILE_STEPS = 4_000_000;
/** Time limit for one file, a last resort in case steps are very slow; far above what they take on a loaded machine. */
const FILE_MS = 60_000;

/**
 * Limits the work that the source can cause: names may refer to each other in circles, and one call may lead to many others.
 * Work is counted in steps, not in time, so that the same files give the same findings on every machine.
 */
export class Fuel {
  #left = EXPRESSION_STEPS;
  #leftInFile = FILE_STEPS;
  #endMs = Number.POSITIVE_INFINITY;

  /** Call it before each file. */
  startFile(): void {
    this.#left = EXPRESSION_STEPS;
    this.#leftInFile = FILE_STEPS;
    this.#endMs = performance.now() + FILE_MS;
  }

  /** Gives an expression its steps, or none if the file has used up its own. Call it before each expression. */
  refill(): void {
    this.#leftInFile -= EXPRESSION_STEPS - this.#left;
    if (this.#leftInFile > 0 && performance.now() > this.#endMs) this.#leftInFile = 0;
    this.#left = this.isFileExhausted ? 0 : EXPRESSION_STEPS;
  }

  /** Takes steps, and returns whether any are left for the expression. */
  spend(steps = 1): boolean {
    this.#left -= steps;
    return this.#left > 0;
  }

  /** Whether steps are left for the expression. A result that was cut short must not be cached. */
  get isLeft(): boolean {
    return this.#left > 0;
  }

  /** Whether the file used up its steps or its time, so that parts of it were not followed. */
  get isFileExhausted(): boolean {
    return this.#leftInFile <= 0;
  }
}
