import { findNodeAtLocation, type Node } from 'jsonc-parser';
import type * as z from 'zod';
import { SvcError } from '../errors.js';

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

export function problemsOf(issues: readonly z.core.$ZodIssue[]): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownKey(key) }));
    }
    const reason = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
    return [{ path: issue.path, message: reason ?? issue.message }];
  });
}

export function unknownKey(key: string): string {
  const isSecret = /^(?:api_?key|password|url|uri|dsn|connection_?string)$/i.test(key);
  return isSecret
    ? 'is not a setting: secrets are never written here; name an environment variable'
    : 'is not a setting';
}

/** Problems in one message: a file that is not a configuration may have many thousands. */
const MAX_SHOWN = 100;

export function configError(source: ConfigText, problems: readonly Problem[]): SvcError {
  const lines = problems.slice(0, MAX_SHOWN).map((problem) => describe(source, problem));
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
  const sentence =
    lines.length === 1
      ? `${source.file}: ${lines.join('')}`
      : `${source.file} has ${problems.length} mistakes:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return new SvcError('config', sentence, { hint: '`svc-migrate help config` describes every setting.' });
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function describe(source: ConfigText, { path, message }: Problem): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  const place = path.length === 0 ? 'the configuration' : parts.join('').replace(/^\./, '');
  const line = lineAt(source, path);
  return `${place}${line === null ? '' : ` (line ${line})`}: ${message}`;
}

/** The line of the setting, or of the nearest existing object around it. */
function lineAt({ text, tree }: ConfigText, path: readonly PropertyKey[]): number | null {
  if (tree === undefined) return null;
  for (let length = path.length; length > 0; length--) {
    const segments = path.slice(0, length).map((part) => (typeof part === 'number' ? part : String(part)));
    const node = findNodeAtLocation(tree, segments);
    if (node === undefined) continue;
    return lineOf(text, (node.parent?.type === 'property' ? node.parent : node).offset);
  }
  return null;
}
