import { formatModelRef, type ModelRef, parseIdPattern } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import * as z from '../../zod.js';
import { isIdText } from '../ids/model-ids.js';
import { compilePattern } from '../ids/pattern-resolver.js';
import { type ColumnSample, looksLikeJson, type ScopeColumns } from './column-sample.js';

const count = z.int().min(0);

/** How a column's values agree with the ids of one model. */
const overlapSchema = z.strictObject({
  model: z.string(),
  /** Distinct values that are V3 ids of the model, V4 ids of it, and both. */
  v3: count,
  v4: count,
  both: count,
  /** V3 ids among them that stand for several records, which no column beside them tells apart. */
  shared: count,
  /** Share of V3 ids among all numbers in the range of the values: the overlap of an unrelated column. */
  chance: z.number(),
});
type Overlap = Readonly<z.output<typeof overlapSchema>>;

/** A column, and how its values overlap with the ids of each model. */
export interface ColumnEvidence {
  readonly sample: ColumnSample;
  /** Distinct values seen. */
  readonly seen: number;
  readonly overlaps: readonly Overlap[];
}

const PROBES = 200;
/** Steps of the golden ratio spread evenly over a range, without a period. */
const GOLDEN = 0.618_033_988_749_895;

/** Sample numbers of a range, both ends included: all of them if there are few. */
function probes([low, high]: readonly [bigint, bigint]): bigint[] {
  const span = high - low + 1n;
  if (span <= BigInt(PROBES)) return Array.from({ length: Number(span) }, (_, at) => low + BigInt(at));
  return Array.from({ length: PROBES }, (_, at) => {
    const part = BigInt(Math.floor(((at * GOLDEN) % 1) * 2 ** 53));
    return low + ((span * part) >> 53n);
  });
}

/** Prepares to compare samples with the ids of every model in the remap; `scopes`: the columns beside them. */
export function prepareEvidence(
  db: Db,
  refs: readonly ModelRef[],
  scopes: readonly ScopeColumns[],
): (sample: ColumnSample) => ColumnEvidence {
  const prepare = (id: 'v3_svc_id' | 'v4_svc_id', by: string) =>
    db
      .prepare<[string, bigint, string], number>(
        `SELECT count(*) AS n FROM remap WHERE model = ? AND ${id} = ? AND path = ? GROUP BY ${by} ORDER BY n DESC LIMIT 1`,
      )
      .pluck();
  const isV4 = prepare('v4_svc_id', 'NULL');
  const overlapOf = (
    { model, path }: ModelRef,
    ids: readonly bigint[],
    range: readonly [bigint, bigint],
    isV3: ReturnType<typeof prepare>,
  ): Overlap => {
    const counts = { v3: 0, v4: 0, both: 0, shared: 0 };
    for (const id of ids) {
      const [v3 = 0, v4 = 0] = [isV3.get(model, id, path), isV4.get(model, id, path)];
      if (v3 > 0) counts.v3 += 1;
      if (v4 > 0) counts.v4 += 1;
      if (v3 > 0 && v4 > 0) counts.both += 1;
      if (v3 > 1) counts.shared += 1;
    }
    const others = counts.v3 === 0 ? [] : probes(range);
    const hits = others.filter((id) => isV3.get(model, id, path) !== undefined).length;
    const chance = others.length === 0 ? 0 : hits / others.length;
    return { model: formatModelRef({ model, path }), ...counts, chance };
  };
  return (sample) => {
    const ids = [...sample.values].filter(isIdText).map(BigInt);
    const [first = 0n] = ids;
    const low = ids.reduce((least, id) => (id < least ? id : least), first);
    const high = ids.reduce((most, id) => (id > most ? id : most), first);
    const scope = scopes.find(({ table }) => table === sample.table);
    const by = [scope?.regionColumn && 'region', scope?.companyColumn && 'v3_company_id'].filter(Boolean);
    const isV3 = prepare('v3_svc_id', by.join(', ') || 'NULL');
    const all = ids.length === 0 ? [] : refs.map((ref) => overlapOf(ref, ids, [low, high], isV3));
    return { sample, seen: sample.values.size, overlaps: all.filter(({ v3, v4 }) => v3 + v4 > 0) };
  };
}

/**
 * How sure a proposal is. `likely`: nearly every value is a V3 id of one model, and the column's name or the rarity of
 * such numbers confirms it. `possible`: worth checking. `by_chance`: small numbers that are V3 ids of any model. `v4`:
 * mostly V4 ids. `rewritten`: a run wrote the column. `none`: no ids.
 */
const standing = z.enum(['likely', 'possible', 'by_chance', 'v4', 'rewritten', 'none']);

/** A column or path, and whether it holds ids, as the JSON of `apply find` has it. */
export const proposalSchema = z.strictObject({
  table: z.string().nullable(),
  column: z.string(),
  path: z.string().nullable(),
  pattern: z.string().nullable().describe('A pattern that finds the ids in longer text.'),
  standing,
  model: z.string().nullable().describe('The model that fits best.'),
  isNamed: z.boolean().describe('Whether the name of the column matches the model.'),
  seen: count.describe('Distinct values seen.'),
  isWhole: z.boolean().describe('Whether these are all values.'),
  overlaps: z.array(overlapSchema).readonly(),
});
export interface Proposal extends Readonly<z.output<typeof proposalSchema>> {
  /** The overlap with the model that fits best; null if none does. */
  readonly best: Overlap | null;
  /** The run that wrote these values; null if none did. */
  readonly run: string | null;
}

/** Smallest share of V3 ids in a `likely` column. */
const MIN_SHARE_LIKELY = 0.9;
/** Smallest share of V3 ids in a column that is proposed at all. */
const MIN_SHARE = 0.5;
/** Columns with fewer values are no evidence. */
const MIN_VALUES = 3;
/** How far a share must be above `chance` to be evidence without a fitting name. */
const MIN_ABOVE_CHANCE = 0.25;

/** Judges a column by its evidence. */
export function propose(evidence: ColumnEvidence): Proposal {
  const { seen, sample, overlaps } = evidence;
  const names = `${sample.column} ${sample.path ?? ''}`;
  const ranked = overlaps
    .map((overlap) => ({ overlap, isNamed: isNamedFor(names, overlap.model), share: overlap.v3 / seen }))
    .sort(
      (a, b) =>
        Number(b.isNamed) - Number(a.isNamed) || b.share - a.share || a.overlap.chance - b.overlap.chance,
    );
  const isV4 = ({ v3, v4 }: Overlap) => v4 / seen >= MIN_SHARE_LIKELY && v4 > v3;
  // A fitting name is no evidence for a model that has few of the values.
  const top = ranked.find(({ share, overlap }) => share >= MIN_SHARE || isV4(overlap)) ?? ranked[0];
  const others = ranked.filter((one) => one !== top);
  const { table, column, path, isWhole, run } = sample;
  const own = { table, column, path, pattern: null, seen, isWhole, overlaps, run };
  if (top === undefined) return { ...own, standing: 'none', best: null, model: null, isNamed: false };
  const found = { ...own, best: top.overlap, model: top.overlap.model, isNamed: top.isNamed };
  if (sample.run !== null) return { ...found, standing: 'rewritten' };
  if (isV4(top.overlap)) return { ...found, standing: 'v4' };
  if (top.share < MIN_SHARE) return { ...found, standing: 'none' };
  const isAlone = top.isNamed
    ? !others.some((one) => one.isNamed && one.share >= MIN_SHARE_LIKELY)
    : top.overlap.chance <= MIN_SHARE && !others.some((one) => one.share > top.share / 2);
  const isKeyOnly = sample.isKey && !top.isNamed;
  if (top.share >= MIN_SHARE_LIKELY && isAlone && !isKeyOnly && seen >= MIN_VALUES)
    return { ...found, standing: 'likely' };
  if (top.isNamed || top.share - top.overlap.chance >= MIN_ABOVE_CHANCE)
    return { ...found, standing: 'possible' };
  return { ...found, standing: 'by_chance' };
}

/** Whether the column's name contains every word of the model's: `invoice_id`, `creditNoteId`. */
function isNamedFor(column: string, model: string): boolean {
  const words = new Set(wordsOf(column));
  const [, path] = model.split('#');
  const own = wordsOf(path ?? model.slice(model.indexOf('/') + 1));
  return own.length > 0 && own.every((word) => words.has(word));
}

/** Lower-case words, singular. */
function wordsOf(text: string): string[] {
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1'));
}

type EvidenceOf = (sample: ColumnSample) => ColumnEvidence;

/** Texts of one form: the fixed texts around their runs of digits; `null` stands for any text. */
interface TextForm {
  readonly around: readonly (string | null)[];
  /** The runs of digits of each text. */
  readonly runs: readonly (readonly string[])[];
}

/** Most forms that are looked at: a column of free text has one for each value. */
const MAX_FORMS = 50;

/**
 * Proposes patterns for a column whose values are strings with ids inside. Their models are named in the patterns. Empty if
 * the values are ids themselves.
 */
export function proposePatterns(sample: ColumnSample, evidenceOf: EvidenceOf): Proposal[] {
  // In tables, JSON paths are looked at instead.
  const isJson = (text: string) => sample.table !== null && looksLikeJson(text);
  const texts = [...sample.values].filter((text) => /\d/.test(text) && !isJson(text));
  if (texts.length < MIN_VALUES || texts.every(isIdText)) return [];
  const proposeAll = (forms: readonly TextForm[]) =>
    groupForms(forms).flatMap((form) => proposeForm(form, sample, evidenceOf));
  const exact = proposeAll(texts.map(exactForm));
  const fits = fittingOf(exact);
  const inside = proposeAll(texts.filter((text) => !fits(text)).flatMap(formsInside));
  // A text that fits two patterns would not be rewritten.
  const covers = fittingOf(inside);
  const apart = exact.filter(
    ({ pattern }) =>
      pattern !== null && !texts.some((text) => covers(text) && fittingOf([{ pattern }])(text)),
  );
  const found = [...apart, ...inside];
  return found.every(({ pattern }) => /^\{[^{}]*\}$/.test(pattern ?? '')) ? [] : found;
}

function fittingOf(proposals: readonly Pick<Proposal, 'pattern'>[]): (text: string) => boolean {
  const matches = proposals.flatMap(({ pattern }) => {
    const parts = parseIdPattern(pattern ?? '');
    return typeof parts === 'string' ? [] : [compilePattern(parts)];
  });
  return (text) => matches.some((match) => match(text) !== null);
}

function exactForm(text: string): TextForm {
  return { around: text.split(/\d+/), runs: [text.match(/\d+/g) ?? []] };
}

/** One form for each run of digits: the word before it and the character after it. */
function formsInside(text: string): TextForm[] {
  return [...text.matchAll(/(?<=([^\p{L}\d]?\p{L}+[^\p{L}\d]+))\d+(.?)/gsu)].map((match) => {
    const [run = ''] = /^\d+/.exec(match[0]) ?? [];
    const [, before = '', after = ''] = match;
    return { around: [null, before, after, ...(after === '' ? [] : [null])], runs: [[run]] };
  });
}

/** Groups equal forms; forms with fewer than `MIN_VALUES` values are left out. */
function groupForms(forms: readonly TextForm[]): TextForm[] {
  const groups = new Map<string, TextForm>();
  for (const { around, runs } of forms) {
    const key = JSON.stringify(around);
    groups.set(key, { around, runs: [...(groups.get(key)?.runs ?? []), ...runs] });
  }
  return [...groups.values()].filter(({ runs }) => runs.length >= MIN_VALUES).slice(0, MAX_FORMS);
}

/** Standings of columns that probably hold ids, the surest first. */
const SUREST_FIRST: readonly Proposal['standing'][] = ['likely', 'possible'];

/** The pattern of a form: runs of digits that are ids of a model become placeholders, others fixed digits or any text. */
function proposeForm({ around, runs }: TextForm, sample: ColumnSample, evidenceOf: EvidenceOf): Proposal[] {
  const ids: Proposal[] = [];
  let pattern = '';
  let at = 0;
  for (const [nth, text] of around.entries()) {
    pattern += text === null ? '*' : escapePattern(text);
    const isBeforeRun = around[0] === null ? nth === 1 : nth < around.length - 1;
    if (!isBeforeRun) continue;
    const values = new Set(runs.map((own) => own[at] ?? ''));
    at += 1;
    const found = propose(
      evidenceOf({ ...sample, column: `${sample.column} ${text}`, values, isKey: false }),
    );
    const isId = SUREST_FIRST.includes(found.standing) && found.model !== null;
    if (isId) ids.push(found);
    pattern += isId ? `{${found.model}}` : values.size === 1 ? [...values].join('') : '*';
  }
  const worst = ids.sort((a, b) => SUREST_FIRST.indexOf(b.standing) - SUREST_FIRST.indexOf(a.standing))[0];
  if (worst === undefined || typeof parseIdPattern(pattern) === 'string') return [];
  return [{ ...worst, column: sample.column, pattern }];
}

function escapePattern(text: string): string {
  return text.replace(/[{}]/g, '$&$&').replace(/[*…]/g, '{$&}');
}

/**
 * Finds, for each table, the only column whose values are all regions of the remap, and the only one whose values are all
 * companies of it. Small numbers match company ids by chance: such a column must be named after companies, or hold all of them.
 */
export function proposeScopes(db: Db, columns: readonly ColumnSample[]): ScopeColumns[] {
  const { regions, companies } = readScopes(db);
  const isNamed = ({ column }: ColumnSample) => /compan(?:y|ies)/i.test(column);
  const holdsRegions = ({ values }: ColumnSample) => isWithin(values, regions);
  const holdsCompanies = (one: ColumnSample) =>
    isWithin(one.values, companies) &&
    (isNamed(one) || (one.values.size === companies.size && companies.size >= MIN_VALUES));
  return [...new Set(columns.map(({ table }) => table))].flatMap((table) => {
    const own = columns.filter((one) => one.table === table && hasOneValuePerRow(one));
    const [region, otherRegion] = regions.size > 1 ? own.filter(holdsRegions) : [];
    const [company, otherCompany] = companies.size > 1 ? own.filter(holdsCompanies) : [];
    const found = {
      ...(region === undefined || otherRegion !== undefined ? {} : { regionColumn: region.column }),
      ...(company === undefined || otherCompany !== undefined ? {} : { companyColumn: company.column }),
    };
    return Object.keys(found).length === 0 ? [] : [{ table, ...found }];
  });
}

/** Whether each row has exactly one value of a column that is not its key: false for paths inside JSON and lists. */
function hasOneValuePerRow({ path, column, isKey }: ColumnSample): boolean {
  return path === null && !column.includes('[*]') && !isKey;
}

function isWithin(values: ReadonlySet<string>, known: ReadonlySet<string>): boolean {
  return values.size > 0 && [...values].every((value) => known.has(value));
}

function readScopes(db: Db): {
  readonly regions: ReadonlySet<string>;
  readonly companies: ReadonlySet<string>;
} {
  const rows = db
    .prepare<[], [string | null, bigint | null]>('SELECT DISTINCT region, v3_company_id FROM remap_group')
    .raw()
    .all();
  const texts = (cells: readonly (string | bigint | null)[]) =>
    new Set(cells.flatMap((cell) => (cell === null ? [] : [String(cell)])));
  return {
    regions: texts(rows.map(([region]) => region)),
    companies: texts(rows.map(([, company]) => company)),
  };
}
