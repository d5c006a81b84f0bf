import { basename, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ApplyTarget, applyTargetSchema, isServer, resolveTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { findTargetProblems } from '../config/cross-checks.js';
import { SvcError } from '../errors.js';
import { flagOf } from './option.js';

/** Options that say where the data are, each with the kind of target and the setting that it stands for. */
const PLACES = {
  csv: ['csv', 'file'],
  ndjson: ['ndjson', 'file'],
  sqlite: ['sqlite', 'file'],
  postgresEnv: ['postgres', 'urlEnv'],
  mysqlEnv: ['mysql', 'urlEnv'],
} as const;
type Place = keyof typeof PLACES;

/** Options that name targets. */
export type TargetOptions = {
  readonly [Name in Place | 'table' | 'output']?: string | undefined;
} & {
  readonly targets?: readonly string[];
  readonly ids?: readonly string[];
};

/** The hint for a command line that does not say where the data are. */
export const PLACE_HINT = `Use one of ${Object.keys(PLACES).map(flagOf).join(', ')}.`;

/** The target that options describe; null if there are no such options. */
export function parseTarget(given: TargetOptions, config: Config): ApplyTarget | null {
  const place = placeOf(given);
  const { ids = [], table, output } = given;
  if (place === null) {
    const alone = Object.entries({ ids: ids[0], table, output }).find(([, value]) => value !== undefined);
    if (alone === undefined) return null;
    throw new SvcError('usage', `${flagOf(alone[0])} describes a target, but no option says where it is.`, {
      hint: PLACE_HINT,
    });
  }
  if (ids.length === 0) {
    throw new SvcError('usage', 'No column that holds ids is named.', {
      hint: 'Write it as --ids invoice_id=accounting/invoices; `svc-migrate apply find` looks for such columns.',
    });
  }
  const target = parse({ ...place, table, output, ids: ids.map(idColumnOf) });
  const regions = config.v3.regions.map(({ region }) => region);
  const [problem] = findTargetProblems([target], { models: config.models, regions });
  if (problem === undefined) return target;
  throw new SvcError('usage', `--ids: ${String(problem.path.at(-1))} ${problem.message}.`);
}

/** The file or database that options name, as a target with placeholder columns; null if they name none. */
export function parsePlace(given: TargetOptions): ApplyTarget | null {
  const place = placeOf(given);
  if (place === null) return null;
  const isFile = place.kind === 'csv' || place.kind === 'ndjson';
  const rest = isFile ? { output: given.output } : { table: '-' };
  return parse({ ...place, ...rest, ids: [{ column: '-', modelColumn: '-' }] });
}

function placeOf(given: TargetOptions) {
  for (const [name, [kind, setting]] of Object.entries(PLACES)) {
    const value = Object.entries(given).find(([own]) => own === name)?.[1];
    if (typeof value !== 'string') continue;
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
      throw new SvcError('usage', 'Connection strings are never given on the command line.', {
        hint: 'Put it into an environment variable and name that with --postgres-env or --mysql-env.',
      });
    }
    return { kind, name: given.table ?? basename(value), [setting]: value };
  }
  return null;
}

/** Splits at the last `=`, because no model contains one. */
function idColumnOf(text: string) {
  const at = text.lastIndexOf('=');
  return at < 0 ? { column: text } : { column: text.slice(0, at), model: text.slice(at + 1) };
}

function parse(given: Readonly<Record<string, unknown>>): ApplyTarget {
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const parsed = applyTargetSchema.safeParse(input);
  if (parsed.success) return resolveTarget(parsed.data, '.');
  const [issue] = parsed.error.issues;
  const [first, ...others] = issue?.path ?? [];
  if (typeof first === 'string' && others.length === 0 && input[first] === undefined) {
    throw new SvcError('usage', `The target needs --${first}.`);
  }
  const name = issue?.path.findLast((part) => typeof part === 'string') ?? '';
  throw new SvcError(
    'usage',
    `These options do not make a valid target: ${String(name)} ${issue?.message ?? ''}.`,
    { hint: 'See `svc-migrate help apply plan`, or name the target in the configuration.' },
  );
}

/** Where targets come from: all or some of the configured ones, or one given by options. */
export type TargetSource =
  | { readonly kind: 'configured' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'given'; readonly target: ApplyTarget };

/** Command-line arguments that name the same targets. */
export function targetArguments(source: TargetSource): string[] {
  if (source.kind === 'configured') return [];
  return source.kind === 'named' ? [...source.names] : describeTarget(source.target);
}

/** Command-line arguments that name the place of the target given by options, whose ledger knows the rest. */
export function placeArguments(source: TargetSource, isOutputNamed = true): string[] {
  if (source.kind !== 'given') return [];
  const { target } = source;
  if (isServer(target)) return [`--${target.kind}-env`, target.urlEnv ?? ''];
  const output = isOutputNamed && 'output' in target ? target.output : undefined;
  const more = output === undefined ? [] : ['--output', relativeIfInside(output)];
  return [`--${target.kind}`, relativeIfInside(target.file), ...more];
}

/**
 * Command-line arguments that name the target of a run, as its ledger defines it; null if no options do, because only a
 * configuration has all of its settings.
 */
export function argumentsOfRun(
  source: TargetSource,
  definition: ApplyTarget,
  { apply }: Pick<Config, 'apply'>,
): string[] | null {
  if (source.kind !== 'given') return [];
  if (apply.targets.some((target) => isDeepStrictEqual(target, definition))) return [definition.name];
  const { kind, ids } = definition;
  const table = 'table' in definition ? definition.table : undefined;
  const output = 'output' in definition ? definition.output : undefined;
  const where = isServer(definition) ? { urlEnv: definition.urlEnv } : { file: definition.file };
  const simple = { kind, name: definition.name, ...where, table, output };
  const isSimple =
    ids.every(({ model }) => model !== undefined) &&
    isDeepStrictEqual(
      parse({ ...simple, ids: ids.map(({ column, model }) => ({ column, model })) }),
      definition,
    );
  return isSimple ? describeTarget(definition) : null;
}

function describeTarget(target: ApplyTarget): string[] {
  return [
    ...placeArguments({ kind: 'given', target }),
    ...('table' in target ? ['--table', target.table] : []),
    ...target.ids.flatMap(({ column, model = '' }) => ['--ids', `${column}=${model}`]),
  ];
}

/** A path in a folder becomes relative to it; others stay. */
export function relativeIfInside(path: string, folder = '.'): string {
  const inside = relative(folder, path);
  return inside === '' || inside.startsWith('..') ? path : inside;
}
