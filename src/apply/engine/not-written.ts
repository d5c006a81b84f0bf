import { SvcError } from '../../errors.js';

/** Rows that do not hold what was written to them a moment ago; the caller rolls back. */
export function notWritten(table: string, triggers: readonly string[]): SvcError {
  if (triggers.length === 0) {
    return new SvcError('internal', `Not every row of ${table} was found again by its key.`);
  }
  const names = triggers.join(', ');
  return new SvcError('bad_input', `Rows of ${table} did not keep the ids written to them: ${names}.`, {
    hint: `Put ${names} out of action while ids are rewritten.`,
    facts: { table, triggers: names },
  });
}
