import { basename, dirname, join, resolve } from 'node:path';
import { SERVERS, type Server } from '../domain.js';
import * as z from 'zod';

const strict = z.strictObject;
// Placeholders until the JSON paths of apply are there.
const parseJsonPath = (text: string) => (/^\$/.test(text) ? text : null);
const mayOverlap = (a: string, b: string) => a === b;

/** A reference to a V3 model, or to the children in one of its fields. */
export const MODEL_REF = /^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+(?:#[A-Za-z_][A-Za-z0-9_]*)?$/;

/** A V3 model, or the children in one of its fields: `accounting/invoices`, `accounting/invoices#line_items`. */
export interface ModelRef {
  readonly model: string;
  /** '' for the records themselves. */
  readonly path: string;
}

/** Parses `category/model` or `category/model#children`. */
export function parseModelRef(text: string): ModelRef {
  const at = text.indexOf('#');
  return at < 0 ? { model: text, path: '' } : { model: text.slice(0, at), path: text.slice(at + 1) };
}

export function formatModelRef({ model, path }: ModelRef): string {
  return path === '' ? model : `${model}#${path}`;
}

const modelRef = z
  .string()
  .regex(MODEL_REF, 'must be a V3 model such as "accounting/invoices" or "accounting/invoices#line_items"');
const companyId = z
  .union([z.int().min(0), z.string().regex(/^\d{1,19}$/)], { error: 'must be a company id: digits' })
  .transform(String);
const name = z.string().min(1).max(200);

const pattern = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
    error: 'must be a pattern or a list of patterns',
  })
  .superRefine((given, context) => {
    const texts = [given].flat();
    for (const text of texts) {
      const problem = parseIdPattern(text);
      if (typeof problem === 'string') context.addIssue(`"${text}" ${problem}`);
    }
    if (new Set(texts).size < texts.length) context.addIssue('names a pattern twice');
  })
  .describe(
    'Where the ids stand inside longer text, as one pattern or several: "invoice:{id}". {id} is an id of the model of the column, {category/model} one of another model, * any text.',
  );

const idColumn = strict({
  column: name.describe(
    'Column that contains the ids. In NDJSON: a JSON path such as "$.lines[*].invoice_id". In a CSV file without header: "#1", "#2", and so on.',
  ),
  path: name.optional().describe('JSON path of the ids in a JSON column of a table.'),
  pattern: pattern.optional(),
  model: modelRef.optional().describe('V3 model of the ids: "category/model", with "#field" for children.'),
  modelColumn: name
    .optional()
    .describe('Instead of model: column (NDJSON: path) that names the model of each row.'),
  models: z
    .record(z.string(), modelRef.nullable())
    .optional()
    .describe(
      'The model that each value of modelColumn stands for. null: rows with this value contain no ids of the service.',
    ),
  region: z.string().optional().describe('V3 region of all rows.'),
  regionColumn: name.optional().describe('Column (NDJSON: path) that names the V3 region of each row.'),
  company: companyId.optional().describe('V3 company id of all rows.'),
  companyColumn: name
    .optional()
    .describe('Column (NDJSON: path) that contains the V3 company id of each row.'),
  newColumn: name.optional().describe('Name of the new column of a table. Default: <column>_v4.'),
  platformIdColumn: name
    .optional()
    .describe(
      'Name of a new text column of a table for the platform_id of the record. The run that writes the V4 ids adds and fills it.',
    ),
}).superRefine((one, context) => {
  const both = (a: string, b: string) => context.addIssue(`has both ${a} and ${b}; name one`);
  if (!usesOwnModel(one)) {
    if ((one.model ?? one.modelColumn) !== undefined)
      context.addIssue('has a model, but no pattern with {id}');
  } else if ((one.model === undefined) === (one.modelColumn === undefined)) {
    context.addIssue('needs either model or modelColumn');
  }
  if (one.models !== undefined && one.modelColumn === undefined)
    context.addIssue('has models without modelColumn');
  if (one.platformIdColumn !== undefined && (one.path ?? one.pattern) !== undefined)
    context.addIssue('has a platformIdColumn, which needs cells that are one id: without path and pattern');
  if (one.region !== undefined && one.regionColumn !== undefined) both('region', 'regionColumn');
  if (one.company !== undefined && one.companyColumn !== undefined) both('company', 'companyColumn');
});

const KINDS = ['csv', 'ndjson', 'sqlite', ...SERVERS.map(({ kind }) => kind)]
  .map((kind) => `"${kind}"`)
  .join(', ')
  .replace(/, ([^,]*)$/, ' or $1');

function targetOf<Kind extends string>(kind: Kind) {
  return {
    name: name.describe('A name of your choice, used in the ledger and in reports.'),
    kind: z.literal(kind).describe(`What it is: ${KINDS}.`),
  };
}

/** The columns of a target, in which each value may be named once. `hasLines`: they are JSON paths in a line of NDJSON. */
function idsOf(hasLines: boolean) {
  type Id = z.output<typeof idColumn>;
  const canMeet = (a: Id, b: Id) =>
    hasLines ? pathsMeet(a.column, b.column) : a.column === b.column && pathsMeet(a.path, b.path);
  return z
    .array(idColumn)
    .min(1)
    .superRefine((all, context) => {
      for (const { path, column, modelColumn, regionColumn, companyColumn } of all) {
        const paths = hasLines ? [column, modelColumn, regionColumn, companyColumn] : [path];
        const wrong = paths.find((text) => text !== undefined && parseJsonPath(text) === null);
        if (wrong !== undefined)
          context.addIssue(`has "${wrong}", which is not a JSON path such as "$.invoice.id" or "$.ids[*]"`);
      }
      for (const [at, one] of all.entries()) {
        const later = all.slice(at + 1);
        const twin = later.find((other) => canMeet(one, other));
        if (twin !== undefined)
          context.addIssue(
            `has ${columnLabel(one)} and ${columnLabel(twin)}, which can be the same value: name it once`,
          );
        const { column, newColumn = null } = one;
        const rival = later.find(
          (other) => other.column === column && (other.newColumn ?? newColumn) !== newColumn,
        );
        if (newColumn !== null && rival !== undefined)
          context.addIssue(`has several new columns for ${column}: name only one, which holds all its paths`);
      }
    })
    .describe('The columns that contain ids.');
}

/** Whether two ids of one column, at JSON paths in it if they have any, can be the same value. */
export function pathsMeet(a: string | undefined, b: string | undefined): boolean {
  const [one, two] = [a, b].map((path) => (path === undefined ? null : parseJsonPath(path)));
  return one == null || two == null || mayOverlap(one, two);
}

const ids = idsOf(false);
const file = z.string().min(1);
const source = file.describe('The file: CSV, NDJSON (one JSON value per line) or a SQLite database.');
const output = file.optional().describe('The new file. Default: beside the old one, with .v4 in its name.');
const table = name.describe('Table. In PostgreSQL with its schema, if that is not on the search path.');
const key = z
  .array(name)
  .min(1)
  .optional()
  .describe('Columns that identify a row. Default: the primary key, otherwise a unique index.');

const csv = strict({
  ...targetOf('csv'),
  file: source,
  output,
  delimiter: z.enum(['auto', ',', ';', '\t', '|']).default('auto').describe('Field separator.'),
  header: z.boolean().default(true).describe('Whether the first row names the columns.'),
  ids,
});

const ndjson = strict({ ...targetOf('ndjson'), file: source, output, ids: idsOf(true) });

const sqlite = strict({ ...targetOf('sqlite'), file: source, table, key, ids });

export const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');

const server = {
  urlEnv: environmentName.describe('Environment variable that contains the connection string.'),
  tls: z
    .enum(['verified', 'unverified'])
    .optional()
    .describe(
      'How certificates of other machines are checked. "verified" is the default. "unverified" accepts any certificate, and allows connections without TLS (sslmode=disable, in MySQL ssl-mode=DISABLED).',
    ),
  table,
  key,
};

export const DEFAULT_LEDGER_SCHEMA = 'svc_migrate';

const postgres = strict({
  ...targetOf('postgres'),
  ...server,
  ledgerSchema: name
    .default(DEFAULT_LEDGER_SCHEMA)
    .describe('Schema for the ledger. It is created if it does not exist.'),
  ids,
});

const mysql = strict({ ...targetOf('mysql'), ...server, ids });

/** A target that is a file of records. */
export const fileTargetSchema = z.discriminatedUnion('kind', [csv, ndjson]);

export const applyTargetSchema = z.discriminatedUnion('kind', [csv, ndjson, sqlite, postgres, mysql], {
  error: `must be ${KINDS}`,
});

/** How apply works on databases, where the configuration does not say. */
export const DEFAULT_APPLY = {
  batchRows: 20_000,
  lockTimeoutMs: 10_000,
  statementTimeoutMs: 600_000,
} as const;

/** The `apply` section of the configuration. */
export const applySettings = strict({
  batchRows: z
    .int()
    .min(1)
    .default(DEFAULT_APPLY.batchRows)
    .describe('Rows of a table that are changed per transaction.'),
  lockTimeoutMs: z
    .int()
    .min(0)
    .default(DEFAULT_APPLY.lockTimeoutMs)
    .describe('Longest wait for a lock in a database, in ms.'),
  statementTimeoutMs: z
    .int()
    .min(0)
    .default(DEFAULT_APPLY.statementTimeoutMs)
    .describe('Longest single statement on a database server, in ms; 0: no limit.'),
  targets: z
    .array(applyTargetSchema)
    .prefault([])
    .describe('The tables and files that contain ids of the service.'),
});

export type ApplyTarget = z.output<typeof applyTargetSchema>;
export type CsvTarget = Extract<ApplyTarget, { kind: 'csv' }>;
export type SqliteTarget = Extract<ApplyTarget, { kind: 'sqlite' }>;
export type PostgresTarget = Extract<ApplyTarget, { kind: 'postgres' }>;
export type MysqlTarget = Extract<ApplyTarget, { kind: 'mysql' }>;
export type FileTarget = z.output<typeof fileTargetSchema>;
/** Tables behind a connection string. */
export type ServerTarget = Extract<ApplyTarget, { kind: Server['kind'] }>;
export type TableTarget = SqliteTarget | ServerTarget;
/** A column that holds ids, and what is known of them. */
export type IdColumn = ApplyTarget['ids'][number];

/** Whether a target is reached through a connection string; others are files. */
export function isServer(target: ApplyTarget): target is ServerTarget {
  return SERVERS.some(({ kind }) => kind === target.kind);
}

/** Whether targets of a kind are files of records, not tables. */
export function isTextFile({ kind }: { readonly kind: string }): boolean {
  return kind === 'csv' || kind === 'ndjson';
}

/** The path of the new file of a target. */
export function outputOf({ file, output }: Pick<FileTarget, 'file' | 'output'>): string {
  if (output !== undefined) return output;
  const name = basename(file);
  const dot = name.lastIndexOf('.');
  return join(dirname(file), dot <= 0 ? `${name}.v4` : `${name.slice(0, dot)}.v4${name.slice(dot)}`);
}

/** The path of the side-car of a new file. */
export function sideCarFile(output: string): string {
  return `${output}.svc-migrate.json`;
}

/** The files that a target reads or writes. */
export function filesOf(target: Pick<FileTarget, 'file' | 'output'> | ApplyTarget): string[] {
  if (!('file' in target)) return [];
  return [target.file, outputOf(target)].flatMap((file) => [file, sideCarFile(file)]);
}

/** Makes the paths of a target absolute; relative ones are resolved against `folder`. */
export function resolveTarget(target: ApplyTarget, folder: string): ApplyTarget {
  if (isServer(target)) return target;
  const file = resolve(folder, target.file);
  if (target.kind === 'sqlite' || target.output === undefined) return { ...target, file };
  return { ...target, file, output: resolve(folder, target.output) };
}

/**
 * The column's name with its JSON path, for display and for the ledger. For an id column whose platform_ids are written, the
 * column that they are written to: see `normalizeColumns`.
 */
export function columnLabel({ column, path, platformIdColumn }: IdColumn): string {
  return platformIdColumn ?? (path === undefined ? column : `${column} ${path}`);
}

/** The patterns of a column, parsed; empty if the cells are ids themselves. */
export function patternsOf({ pattern }: Pick<IdColumn, 'pattern'>): (readonly PatternPart[])[] {
  return [pattern ?? []]
    .flat()
    .map(parseIdPattern)
    .filter((parts) => typeof parts !== 'string');
}

/** The model references in the patterns of a column. */
export function patternModels(column: Pick<IdColumn, 'pattern'>): string[] {
  return patternsOf(column)
    .flat()
    .flatMap((part) => (part.kind === 'id' && part.model !== null ? [part.model] : []));
}

function usesOwnModel(column: Pick<IdColumn, 'pattern'>): boolean {
  const parts = patternsOf(column).flat();
  return parts.length === 0 || parts.some((part) => part.kind === 'id' && part.model === null);
}

/** The models of a column's ids, for display: the model, or where it is found. */
export function modelLabel(column: IdColumn): string {
  const own = column.model ?? (column.modelColumn === undefined ? [] : `by ${column.modelColumn}`);
  return [...new Set([own, patternModels(column)].flat())].join(', ');
}

/** The name of the new column for the V4 ids or, as in `columnLabel`, platform_ids of a column. */
export function newColumnOf({ column, newColumn, platformIdColumn }: IdColumn): string {
  return platformIdColumn ?? newColumn ?? `${column}_v4`;
}

/** A part of a pattern: fixed text, an id, or `any` text. */
export type PatternPart =
  | { readonly kind: 'text'; readonly text: string }
  /** `model`: the model reference in the braces; null for `{id}`, the model of the column. */
  | { readonly kind: 'id'; readonly model: string | null }
  | { readonly kind: 'any' };

const TOKEN = /\{\{|\}\}|\{[^{}]*\}|[{}*…]|[^{}*…]+/g;

/**
 * Parses a pattern such as `invoice:{id}` or `*\/{crm/companies}/{id}?*`. `{{`, `}}` and `{*}` stand for `{`, `}` and `*`.
 * Returns the problem, as a clause, if it is not valid.
 */
export function parseIdPattern(text: string): readonly PatternPart[] | string {
  const parts: PatternPart[] = [];
  for (const token of text.match(TOKEN) ?? []) {
    const part = parseToken(token);
    if (typeof part === 'string') return part;
    const last = parts.at(-1);
    if (part.kind === 'text' && last?.kind === 'text') {
      parts[parts.length - 1] = { kind: 'text', text: last.text + part.text };
    } else if (part.kind !== 'any' || last?.kind !== 'any') {
      parts.push(part);
    }
  }
  return findProblem(parts) ?? parts;
}

function parseToken(token: string): PatternPart | string {
  if (token === '*' || token === '…') return { kind: 'any' };
  if (token === '{{' || token === '}}') return { kind: 'text', text: token.slice(1) };
  if (token === '{' || token === '}')
    return `has a single "${token}": write "${token}${token}" for the character`;
  if (!token.startsWith('{')) return { kind: 'text', text: token };
  const name = token.slice(1, -1);
  if (name === '*' || name === '…') return { kind: 'text', text: name };
  if (name === 'id') return { kind: 'id', model: null };
  if (MODEL_REF.test(name)) return { kind: 'id', model: name };
  return `has ${token}: write {id}, or a V3 model such as {accounting/invoices}`;
}

function findProblem(parts: readonly PatternPart[]): string | null {
  if (!parts.some(({ kind }) => kind === 'id')) return 'names no id: write {id} where it stands';
  for (const [at, part] of parts.entries()) {
    const next = parts[at + 1];
    if (part.kind !== 'id' && next?.kind !== 'id') continue;
    if (part.kind === 'id' && next?.kind === 'id') return 'has two ids with nothing between them';
    const isDigit =
      (part.kind === 'text' && /\d$/.test(part.text)) || (next?.kind === 'text' && /^\d/.test(next.text));
    if (isDigit) return 'has a digit beside an id: where the id begins or ends would be a guess';
  }
  return null;
}
