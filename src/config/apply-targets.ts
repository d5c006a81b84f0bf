import { basename, dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { SERVERS, type Server } from '../domain.js';

/** A step of a JSON path: a member's name, the number of an item, or null for every member or item. */
type JsonStep = string | number | null;
export type JsonPath = readonly JsonStep[];

const STEP =
  /\.(?<name>[\p{L}_$][\p{L}\p{N}_$-]*)|\.(?<star>\*)|\[(?<at>\d{1,9})\]|\[(?<all>\*)\]|\['(?<single>[^']*)'\]|\["(?<double>[^"]*)"\]/uy;

/** Parses `$.invoice.id`, `$.lines[*].item_id` or `$['odd key'][0]`. The leading `$.` is optional. Null if it is invalid. */
export function parseJsonPath(text: string): JsonPath | null {
  const body = text.startsWith('$') ? text.slice(1) : text.startsWith('[') ? text : `.${text}`;
  const steps: JsonStep[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < body.length) {
    const groups = STEP.exec(body)?.groups;
    if (groups === undefined) return null;
    steps.push(stepOf(groups));
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): JsonStep {
  if (groups['star'] !== undefined || groups['all'] !== undefined) return null;
  if (groups['at'] !== undefined) return Number(groups['at']);
  return groups['name'] ?? groups['single'] ?? groups['double'] ?? null;
}

function pathsOverlap(a: JsonPath, b: JsonPath): boolean {
  return a.length === b.length && a.every((step, at) => step === null || b[at] === null || step === b[at]);
}

export const MODEL_REF = /^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+(?:#[A-Za-z_][A-Za-z0-9_]*)?$/;

/** A V3 model, or the children in one of its fields: `accounting/invoices`, `accounting/invoices#line_items`. */
export interface ModelRef {
  readonly model: string;
  /** '' for the records themselves. */
  readonly path: string;
}

export function parseModelRef(text: string): ModelRef {
  const at = text.indexOf('#');
  return at < 0 ? { model: text, path: '' } : { model: text.slice(0, at), path: text.slice(at + 1) };
}

const modelRef = z
  .string()
  .regex(MODEL_REF, 'must be a V3 model such as "accounting/invoices" or "accounting/invoices#line_items"');
const name = z.string().min(1).max(200);

export const idColumnSchema = z
  .strictObject({
    column: name.describe('Column with the ids; in NDJSON a JSON path; in CSV without header "#1", "#2", …'),
    path: name.optional().describe('JSON path of the ids in a JSON column of a table.'),
    model: modelRef.optional().describe('V3 model of the ids: "category/model", with "#field" for children.'),
    modelColumn: name.optional().describe('Instead: column (NDJSON: path) with the model of each row.'),
    models: z
      .record(z.string(), modelRef.nullable())
      .optional()
      .describe('The model for each value of modelColumn. null: rows with this value contain other ids.'),
    region: z.string().optional().describe('V3 region of all rows.'),
    regionColumn: name.optional().describe('Column (NDJSON: path) that names the V3 region of each row.'),
  })
  .superRefine((id, context) => {
    if ((id.model === undefined) === (id.modelColumn === undefined))
      context.addIssue('needs either model or modelColumn');
    if (id.models !== undefined && id.modelColumn === undefined)
      context.addIssue('has models without modelColumn');
    if (id.region !== undefined && id.regionColumn !== undefined)
      context.addIssue('has both region and regionColumn; name one');
  });

export type IdColumn = z.output<typeof idColumnSchema>;

/** `hasLines`: columns are JSON paths in a line of NDJSON. */
function idsOf(hasLines: boolean) {
  return z
    .array(idColumnSchema)
    .min(1)
    .superRefine((ids, context) => {
      for (const problem of findIdProblems(ids, hasLines)) context.addIssue(problem);
    })
    .readonly()
    .describe('The columns that contain ids.');
}

function findIdProblems(ids: readonly IdColumn[], hasLines: boolean): string[] {
  const paths = ids.flatMap(({ path, column, modelColumn, regionColumn }) =>
    (hasLines ? [column, modelColumn, regionColumn] : [path]).filter((text) => text !== undefined),
  );
  const wrong = paths.find((text) => parseJsonPath(text) === null);
  if (wrong !== undefined)
    return [`has "${wrong}", which is not a JSON path such as "$.invoice.id" or "$.ids[*]"`];
  return ids.flatMap((id, at) => {
    const others = ids.slice(at + 1).filter((other) => hasLines || isSameColumn(other, id));
    const twin = others.find((other) => selectSame(id, other, hasLines));
    if (twin !== undefined)
      return [`has ${columnLabel(id)} and ${columnLabel(twin)}, which can be the same value: name it once`];
    const differ = (key: 'modelColumn' | 'regionColumn') =>
      !hasLines && others.some((other) => (other[key] ?? id[key]) !== (id[key] ?? other[key]));
    return differ('modelColumn') || differ('regionColumn')
      ? [`has several modelColumns or regionColumns for ${id.column}: name one for all its paths`]
      : [];
  });
}

/** Ignores case, as SQLite does. */
function isSameColumn(a: IdColumn, b: IdColumn): boolean {
  return a.column.toLowerCase() === b.column.toLowerCase();
}

function selectSame(a: IdColumn, b: IdColumn, hasLines: boolean): boolean {
  const [one, two] = [a, b].map((id) => (hasLines ? id.column : id.path));
  const first = one === undefined ? null : parseJsonPath(one);
  const second = two === undefined ? null : parseJsonPath(two);
  return first === null || second === null || pathsOverlap(first, second);
}

const KINDS = '"csv", "ndjson", "sqlite", "postgres" or "mysql"';

function targetOf<Kind extends string>(kind: Kind) {
  return {
    name: name.describe('A name of your choice, used in commands and reports.'),
    kind: z.literal(kind).describe(`What it is: ${KINDS}.`),
  };
}

const file = z.string().min(1).describe('The file: CSV, NDJSON (one JSON value per line) or SQLite.');
const output = z
  .string()
  .min(1)
  .optional()
  .describe('The new file. Default: beside the old one, with .v4 in its name.');
const table = name.describe('Table. In PostgreSQL with its schema, if that is not on the search path.');
const ids = idsOf(false);

const csv = z.strictObject({
  ...targetOf('csv'),
  file,
  output,
  delimiter: z.enum(['auto', ',', ';', '\t', '|']).default('auto').describe('Field separator.'),
  header: z.boolean().default(true).describe('Whether the first row names the columns.'),
  ids,
});

const ndjson = z.strictObject({ ...targetOf('ndjson'), file, output, ids: idsOf(true) });
const sqlite = z.strictObject({ ...targetOf('sqlite'), file, table, ids });

export const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');

const server = {
  urlEnv: environmentName.describe('Environment variable that contains the connection string.'),
  tls: z
    .enum(['verified', 'unverified'])
    .optional()
    .describe('"unverified" accepts any certificate, and connections without TLS.'),
  table,
  ids,
};
const postgres = z.strictObject({ ...targetOf('postgres'), ...server });
const mysql = z.strictObject({ ...targetOf('mysql'), ...server });

export const applyTargetSchema = z.discriminatedUnion('kind', [csv, ndjson, sqlite, postgres, mysql], {
  error: `must be ${KINDS}`,
});

export const applySettings = z.strictObject({
  targets: z
    .array(applyTargetSchema)
    .superRefine((targets, context) => {
      const names = targets.map((target) => target.name);
      const twice = names.find((one, at) => names.indexOf(one) < at);
      if (twice !== undefined) context.addIssue(`names two targets "${twice}"`);
    })
    .prefault([])
    .describe('The tables and files that contain ids of the service.'),
});

export type ApplyTarget = z.output<typeof applyTargetSchema>;
export type CsvTarget = Extract<ApplyTarget, { kind: 'csv' }>;
export type NdjsonTarget = Extract<ApplyTarget, { kind: 'ndjson' }>;
export type FileTarget = CsvTarget | NdjsonTarget;
export type SqliteTarget = Extract<ApplyTarget, { kind: 'sqlite' }>;
export type ServerTarget = Extract<ApplyTarget, { kind: Server['kind'] }>;
export type TableTarget = SqliteTarget | ServerTarget;
export type DatabasePlace =
  | Pick<SqliteTarget, 'kind' | 'file'>
  | Pick<ServerTarget, 'kind' | 'urlEnv' | 'tls'>;

function isServer(target: ApplyTarget): target is ServerTarget {
  return SERVERS.some(({ kind }) => kind === target.kind);
}

export function isFile(target: ApplyTarget): target is FileTarget {
  return target.kind === 'csv' || target.kind === 'ndjson';
}

export function outputOf({ file: path, output: given }: Pick<FileTarget, 'file' | 'output'>): string {
  if (given !== undefined) return given;
  const base = basename(path);
  const dot = base.lastIndexOf('.');
  return join(dirname(path), dot <= 0 ? `${base}.v4` : `${base.slice(0, dot)}.v4${base.slice(dot)}`);
}

/** Makes the paths of a target absolute; relative ones are resolved against `folder`. */
export function resolveTarget(target: ApplyTarget, folder: string): ApplyTarget {
  if (isServer(target)) return target;
  const path = resolve(folder, target.file);
  if (target.kind === 'sqlite' || target.output === undefined) return { ...target, file: path };
  return { ...target, file: path, output: resolve(folder, target.output) };
}

export function columnLabel({ column, path }: Pick<IdColumn, 'column' | 'path'>): string {
  return path === undefined ? column : `${column} ${path}`;
}

export function modelLabel({ model, modelColumn }: Pick<IdColumn, 'model' | 'modelColumn'>): string {
  return model ?? `by ${modelColumn}`;
}
