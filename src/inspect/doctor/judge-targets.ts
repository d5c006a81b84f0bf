import { existsSync } from 'node:fs';
import { type ApplyTarget, isServer } from '../../config/apply-targets.js';
import type { Config } from '../../config/config.js';
import { countOf } from '../../text/numbers.js';
import { type Finding, ok, warning } from './doctor-finding.js';
import type { LocalFacts } from './probe-results.js';

/** Looks for the files and connection strings of the targets of `apply`, without connecting. */
export function readTargets(
  { apply }: Config,
  env: Readonly<Record<string, string | undefined>>,
): LocalFacts['targets'] {
  return apply.targets.map((target) => ({ name: target.name, missing: findMissing(target, env) }));
}

function findMissing(target: ApplyTarget, env: Readonly<Record<string, string | undefined>>): string | null {
  if (target.kind === 'warehouse') return null;
  if (isServer(target) && target.urlEnv !== undefined)
    return (env[target.urlEnv] ?? '') === '' ? `environment variable ${target.urlEnv} is not set` : null;
  const file = isServer(target) ? (target.urlFile ?? '') : target.file;
  return existsSync(file) ? null : `${file} does not exist`;
}

export function judgeTargets({ targets }: Pick<LocalFacts, 'targets'>): Finding[] {
  if (targets.length === 0) return [];
  const absent = targets.flatMap(({ name, missing }) =>
    missing === null ? [] : [`Target ${name}: ${missing}.`],
  );
  const fix = 'Correct it before `apply`, or run `apply` where it is there.';
  if (absent.length > 0) return absent.map((text) => warning('targets', 'target_missing', text, fix));
  const text = `${countOf(targets.length, 'target')} of apply: files and connection strings are there.`;
  return [ok('targets', 'targets_there', text)];
}
