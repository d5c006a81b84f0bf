import { parseIdPattern } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import { isIdText } from '../ids/model-ids.js';
import { compilePattern } from '../ids/pattern-resolver.js';
import { type ColumnSample, looksLikeJson, type ScopeColumns } from './column-sample.js';
import { type ColumnEvidence, MIN_VALUES, type Proposal, propose } from './propose.js';

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
