import { findNodeAtLocation, type Node } from 'jsonc-parser';
import { SvcError } from '../errors.js';
import { didYouMeanClause } from '../text/suggest.js';
import * as z from '../zod.js';

/** A problem in a configuration, at a path such as `['v3', 'regions', 'eu', 'baseUrl']`. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The text of a configuration with its syntax tree, for line numbers. */
export interface ConfigText {
  readonly file: string;
  readonly text: string;
  readonly tree: Node | undefined;
}

/** An object schema that reports each unknown key on its own line, with a suggestion. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => describeUnknownKey(key, known)).join('\n')
        : undefined,
  });
}

function describeUnknownKey(key: string, known: readonly string[]): string {
  if (/^api_?key$/i.test(key)) {
    return 'is not a setting: keys are never written here; name a variable in apiKeyEnv or a file in apiKeyFile';
  }
  if (/^(?:url|uri|dsn|password|connection_?(?:string|url)?)$/i.test(key) && known.includes('urlEnv')) {
    return 'is not a setting: connection strings are never written here; name a variable in urlEnv';
  }
  // Reports name the limits that hold by default so.
  const parts = key.split('/');
  if (parts.length === 2 && parts.every((part) => known.includes(part))) {
    return `is not a known setting: a limit is named by a reason, "${parts[1]}", or by a status, "${parts[0]}"`;
  }
  return `is not a known setting${didYouMeanClause(key, known)}`;
}

/** Converts zod's issues to problems; unknown keys become one problem each. */
export function problemsOf(issues: readonly z.core.$ZodIssue[]): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n');
      return issue.keys.map((key, at) => ({
        path: [...issue.path, key],
        message: messages[at] ?? 'is not a known setting',
      }));
    }
    if (issue.code === 'invalid_key') {
      return [{ path: issue.path, message: issue.issues[0]?.message ?? 'is not usable as a name' }];
    }
    return [{ path: issue.path, message: issue.message }];
  });
}

/** The message for an issue whose schema has none of its own. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    return `must be ${EXPECTED[issue.expected] ?? issue.expected}, not ${kindOf(issue.input)}`;
  }
  if (issue.code === 'too_small') return describeBound(issue, issue.minimum, ['at least', 'more than']);
  if (issue.code === 'too_big') return describeBound(issue, issue.maximum, ['at most', 'less than']);
  if (issue.code === 'invalid_value') {
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  return undefined;
}

/** Maximum number of problems in one message: a file that is not a configuration may have many thousands. */
const MAX_SHOWN = 100;

/** One error for all problems, each with its path and line. */
export function configError(source: ConfigText, problems: readonly Problem[]): SvcError {
  const lines = problems.slice(0, MAX_SHOWN).map((problem) => describe(source, problem));
  const [only] = lines;
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
  const sentence =
    lines.length === 1
      ? `${source.file}: ${only}${only?.endsWith('?') ? '' : '.'}`
      : `${source.file} has ${problems.length} mistakes:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return new SvcError('config', sentence, {
    hint: '`svc-migrate help config` describes every setting.',
  });
}

/** Line of an offset, from 1. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && !Number.isInteger(value) ? 'a fraction' : `a ${typeof value}`;
}

function describeBound(
  { origin, inclusive }: { readonly origin: string; readonly inclusive?: boolean },
  limit: number | bigint,
  [atLeast, moreThan]: readonly [string, string],
): string {
  if (origin === 'string') return `must be ${limit === 1 ? 'not empty' : `${atLeast} ${limit} characters`}`;
  if (origin === 'array') {
    return `must be ${limit === 1 ? 'a list with at least one entry' : `${atLeast} ${limit} entries`}`;
  }
  return `must be ${inclusive === false ? moreThan : atLeast} ${limit}`;
}

function describe(source: ConfigText, { path, message }: Problem): string {
  const line = lineAt(source, path);
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  const place = path.length === 0 ? 'the configuration' : parts.join('').replace(/^\./, '');
  return `${place}${line === null ? '' : ` (line ${line})`} ${message}`;
}

/** The line of the setting, or of the nearest existing object around it. */
function lineAt({ text, tree }: ConfigText, path: readonly PropertyKey[]): number | null {
  if (tree === undefined) return null;
  for (let length = path.length; length > 0; length--) {
    const segments = path.slice(0, length).map((part) => (typeof part === 'number' ? part : String(part)));
    const node = findNodeAtLocation(tree, segments);
    if (node !== undefined)
      return lineOf(text, (node.parent?.type === 'property' ? node.parent : node).offset);
  }
  return null;
}
