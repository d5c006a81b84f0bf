import { closeSync, openSync, readSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Node } from 'jsonc-parser';
import { parseModelRef } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { findColumn, isOwnTable } from './crosswalk.js';
import type { ColumnFacts, Database, TableFacts } from './db/database.js';
import { isIdText, parseDocument, readNode } from './judge.js';
import type { RemapIds } from './remap-ids.js';
import { readStates } from './state.js';
import { tableSql } from './statements.js';

/**
 * Whether a column holds V3 ids. `likely`: nearly every value is a V3 id of one model, and its name, the rarity of such
 * numbers, or many scattered values without an exception confirm it. `possible`: worth a look. `by_chance`: keys and
 * quantities would match as well. `v4`: mostly V4 ids. `rewritten`: svc-migrate wrote it.
 */
export type Standing = 'likely' | 'possible' | 'by_chance' | 'v4' | 'rewritten' | 'none';

export interface Proposal {
  readonly table: string | null;
  readonly column: string;
  /** The JSON path of the ids; null if they stand alone. */
  readonly path: string | null;
  readonly standing: Standing;
  readonly model: string | null;
  /** The region that has nearly all ids, where there are several; null if more than one has. */
  readonly region: string | null;
  /** The column that names the region of each row, if the table has one. */
  readonly regionColumn: string | null;
  /** Distinct values that were seen, and those that are V3 ids and V4 ids of the model. */
  readonly seen: number;
  readonly v3: number;
  readonly v4: number;
}

export interface FindResult {
  readonly columns: readonly Proposal[];
  readonly unseen: readonly { readonly what: string; readonly why: string }[];
}

const SAMPLE_ROWS = 20_000;
const SAMPLE_VALUES = 500;
const MIN_LIKELY = 0.9;
const MIN_POSSIBLE = 0.5;
/** A column of unrelated numbers can match a model to this degree. */
const MAX_CHANCE = 0.3;
/** Fewer distinct values may be quantities. */
const MIN_SCATTERED = 30;
/** Numbers that fill more of their range count something up, such as a key. */
const MAX_FILLED = 0.5;
/** More ids than this in another region leave the region open. */
const MAX_ELSEWHERE = 0.1;
const PROBES = 100;

export async function findIds(db: Database, remap: RemapIds): Promise<FindResult> {
  const columns: Proposal[] = [];
  const unseen: FindResult['unseen'][number][] = [];
  const states = await readStates(db);
  for (const { schema, name, obstacle } of await db.listTables()) {
    if (isOwnTable(name)) continue;
    const what = schema === null ? name : `${schema}.${name}`;
    if (obstacle !== null) {
      unseen.push({ what, why: obstacle });
      continue;
    }
    try {
      const facts = await db.introspect(what);
      const written = states.filter(({ table }) => table === facts?.table).map(({ column }) => column);
      if (facts !== null) columns.push(...(await findInTable(db, facts, written, remap)));
    } catch (error) {
      if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
      unseen.push({ what, why: error.message });
    }
  }
  return { columns, unseen };
}

async function findInTable(
  db: Database,
  facts: TableFacts,
  written: readonly string[],
  remap: RemapIds,
): Promise<Proposal[]> {
  const has = (name: string) => findColumn(db, facts, name) !== undefined;
  // By their names too: a table may have been renamed, or what was recorded of it dropped.
  const isRewritten = (name: string) =>
    written.includes(name) ||
    has(`${name}_v3`) ||
    has(`${name}_v4`) ||
    (/_v[34]$/.test(name) && has(name.slice(0, -3)));
  const samples: Sample[] = [];
  for (const column of facts.columns.filter(({ holds }) => holds !== 'other')) {
    const values = isRewritten(column.name) ? [] : await sampleColumn(db, facts, column);
    samples.push({ column: column.name, values });
  }
  return proposeAll(facts.table, samples, remap).map((proposal) =>
    isRewritten(proposal.column) ? { ...proposal, standing: 'rewritten' } : proposal,
  );
}

const NOTHING = { path: null, standing: 'none', model: null, region: null, seen: 0, v3: 0, v4: 0 } as const;

async function sampleColumn(db: Database, facts: TableFacts, column: ColumnFacts): Promise<string[]> {
  const cell = db.exact(column, `t.${db.quote(column.name)}`);
  const rows = await db.query(
    `select distinct v from (select ${cell} as v from ${tableSql(db, facts)} as t limit ${SAMPLE_ROWS}) as s
     where v is not null limit ${SAMPLE_VALUES}`,
  );
  return rows.map(([value]) => String(value));
}

interface Sample {
  readonly column: string;
  readonly values: readonly string[];
}

function proposeAll(table: string | null, samples: readonly Sample[], remap: RemapIds): Proposal[] {
  const { regions } = remap;
  const isRegions = ({ values }: Sample) =>
    values.length > 0 && values.every((value) => regions.includes(value));
  const regionColumn = regions.length > 1 ? (samples.find(isRegions)?.column ?? null) : null;
  return samples.flatMap(({ column, values }) => propose({ table, column, regionColumn }, values, remap));
}

function propose(
  place: Pick<Proposal, 'table' | 'column' | 'regionColumn'>,
  values: readonly string[],
  remap: RemapIds,
): Proposal[] {
  if (values.length > 0 && values.every((value) => /^\s*[[{]/.test(value))) {
    return [...pathsIn(values)].map(([path, ids]) => ({
      ...place,
      ...judgeSample(`${place.column} ${path}`, [...ids], remap),
      path,
    }));
  }
  return [{ ...place, ...judgeSample(place.column, values, remap), path: null }];
}

function judgeSample(
  name: string,
  values: readonly string[],
  remap: RemapIds,
): Omit<Proposal, 'table' | 'column' | 'path' | 'regionColumn'> {
  const ids = values.filter(isIdText).map(BigInt);
  const fits = ids.length === 0 ? [] : remap.models.map((model) => fitOf(model, name, ids, remap));
  const rank = ({ v3, isNamed }: Fit) => v3 * 2 + (isNamed ? 1 : 0);
  const best = fits.reduce<Fit | null>((a, b) => (a === null || rank(b) > rank(a) ? b : a), null);
  if (best === null || best.v3 + best.v4 === 0) return { ...NOTHING, seen: values.length };
  const { model, v3, v4 } = best;
  return {
    standing: standingOf(best, ids, values.length, remap),
    model,
    region: regionOf(model, ids, remap),
    seen: values.length,
    v3,
    v4,
  };
}

interface Fit {
  readonly model: string;
  readonly isNamed: boolean;
  readonly v3: number;
  readonly v4: number;
}

function fitOf(model: string, name: string, ids: readonly bigint[], remap: RemapIds): Fit {
  let v3 = 0;
  let v4 = 0;
  for (const id of ids) {
    if (isV3(remap, model, null, id)) v3 += 1;
    else if (remap.judge(model, null, id).reason === 'unknown/known_as_v4_only') v4 += 1;
  }
  return { model, isNamed: isNamedAfter(name, model), v3, v4 };
}

function standingOf(
  { model, isNamed, v3, v4 }: Fit,
  ids: readonly bigint[],
  seen: number,
  remap: RemapIds,
): Standing {
  if (v4 > v3) return 'v4';
  const share = v3 / seen;
  if (share < MIN_POSSIBLE) return 'none';
  if (share < MIN_LIKELY) return isNamed ? 'possible' : 'none';
  if (isNamed) return 'likely';
  const isWhole = v3 === seen && seen >= MIN_SCATTERED && seen / Number(spanOf(ids)) <= MAX_FILLED;
  return isWhole || chanceOf(model, ids, remap) <= MAX_CHANCE ? 'likely' : 'by_chance';
}

/** Also where regions or companies use the id for different records. */
function isV3(remap: RemapIds, model: string, region: string | null, id: bigint): boolean {
  const { reason } = remap.judge(model, region, id);
  return reason?.startsWith('unknown/') !== true || reason === 'unknown/several_scopes';
}

function regionOf(model: string, ids: readonly bigint[], remap: RemapIds): string | null {
  const shares = remap.regions.map((region) => ({
    region,
    share: ids.filter((id) => isV3(remap, model, region, id)).length / ids.length,
  }));
  const [only, ...others] = shares.filter(({ share }) => share > MAX_ELSEWHERE);
  return shares.length > 1 && others.length === 0 && only !== undefined && only.share >= MIN_LIKELY
    ? only.region
    : null;
}

/** The share of V3 ids among all numbers in the range of the values. */
function chanceOf(model: string, ids: readonly bigint[], remap: RemapIds): number {
  const low = leastOf(ids);
  const span = spanOf(ids);
  const count = span < BigInt(PROBES) ? Number(span) : PROBES;
  const hits = Array.from({ length: count }, (_, at) => low + (span * BigInt(at)) / BigInt(count)).filter(
    (id) => isV3(remap, model, null, id),
  );
  return hits.length / count;
}

const leastOf = (ids: readonly bigint[]) => ids.reduce((a, b) => (b < a ? b : a));
const spanOf = (ids: readonly bigint[]) => ids.reduce((a, b) => (b > a ? b : a)) - leastOf(ids) + 1n;

/** `invoice_id` is named after `accounting/invoices`, `lineItemId` after `accounting/invoices#line_items`. */
export function isNamedAfter(name: string, ref: string): boolean {
  const { model, path } = parseModelRef(ref);
  const words = (text: string) =>
    text
      .replace(/([a-z])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .split(/[^a-z]+/)
      .map((word) => word.replace(/ies$/, 'y').replace(/s$/, ''))
      .filter((word) => word !== '' && word !== 'id');
  const wanted = words(path === '' ? (model.split('/')[1] ?? model) : path);
  const given = words(name);
  return (
    wanted.length > 0 && (wanted.every((word) => given.includes(word)) || given.at(-1) === wanted.at(-1))
  );
}

/** The integers at each path of JSON texts; items of arrays share a path. */
function pathsIn(texts: readonly string[]): Map<string, Set<string>> {
  const paths = new Map<string, Set<string>>();
  const walk = (text: string, node: Node, path: string): void => {
    const children = node.children ?? [];
    if (node.type === 'array') for (const item of children) walk(text, item, `${path}[*]`);
    else if (node.type === 'object')
      for (const { children: [name, inner] = [] } of children)
        walk(text, must(inner), `${path}${stepOf(String(must(name).value))}`);
    else {
      const id = readNode(text, node) ?? '';
      if (isIdText(id)) paths.set(path, (paths.get(path) ?? new Set()).add(id));
    }
  };
  for (const text of texts) {
    const document = parseDocument(text);
    if (document !== null) walk(text, document, '$');
  }
  return paths;
}

const stepOf = (name: string) => (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name) ? `.${name}` : `['${name}']`);

const SAMPLE_BYTES = 2 ** 21;

export function findInFile(file: string, kind: 'csv' | 'ndjson', remap: RemapIds): FindResult {
  const lines = readStart(file).split('\n');
  // The last line may be cut.
  const text = lines.length > 2 ? lines.slice(0, -1).join('\n') : lines.join('\n');
  const columns = kind === 'csv' ? findInCsv(text, remap) : findInLines(text.split('\n'), remap);
  return { columns, unseen: [] };
}

function readStart(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(SAMPLE_BYTES);
    return bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, 0)).toString();
  } finally {
    closeSync(handle);
  }
}

function findInCsv(text: string, remap: RemapIds): Proposal[] {
  const [head = []] = parse(text, {
    to: 1,
    bom: true,
    relaxColumnCount: true,
    delimiter: [',', ';', '\t', '|'],
  });
  const rows = parse(text, {
    bom: true,
    relaxColumnCount: true,
    relaxQuotes: true,
    skipRecordsWithError: true,
    delimiter: [',', ';', '\t', '|'],
    fromLine: 2,
  });
  const samples = head.map((column, at) => {
    const values = new Set(rows.map((row) => row[at] ?? '').filter((value) => value !== ''));
    return { column, values: [...values] };
  });
  return proposeAll(null, samples, remap);
}

function findInLines(lines: readonly string[], remap: RemapIds): Proposal[] {
  const values = lines.map((line) => line.trim()).filter((line) => line !== '');
  return propose({ table: null, column: '', regionColumn: null }, values, remap).flatMap((proposal) =>
    proposal.path === null ? [] : [{ ...proposal, column: proposal.path, path: null }],
  );
}
