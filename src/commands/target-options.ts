import { basename, relative } from 'node:path';
import {
  type ApplyTarget,
  applyTargetSchema,
  DEFAULT_LEDGER_SCHEMA,
  isServer,
  resolveTarget,
} from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { findTargetProblems } from '../config/cross-checks.js';
import { SERVERS, type Server } from '../domain.js';
import { SvcError } from '../errors.js';
import { flagOf } from './option.js';

/** Options that name targets. */
export type TargetOptions = { readonly [Name in TargetOption]?: string | undefined } & {
  readonly targets?: readonly string[];
  readonly ids?: readonly string[];
  readonly noHeader?: boolean;
};
type TargetOption = LocationOption['name'] | (typeof DETAILS)[number];

/** An option that says where the data are. */
interface LocationOption {
  readonly name: 'csv' | 'ndjson' | 'sqlite' | `${Server['kind']}${'Env' | 'File'}`;
  readonly kind: ApplyTarget['kind'];
  /** The setting that it stands for. */
  readonly setting: 'file' | 'urlEnv' | 'urlFile';
}

const LOCATION_OPTIONS: readonly LocationOption[] = [
  ...(['csv', 'ndjson', 'sqlite'] as const).map((kind) => ({ name: kind, kind, setting: 'file' }) as const),
  ...SERVERS.flatMap(({ kind }) => [
    { name: `${kind}Env`, kind, setting: 'urlEnv' } as const,
    { name: `${kind}File`, kind, setting: 'urlFile' } as const,
  ]),
];

/** The hint for a command line that does not say where the data are. */
export const LOCATION_HINT = `Use one of ${LOCATION_OPTIONS.map(({ name }) => flagOf(name)).join(', ')}.`;

const ID_DETAILS = [
  'path',
  'modelColumn',
  'region',
  'regionColumn',
  'company',
  'companyColumn',
  'newColumn',
  'platformIdColumn',
] as const;
const DETAILS = ['table', 'key', ...ID_DETAILS, 'output', 'delimiter', 'ledgerSchema'] as const;

/** The target that options describe; null if there are no such options. */
export function parseTarget(given: TargetOptions, config: Config): ApplyTarget | null {
  const place = locationOf(given);
  const { ids = [], noHeader = false } = given;
  if (place === null) {
    const alone = ids.length > 0 ? 'ids' : DETAILS.find((name) => given[name] !== undefined);
    if (alone === undefined && !noHeader) return null;
    throw new SvcError(
      'usage',
      `${flagOf(alone ?? 'noHeader')} describes a target, but no option says where it is.`,
      {
        hint: LOCATION_HINT,
      },
    );
  }
  if (ids.length === 0) {
    throw new SvcError('usage', 'No column that holds ids is named.', {
      hint: 'Write it as --ids invoice_id=accounting/invoices; `svc-migrate apply find` looks for such columns.',
    });
  }
  const input = { ...place, ...detailsOf(given), ids: ids.map((text) => idColumnOf(text, given)) };
  return buildTarget(input, config);
}

/** The file or database that options name, as a target with placeholder columns; null if they name none. */
export function parseLocation(given: TargetOptions): ApplyTarget | null {
  const place = locationOf(given);
  if (place === null) return null;
  const ids = [{ column: '-', modelColumn: '-' }];
  const isFile = place['kind'] === 'csv' || place['kind'] === 'ndjson';
  const table = isFile ? {} : { table: '-' };
  const { output, ledgerSchema, header } = detailsOf(given);
  const known =
    place['kind'] === 'csv' ? { output, header } : place['kind'] === 'ndjson' ? { output } : { ledgerSchema };
  const details = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return parse({ ...place, ...table, ...details, ids });
}

type Input = Readonly<Record<string, unknown>>;

function locationOf(given: TargetOptions): Input | null {
  const option = LOCATION_OPTIONS.find(({ name }) => given[name] !== undefined);
  if (option === undefined) return null;
  const { name, kind, setting } = option;
  const value = given[name] ?? '';
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
    const flags = SERVERS.map((server) => `--${server.kind}-env`).join(' or ');
    throw new SvcError('usage', 'Connection strings are never given on the command line.', {
      hint: `Put it into an environment variable and name that with ${flags}.`,
    });
  }
  return { kind, name: given.table ?? basename(value), [setting]: value };
}

function detailsOf(given: TargetOptions): Input {
  const key = given.key;
  const delimiter = given.delimiter;
  const details: Record<string, unknown> = {
    table: given.table,
    output: given.output,
    ledgerSchema: given.ledgerSchema,
    key: key?.split(',').map((name) => name.trim()),
    delimiter: delimiter === '\\t' || delimiter?.toLowerCase() === 'tab' ? '\t' : delimiter,
    header: given.noHeader === true ? false : undefined,
  };
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}

/** Splits at the last `=`, because no model contains one. */
function idColumnOf(text: string, given: TargetOptions): Input {
  const at = text.lastIndexOf('=');
  const [column, model] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  const details = Object.fromEntries(ID_DETAILS.map((name) => [name, given[name]]));
  const input = { column, model, ...details };
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** @throws SvcError `usage` if the target names something that is not configured */
function buildTarget(input: Input, config: Config): ApplyTarget {
  const target = parse(input);
  const regions = config.v3.regions.map(({ region }) => region);
  const [problem] = findTargetProblems([target], { models: config.models, regions });
  if (problem === undefined) return target;
  throw new SvcError('usage', `--ids: ${String(problem.path.at(-1))} ${problem.message}.`);
}

function parse(input: Input): ApplyTarget {
  const parsed = applyTargetSchema.safeParse(input);
  if (parsed.success) return resolveTarget(parsed.data, '.');
  const issue = parsed.error.issues[0];
  const [first, ...others] = issue?.path ?? [];
  if (typeof first === 'string' && others.length === 0 && input[first] === undefined) {
    throw new SvcError('usage', `The target needs --${first}.`);
  }
  const name = issue?.path.findLast((part) => typeof part === 'string') ?? '';
  const what = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : String(name);
  throw new SvcError('usage', `These options do not make a valid target: ${what} ${issue?.message ?? ''}.`, {
    hint: 'See `svc-migrate help apply plan`, or name the target in the configuration.',
  });
}

/** Where targets come from: all or some of the configured ones, or one given by options. */
export type TargetSource =
  | { readonly kind: 'configured' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'given'; readonly target: ApplyTarget };

/** Command-line arguments that name the same targets; `undo` needs only their file or database. */
export function targetArguments(source: TargetSource, isUndo: boolean): string[] {
  switch (source.kind) {
    case 'configured':
      return [];
    case 'named':
      return isUndo ? [] : [...source.names];
    case 'given':
      return isUndo
        ? locationArguments(source.target)
        : [...locationArguments(source.target), ...detailArguments(source.target)];
  }
}

/** Command-line arguments that name the target of a run, as its ledger defines it; none if targets are configured. */
export function argumentsOfRun(source: TargetSource, definition: ApplyTarget): string[] {
  return source.kind === 'given' ? [...locationArguments(source.target), ...detailArguments(definition)] : [];
}

function locationArguments(target: ApplyTarget): string[] {
  if (isServer(target)) {
    const schema = 'ledgerSchema' in target ? target.ledgerSchema : DEFAULT_LEDGER_SCHEMA;
    return [
      ...option(`--${target.kind}-env`, target.urlEnv),
      ...option(`--${target.kind}-file`, target.urlFile, relativeIfInside),
      ...option('--ledger-schema', schema === DEFAULT_LEDGER_SCHEMA ? undefined : schema),
    ];
  }
  const output = 'output' in target ? target.output : undefined;
  return [`--${target.kind}`, relativeIfInside(target.file), ...option('--output', output, relativeIfInside)];
}

function detailArguments(target: ApplyTarget): string[] {
  const [first] = target.ids;
  return [
    ...('table' in target ? ['--table', target.table, ...option('--key', target.key?.join(','))] : []),
    ...target.ids.flatMap(({ column, model }) => [
      '--ids',
      model === undefined ? column : `${column}=${model}`,
    ]),
    ...(first === undefined ? [] : ID_DETAILS.flatMap((name) => option(flagOf(name), first[name]))),
    ...(target.kind === 'csv' && target.delimiter !== 'auto' ? ['--delimiter', target.delimiter] : []),
    ...(target.kind === 'csv' && !target.header ? ['--no-header'] : []),
  ];
}

function option(flag: string, value: string | undefined, show: (value: string) => string = String): string[] {
  return value === undefined ? [] : [flag, show(value)];
}

/** A path in a folder becomes relative to it; others stay. */
export function relativeIfInside(path: string, folder = '.'): string {
  const inside = relative(folder, path);
  return inside === '' || inside.startsWith('..') ? path : inside;
}
