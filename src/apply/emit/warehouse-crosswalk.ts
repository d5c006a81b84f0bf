import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IdColumn, ModelRef } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { Db } from '../../store/open.js';
import * as z from '../../zod.js';
import { modelsByWord } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { categorySql } from '../ids/remap-ids.js';
import { quoteLiteral } from '../sql-names.js';
import { insertValues } from './crosswalk.js';
import { cellLiteral } from './emit-texts.js';
import type { WarehouseText } from './warehouse-texts.js';

/**
 * A table that a script creates for one id column: `old` and `new` id, `s0`, `s1`, … for the model, region and company
 * that tell equal ids apart, and `state`, one of `REWRITTEN` and `REFUSED`.
 */
export interface Crosswalk {
  readonly id: IdColumn;
  /** The table's name, as SQL. */
  readonly map: string;
  /** Statements that create and fill it. */
  readonly load: readonly string[];
  readonly rows: number;
  /** As `checksumSql` computes it. */
  readonly checksum: string;
}

/** States of a crosswalk row: its id is replaced by `new`, or `--missing fail` refuses it. */
export const REWRITTEN = 1;
export const REFUSED = 2;

interface CrosswalkOptions {
  readonly text: WarehouseText;
  readonly map: string;
  readonly idType: 'integer' | 'text';
  /** Where the files of `dump --format parquet` are; null: the rows are part of the SQL. */
  readonly parquet: string | null;
}

const ROWS_PER_INSERT = 1000;

const manifestSchema = z.object({ remapSha256: z.string() });

/**
 * Checks that a folder of Parquet files is of this remap, if the folder is on this machine. If it is not, the script
 * detects rows of another remap.
 *
 * @throws SvcError `bad_input`
 */
export function assertCrosswalk(folder: string, remapSha256: string): void {
  const file = join(folder, 'manifest.json');
  if (!existsSync(file)) return;
  const found = manifestSchema.safeParse(parseJson(readFileSync(file, 'utf8')));
  if (found.data?.remapSha256 === remapSha256) return;
  const sentence = `The crosswalk in ${folder} is not of this remap; no SQL was written.`;
  throw new SvcError('bad_input', sentence, {
    hint: `Write it again: svc-migrate dump --format parquet --output ${folder}`,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** An expression for the checksum of a crosswalk's rows. It depends on the ids and on which belong together. */
export function checksumSql(old: string, now: string, mod: (term: string, by: number) => string): string {
  return `coalesce(sum((${mod(old, 10007)} + 10007) * (${mod(`coalesce(${now}, 0)`, 9973)} + 9973)), 0)`;
}

/** The columns of a target that tell equal ids apart by region or company, each with its column of the remap. */
function scopeOf({
  regionColumn,
  companyColumn,
}: IdColumn): { readonly column: string; readonly remap: string }[] {
  return [
    ...(regionColumn === undefined ? [] : [{ column: regionColumn, remap: 'region' }]),
    ...(companyColumn === undefined ? [] : [{ column: companyColumn, remap: 'v3_company_id' }]),
  ];
}

/** The columns of a target that `s0`, `s1`, … of its crosswalk are compared with. */
export function scopeColumns(id: IdColumn): string[] {
  return [
    ...(id.modelColumn === undefined ? [] : [id.modelColumn]),
    ...scopeOf(id).map(({ column }) => column),
  ];
}

const SQLITE: Pick<WarehouseText, 'types' | 'literal'> = {
  types: { integer: 'INTEGER', text: 'TEXT' },
  literal: quoteLiteral,
};

/**
 * A query for the crosswalk rows of a model. Leaves out ids with several outcomes, which the script's checks then report
 * as unknown.
 */
function outcomesSql(
  { policy }: ApplyContext,
  id: IdColumn,
  [word, { path }]: readonly [word: string, ModelRef],
  { types, literal }: Pick<WarehouseText, 'types' | 'literal'>,
  { from, type }: { readonly from: string; readonly type: string },
): string {
  const scopes = scopeOf(id).map(({ remap }) => remap);
  const named = [
    ...(id.modelColumn === undefined ? [] : [literal(word)]),
    ...scopes.map((term) => `CAST(${term} AS ${types.text})`),
  ];
  // A new column holds V4 ids only.
  const kept = policy.mode === 'in_place' && policy.missing !== 'null' ? 'v3_svc_id' : 'NULL';
  const own = [
    `path = ${literal(path)}`,
    'v3_svc_id IS NOT NULL',
    ...(id.region === undefined ? [] : [`region = ${literal(id.region)}`]),
    ...(id.company === undefined ? [] : [`v3_company_id = ${id.company}`]),
  ];
  return `SELECT ${named.map((term, at) => `${term} AS s${at}, `).join('')}CAST(v3_svc_id AS ${type}) AS old,
  CAST(CASE WHEN min(category) = 'mapped' THEN min(v4_svc_id) ELSE ${kept} END AS ${type}) AS new,
  CASE WHEN min(category) = 'mapped' THEN ${REWRITTEN} ELSE ${policy.missing === 'fail' ? REFUSED : REWRITTEN} END AS state
FROM (SELECT region, v3_company_id, v3_svc_id, v4_svc_id, ${categorySql(policy.mapDeleted)} AS category
  FROM ${from} WHERE ${own.join(' AND ')}) AS r
GROUP BY ${[...scopes, 'v3_svc_id'].join(', ')}
HAVING min(category) = max(category) AND (min(category) <> 'mapped' OR min(v4_svc_id) = max(v4_svc_id))`;
}

/** Builds the crosswalk of a column. */
export function buildCrosswalk(context: ApplyContext, id: IdColumn, options: CrosswalkOptions): Crosswalk {
  const { text, map, idType, parquet } = options;
  const type = text.types[idType];
  const models = modelsByWord(context.ids, id);
  if (models.length === 0) {
    throw new SvcError('bad_input', `Column ${id.column} names no model; no SQL was written.`, {
      hint: 'Name a model in the "models" of the column, or leave the column out.',
    });
  }
  const outcomes = models
    .map((named) => {
      const from = `(SELECT * FROM remap NOT INDEXED WHERE model = ${quoteLiteral(named[1].model)}) AS o`;
      return `SELECT * FROM (${outcomesSql(context, id, named, SQLITE, { from, type: 'INTEGER' })})`;
    })
    .join('\nUNION ALL ');
  const columns = [
    ...scopeColumns(id).map((_, at) => `s${at} ${text.types.text}`),
    ...[`old ${type}`, `new ${type}`, `state ${text.types.integer}`],
  ];
  const insert = () =>
    models.flatMap((named) => {
      const folder = `${parquet}/model=${encodeURIComponent(named[1].model)}`;
      const { load, from, clear } = text.readParquet(folder, `${map}_files`);
      return [
        ...load,
        `INSERT INTO ${map} ${outcomesSql(context, id, named, text, { from, type })}`,
        ...clear,
      ];
    });
  return {
    id,
    map,
    ...summarize(context.remap, outcomes),
    load: [
      `DROP TABLE IF EXISTS ${map}`,
      `CREATE TABLE ${map}(${columns.join(', ')})${text.tableOptions}`,
      ...(parquet === null
        ? insertValues(map, readValues(context.remap, outcomes, id, options), ROWS_PER_INSERT)
        : insert()),
    ],
  };
}

function summarize(remap: Db, outcomes: string): Pick<Crosswalk, 'rows' | 'checksum'> {
  const checksum = checksumSql('old', 'new', (term, by) => `${term} % ${by}`);
  const sql = `SELECT count(*) AS rows, CAST(${checksum} AS TEXT) AS checksum FROM (${outcomes})`;
  const row = remap.prepare<[], { rows: bigint; checksum: string }>(sql).get();
  return { rows: Number(row?.rows ?? 0), checksum: row?.checksum ?? '0' };
}

/** The rows of a VALUES clause, each without its parentheses. */
function readValues(remap: Db, outcomes: string, id: IdColumn, { text, idType }: CrosswalkOptions): string[] {
  const scopes = scopeColumns(id).map((_, at) => `s${at}`);
  const order = [...scopes, 'CAST(old AS INTEGER)'].join(', ');
  return remap
    .prepare<[], (string | null)[]>(
      `SELECT ${scopes.map((scope) => `${scope}, `).join('')}CAST(old AS TEXT), CAST(new AS TEXT), CAST(state AS TEXT)
       FROM (${outcomes}) ORDER BY ${order}`,
    )
    .raw()
    .all()
    .map((cells) =>
      cells
        .map((cell, at) => {
          const isId = at === scopes.length || at === scopes.length + 1;
          const isText = at < scopes.length || (isId && idType === 'text');
          return cellLiteral(isText ? text.literal : String, cell);
        })
        .join(', '),
    );
}
