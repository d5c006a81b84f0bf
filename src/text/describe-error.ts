import { inspect } from 'node:util';
import { expectedError, type SvcError } from '../errors.js';
import { escapeLines } from './escape.js';

const FIRST_FACTS = ['method', 'route', 'status', 'request_id', 'model', 'region', 'company'];

const REPORT_IT =
  '  → Please report these lines with the command and the output of `svc-migrate --version`; take out what is private.';

/** An error for people. An unexpected one includes its stack; `verbose` adds the stack of the cause. */
export function describeError(thrown: unknown, verbose: boolean): string {
  const error = expectedError(thrown);
  if (error === null) {
    return `${escapeLines(`svc-migrate: this is a bug: ${stackOf(thrown)}\n${REPORT_IT}`)}\n`;
  }
  const parts = [`svc-migrate: ${error.message}`];
  if (error.hint !== undefined) parts.push(`  → ${error.hint}`);
  const facts = formatFacts(error);
  if (facts !== '') parts.push(`  (${facts})`);
  if (error.code === 'internal') parts.push(stackOf(error), REPORT_IT);
  else if (verbose && error.cause !== undefined) parts.push(`  caused by ${stackOf(error.cause)}`);
  return `${escapeLines(parts.join('\n'))}\n`;
}

function formatFacts({ facts }: SvcError): string {
  const rank = (name: string) => {
    const at = FIRST_FACTS.indexOf(name);
    return at < 0 ? FIRST_FACTS.length : at;
  };
  return (
    Object.entries(facts)
      // The sentence quotes the answer.
      .filter(([name, value]) => name !== 'answer' && value !== null && value !== undefined && value !== '')
      .sort(([a], [b]) => rank(a) - rank(b))
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', ')
  );
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : inspect(error);
}
