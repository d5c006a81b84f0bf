import { existsSync, readdirSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { EmitRequest } from '../apply/emit/layouts.js';
import { readHead } from '../apply/files/file-snapshot.js';
import type { Plan, Policy } from '../apply/plan.js';
import {
  type ApplyTarget,
  applyTargetSchema,
  environmentName,
  type IdColumn,
  isServer,
  isTextFile,
  resolveTarget,
} from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { findTargetProblems } from '../config/cross-checks.js';
import type { Env } from '../domain.js';
import { SvcError } from '../errors.js';
import { shellLine } from '../text/escape.js';
import { didYouMean } from '../text/suggest.js';
import type { verify, write } from './catalogue/apply-commands.js';
import type { OptionsOf } from './command.js';

/** What a command of `apply` does. */
export type ApplyAction = 'plan' | 'write' | 'check' | 'verify' | 'find' | 'sql' | 'undo' | 'runs';

/** Options and arguments of the commands of `apply`; each has some of them. */
export type ApplyOptions = Partial<OptionsOf<typeof write> & Pick<OptionsOf<typeof verify>, 'run'>>;

/** Where the targets of a command come from. */
export interface TargetSource {
  /** As they were typed; empty: all that are configured. */
  readonly words: readonly string[];
  /** The options that describe the columns of a file or database. */
  readonly columns: readonly string[];
  /** Whether the words name files or databases, not configured targets. */
  readonly isPlace: boolean;
}

/** What a command of `apply` is asked to do. */
export interface ApplyRequest {
  readonly action: ApplyAction;
  /** The SQL to write; null: none. */
  readonly emit: EmitRequest | null;
  /** The run to verify or undo; null: not named. */
  readonly run: string | null;
  /** The file to list every value left without a V4 id in. */
  readonly unmapped: string | undefined;
  /** The one table to look through; null: all. */
  readonly table: string | null;
  readonly targets: readonly ApplyTarget[];
  readonly source: TargetSource;
  readonly policy: Policy;
  readonly allowIncomplete: boolean;
}

/** Actions for which the place of a target is enough: its ledger, or its columns, say the rest. */
export const NEEDS_PLACE_ONLY: ReadonlySet<ApplyAction> = new Set(['find', 'verify', 'undo', 'runs']);

/** The start of every run's name. */
const RUN_NAME = /^\d{8}-/;

/** What was typed where a run may come before the targets. */
export function splitRun({ run, targets = [] }: Pick<ApplyOptions, 'run' | 'targets'>) {
  if (run === undefined || RUN_NAME.test(run)) return { run: run ?? null, words: targets };
  return { run: null, words: [run, ...targets] };
}

/** @throws SvcError `usage` if the options name no target, or do not go together */
export function buildRequest(
  action: ApplyAction,
  options: ApplyOptions,
  {
    config,
    env,
    emit = null,
  }: { readonly config: Config; readonly env: Env; readonly emit?: EmitRequest | null },
): ApplyRequest {
  const { unmapped, table, allowIncomplete = false } = options;
  if (unmapped === '-') throw new SvcError('usage', '--unmapped takes a file, not -.');
  const policy = policyOf(options);
  const { run, words } = splitRun(options);
  const { targets, source } = chooseTargets(action, { ...options, targets: words }, config, env);
  assertPolicy(policy, targets);
  return { action, emit, run, unmapped, table: table ?? null, targets, source, policy, allowIncomplete };
}

function policyOf(options: ApplyOptions): Policy {
  const { inPlace = false, missing = 'fail', unknown = 'fail', others = 'fail' } = options;
  const { mapDeleted = false, again = false } = options;
  return { mode: inPlace ? 'in_place' : 'new', missing, unknown, others, mapDeleted, again };
}

/** @throws SvcError `usage` for files in place, and where `--missing keep-v3` means no more than `keep` */
function assertPolicy({ mode, missing }: Policy, targets: readonly ApplyTarget[]): void {
  const file = targets.find(isTextFile);
  if (missing === 'keep-v3' && mode === 'in_place') {
    const text = '--missing keep-v3 is for new files and columns: in place, keep leaves the V3 id.';
    throw new SvcError('usage', text, { hint: 'Use --missing keep.' });
  }
  if (mode === 'new' || file === undefined) return;
  const text = `--in-place is for tables: ${file.name} is a file, and gets a new one beside it.`;
  throw new SvcError('usage', text, { hint: 'Leave --in-place out, or name tables only.' });
}

function chooseTargets(
  action: ApplyAction,
  options: ApplyOptions,
  config: Config,
  env: Env,
): Pick<ApplyRequest, 'targets' | 'source'> {
  const { targets: words = [], table, ids = [] } = options;
  const configured = config.apply.targets;
  const isConfigured = (word: string) => configured.some(({ name }) => name === word);
  const columns = [
    ...(table === undefined ? [] : ['--table', table]),
    ...ids.flatMap((text) => ['--ids', text]),
  ];
  if (words.every(isConfigured)) {
    if (columns[0] === undefined || action === 'find') {
      const named = words.length === 0 ? configured : configured.filter(({ name }) => words.includes(name));
      return { targets: named, source: { words, columns: [], isPlace: false } };
    }
    throw new SvcError(
      'usage',
      `${columns[0]} describes a target that is not configured, but none is named.`,
      {
        hint: 'Name its file, or the environment variable with the address of its database, first.',
      },
    );
  }
  const describe = (word: string) => parseTarget(action, word, options, config, env);
  if (NEEDS_PLACE_ONLY.has(action)) {
    const targets = words.map((word) => configured.find(({ name }) => name === word) ?? describe(word));
    return { targets, source: { words, columns: [], isPlace: true } };
  }
  const [word = '', other] = words;
  if (other !== undefined) {
    for (const one of words) if (!isConfigured(one)) placeOf(one, config, env);
    throw new SvcError('usage', 'Name configured targets, or one file or database, not both.');
  }
  return { targets: [describe(word)], source: { words, columns, isPlace: true } };
}

/** The target that a word and options describe; with placeholders for its columns where its place is enough. */
function parseTarget(
  action: ApplyAction,
  word: string,
  { table, ids = [] }: ApplyOptions,
  config: Config,
  env: Env,
): ApplyTarget {
  const place = placeOf(word, config, env);
  const isFile = isTextFile(place);
  if (table !== undefined && isFile) {
    const kind = place.kind === 'csv' ? 'CSV' : 'NDJSON';
    throw new SvcError('usage', `--table names a table of a database; ${place.name} is a ${kind} file.`);
  }
  const named = table === undefined ? place : { ...place, name: table, table };
  if (NEEDS_PLACE_ONLY.has(action))
    return parse({ ...(isFile ? {} : { table: '-' }), ...named, ids: [{ column: '_', modelColumn: '_' }] });
  if (ids.length === 0) {
    if (place.file !== undefined && !existsSync(place.file))
      throw new SvcError('bad_input', `${place.file} cannot be read: it does not exist.`);
    const find = shellLine(['svc-migrate', 'apply', 'find', word]);
    throw new SvcError('usage', 'No column that holds ids is named.', {
      hint: `Write it as --ids invoice_id=accounting/invoices; \`${find}\` looks for such columns.`,
    });
  }
  const target = parse({ ...named, ids: ids.map(parseIds) });
  const regions = config.v3.regions.map(({ region }) => region);
  const [problem] = findTargetProblems([target], { models: config.models, regions });
  if (problem === undefined) return target;
  const text = `--ids: ${String(problem.path.at(-1))} ${problem.message}`;
  throw new SvcError('usage', text.endsWith('?') ? text : `${text}.`);
}

/** Splits at the last `=`, because no model contains one. */
function parseIds(text: string): unknown {
  const at = text.lastIndexOf('=');
  if (!text.startsWith('{')) {
    if (at >= 0) return { column: text.slice(0, at), model: text.slice(at + 1) };
    throw new SvcError('usage', `--ids ${text} names no model.`, {
      hint: `Write --ids ${shellLine([`${text}=MODEL`])}, such as ${shellLine([`${text}=accounting/invoices`])}; \`svc-migrate apply find\` proposes models.`,
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SvcError('usage', `--ids ${text} is not JSON.`, { cause });
  }
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

/**
 * The words and options that name a target, as a run's ledger or a proposal defines it; null if there are none, because only a
 * configuration has all of its settings.
 */
export function argumentsOfTarget(
  definition: ApplyTarget,
  { apply }: Pick<Config, 'apply'>,
): string[] | null {
  const known = apply.targets.find((target) => isDeepStrictEqual(target, definition));
  if (known !== undefined) return [known.name];
  const { kind, name } = definition;
  const word = isServer(definition) ? (definition.urlEnv ?? '') : relativeIfInside(definition.file);
  const table = 'table' in definition ? definition.table : undefined;
  const columns = definition.ids.map(formatIds);
  const place = isServer(definition) ? { urlEnv: word } : { file: definition.file };
  if (!environmentName.safeParse(word).success && isServer(definition)) return null;
  if (!isDeepStrictEqual(parse({ kind, name, ...place, table, ids: columns.map(parseIds) }), definition))
    return null;
  return [
    word,
    ...(table === undefined ? [] : ['--table', table]),
    ...columns.flatMap((text) => ['--ids', text]),
  ];
}

function formatIds(column: IdColumn): string {
  const { column: name, model = '' } = column;
  const text = `${name}=${model}`;
  return isDeepStrictEqual({ ...column }, parseIds(text)) ? text : JSON.stringify(column);
}

/** A path in a folder becomes relative to it; others stay. */
export function relativeIfInside(path: string, folder = '.'): string {
  const inside = relative(folder, path);
  return inside === '' || inside.startsWith('..') ? path : inside;
}

/**
 * The request to carry out a plan: its targets and its policy.
 *
 * @throws SvcError `usage` if targets are named beside the plan, `bad_input` if one is configured otherwise now
 */
export function requestOfPlan(plan: Plan, request: ApplyRequest, config: Config): ApplyRequest {
  if (request.source.words.length > 0)
    throw new SvcError('usage', 'The plan names its targets already: name none beside --plan.');
  for (const { name, definition } of plan.targets) {
    const own = config.apply.targets.find((target) => target.name === name);
    if (own === undefined || isDeepStrictEqual(own, definition)) continue;
    throw new SvcError(
      'bad_input',
      `The definition of target ${name} differs from the plan; nothing was written.`,
      { hint: 'Plan again: `svc-migrate apply plan`.' },
    );
  }
  const targets = plan.targets.map(({ definition }) => definition);
  return { ...request, targets, source: sourceOfPlan(plan, config), policy: plan.policy };
}

/** Where the targets of a plan come from, as a command line names them. */
function sourceOfPlan({ targets }: Plan, config: Config): TargetSource {
  const known = config.apply.targets.map(({ name }) => name);
  const names = targets.map(({ name }) => name);
  const [only] = targets;
  const given =
    only === undefined || known.includes(only.name) ? null : argumentsOfTarget(only.definition, config);
  if (given !== null && targets.length === 1) {
    const [word = '', ...columns] = given;
    return { words: [word], columns, isPlace: true };
  }
  return { words: names.length === known.length ? [] : names, columns: [], isPlace: false };
}

/** A file or database that a word of the command line names. */
interface Place {
  readonly kind: ApplyTarget['kind'];
  readonly name: string;
  readonly file?: string;
  readonly urlEnv?: string;
}

const SQLITE_FILE = /\.(db|db3|sqlite|sqlite3)$/i;
const TEXT_FILE = /\.(csv|tsv|ndjson|jsonl)$/i;

/**
 * @throws SvcError `usage` if there are none, with a command that looks for some: in a database or file that is there, if one is
 */
export function assertSomeTargets(targets: readonly ApplyTarget[], config: Config, env: Env): void {
  if (targets.length > 0) return;
  const own = basename(config.database);
  const urls = Object.keys(env).filter((name) => serverOf(env[name]) !== null);
  const files = readdirSync('.').filter((name) => name !== own && TEXT_FILE.test(name));
  const databases = readdirSync('.').filter((name) => name !== own && SQLITE_FILE.test(name));
  const [found] = [...urls, ...databases, ...files];
  const find = found === undefined ? null : shellLine(['svc-migrate', 'apply', 'find', found]);
  throw new SvcError('usage', 'No target is configured or named, so there is no place to look for ids.', {
    hint:
      find === null
        ? 'Name a file, or the environment variable with the address of a database: see `svc-migrate help apply`.'
        : `\`${find}\` looks for V3 ids there, and prints targets for the configuration.`,
  });
}

/** @throws SvcError `usage` if a word names neither a file nor a database */
function placeOf(word: string, config: Config, env: Env): Place {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) {
    throw new SvcError('usage', 'Connection strings are never given on the command line.', {
      hint: 'Put it into an environment variable, and name that as the target.',
    });
  }
  const url = env[word];
  const server = serverOf(url);
  if (server !== null) return { kind: server, name: word, urlEnv: word };
  if (existsSync(word) || /[./\\]/.test(word))
    return { kind: kindOfFile(word), name: basename(word), file: word };
  const known = config.apply.targets.map(({ name }) => name);
  const hint =
    url === undefined
      ? (didYouMean(word, known) ?? 'Targets are named under apply.targets in the configuration.')
      : 'Its environment variable holds no address like postgres://… or mysql://….';
  throw new SvcError('usage', `There is no configured target, file or environment variable "${word}".`, {
    hint,
  });
}

function serverOf(url: string | undefined): 'postgres' | 'mysql' | null {
  if (url === undefined) return null;
  if (/^postgres(ql)?:\/\//i.test(url)) return 'postgres';
  return /^(mysql|mariadb):\/\//i.test(url) ? 'mysql' : null;
}

/** What a file is, by its first bytes where its name does not say. */
function kindOfFile(file: string): 'csv' | 'ndjson' | 'sqlite' {
  const head = startOf(file);
  if (head.startsWith('SQLite format 3\0')) return 'sqlite';
  if (/\.(csv|tsv)$/i.test(file)) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(file)) return 'ndjson';
  if (SQLITE_FILE.test(file)) return 'sqlite';
  return /^(\u00ef\u00bb\u00bf)?\s*[[{]/.test(head) ? 'ndjson' : 'csv';
}

/** The first bytes of a file; '' if it cannot be read, which is reported when it is opened. */
function startOf(file: string): string {
  try {
    return readHead(file, 64).toString('latin1');
  } catch {
    return '';
  }
}
