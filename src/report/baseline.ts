import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { SvcError } from '../errors.js';
import { bareReason, isReason, REASONS, STATUSES } from '../reasons.js';
import { parseSvcId } from '../store/lookup.js';
import { orMeant } from '../text/suggest.js';

const BASELINE_VERSION = 1;
const SHOWN_PROBLEMS = 20;

const AN_ID = 'must be a 64-bit integer as digits in quotes';
const id = z.string({ error: AN_ID }).transform((text, context) => {
  const parsed = parseSvcId(text);
  if (parsed !== null) return parsed;
  context.addIssue({ code: 'custom', message: AN_ID });
  return z.NEVER;
});
const text = z.string({ error: 'must be text in quotes' });
const findingStatuses = STATUSES.filter((status) => status !== 'matched');

const entrySchema = z
  .strictObject({
    model: text,
    path: text.default(''),
    region: text.optional(),
    v3_company_id: id.optional(),
    v4_company_id: id.optional(),
    platform_id: text.min(1, 'must not be empty').optional(),
    parent_platform_id: text.optional(),
    v3_svc_id: id.optional(),
    v4_svc_id: id.optional(),
    status: z.enum(findingStatuses, { error: `must be one of ${findingStatuses.join(', ')}` }).optional(),
    reason: text.superRefine((reason, context) => {
      if (isReason(bareReason(reason))) return;
      context.addIssue({ code: 'custom', message: `is no known reason${orMeant(reason, REASONS)}` });
    }),
    note: text.min(1, 'must say why the finding is accepted'),
    expires: z.iso.date({ error: 'must be a date such as "2027-01-31"' }),
  })
  .refine(
    (entry) =>
      entry.platform_id !== undefined || entry.v3_svc_id !== undefined || entry.v4_svc_id !== undefined,
    'needs platform_id, v3_svc_id or v4_svc_id',
  );

const headSchema = z.strictObject({
  schemaVersion: z.literal(BASELINE_VERSION, { error: `must be ${BASELINE_VERSION}` }),
  entries: z.array(z.unknown(), { error: 'must be a list' }),
});

/** A finding that somebody accepted until the end of a day (UTC). */
export type BaselineEntry = z.output<typeof entrySchema>;

export interface Baseline {
  /** Its name, without folders. */
  readonly file: string;
  readonly entries: readonly BaselineEntry[];
}

/**
 * Reads a file of accepted findings.
 *
 * @throws SvcError `bad_input`, with every problem and its entry, counted from 1
 */
export function readBaseline(file: string): Baseline {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    const error = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('bad_input', `The baseline ${file} cannot be read (${error}).`, {
      hint: 'Create one with svc-migrate check --write-baseline FILE.',
      cause,
    });
  }
  const { entries, problems } = parseBaseline(content);
  if (problems.length === 0) return { file: basename(file), entries };
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  throw new SvcError('bad_input', `The baseline ${file}: ${shown.join('\n  ')}.`, {
    hint: '`svc-migrate help baseline` describes the file; `svc-migrate check --write-baseline FILE` writes a fresh one.',
  });
}

/** The entries of a baseline, and what is wrong with it. */
export function parseBaseline(content: string): {
  readonly entries: BaselineEntry[];
  readonly problems: string[];
} {
  let value: unknown;
  try {
    value = JSON.parse(content.replace(/^\uFEFF/, ''));
  } catch (error) {
    return {
      entries: [],
      problems: [`is no JSON (${error instanceof Error ? error.message : 'unreadable'})`],
    };
  }
  const head = headSchema.safeParse(value);
  if (!head.success) return { entries: [], problems: describeIssues(head.error.issues) };
  const entries: BaselineEntry[] = [];
  const problems: string[] = [];
  for (const [at, one] of head.data.entries.entries()) {
    const entry = entrySchema.safeParse(one);
    if (entry.success) entries.push(entry.data);
    else problems.push(...describeIssues(entry.error.issues).map((problem) => `entry ${at + 1}: ${problem}`));
  }
  return { entries, problems };
}

function describeIssues(issues: readonly z.core.$ZodIssue[]): string[] {
  return issues.map((issue) => {
    if (issue.code === 'unrecognized_keys')
      return `${issue.keys.join(', ')} ${issue.keys.length === 1 ? 'is' : 'are'} not known here`;
    const place = issue.path.join('.');
    return place === '' ? lowerFirst(issue.message) : `${place} ${lowerFirst(issue.message)}`;
  });
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
