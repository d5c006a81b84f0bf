import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ModelPair, parseId, parseSvcId } from '../domain.js';
import { describeFileError, SvcError } from '../errors.js';
import { type OutputIo, writeOutput } from '../runtime/write-output.js';
import { csvCell } from '../text/escape.js';
import { didYouMeanClause } from '../text/suggest.js';
import * as z from '../zod.js';
import type { Config } from './config.js';

interface CsvFormat<Row> {
  /** Name for messages, such as `companies file`. */
  readonly what: string;
  /** The setting that names the file. */
  readonly setting: string;
  readonly header: string;
  /** The last column, if a file may leave it out. */
  readonly optional?: string;
  /** Past participle for messages on repeated names: `named`, `decided`. */
  readonly verb: string;
  /** For the hint: the things that may each be named once. */
  readonly unique: string;
  /** Parses a line; returns its row, or a problem as text. */
  readonly parseRow: (cells: readonly string[], line: number) => Row | string;
  /** Names that no other row may have. */
  readonly namesOf: (row: Row) => readonly { readonly name: string; readonly key?: string }[];
}

/** The rows of a file, and its problems by line. */
export interface ParsedCsv<Row> {
  readonly rows: Row[];
  readonly problems: string[];
}

function readCsvFile<Row>(file: string, format: CsvFormat<Row>): Row[] {
  const { rows, problems } = parseCsv(readText(file, format), format);
  if (problems.length === 0) return rows;
  throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, {
    hint: `The first line is ${format.header}; each ${format.unique} may be ${format.verb} once.`,
  });
}

function readText(file: string, { what, setting }: Pick<CsvFormat<unknown>, 'what' | 'setting'>): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SvcError('bad_input', `The ${what} ${file} cannot be read: ${describeFileError(cause)}.`, {
      hint: `Check ${setting} in the configuration.`,
      cause,
    });
  }
}

/**
 * Parses the text of a file into rows and problems. Blank lines and lines that start with `#` are skipped, even if a
 * spreadsheet put quotes around them.
 */
function parseCsv<Row>(text: string, format: CsvFormat<Row>): ParsedCsv<Row> {
  const { header, verb, parseRow, namesOf } = format;
  const rows: Row[] = [];
  const problems: string[] = [];
  const lineByKey = new Map<string, number>();
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const isSkipped = (line: string): boolean => /^\s*("?#|[,;]*\s*$)/.test(line);
  const first = lines.findIndex((line) => !isSkipped(line));
  if (first < 0 || !isHeader(splitCells(lines[first] ?? '')?.join(','), format)) {
    return { rows, problems: [`line ${Math.max(0, first) + 1}: the header must be ${header}`] };
  }
  for (const [at, text] of lines.entries()) {
    if (at <= first || isSkipped(text)) continue;
    const line = at + 1;
    const cells = splitCells(text);
    const row = cells === null ? 'a quotation mark is not closed or not doubled' : parseRow(cells, line);
    if (typeof row === 'string') {
      problems.push(`line ${line}: ${row}`);
      continue;
    }
    const names = namesOf(row).map(({ name, key = name }) => ({ name, key }));
    const taken = names.find(({ key }) => lineByKey.has(key));
    if (taken !== undefined) {
      problems.push(`line ${line}: ${taken.name} is ${verb} on line ${lineByKey.get(taken.key)} already`);
      continue;
    }
    for (const { key } of names) lineByKey.set(key, line);
    rows.push(row);
  }
  return { rows, problems };
}

function isHeader(
  line: string | undefined,
  { header, optional }: Pick<CsvFormat<unknown>, 'header' | 'optional'>,
) {
  return line === header || line === header.replace(`,${optional}`, '');
}

/** Splits a line into trimmed cells; null if its quotes are not valid. */
function splitCells(line: string): string[] | null {
  const cells: string[] = [];
  const cell = /(?:\s*"((?:[^"]|"")*)"\s*|((?!\s*")[^,]*))(,|$)/y;
  for (;;) {
    const found = cell.exec(line);
    if (found === null) return null;
    const [, quoted, plain = '', end] = found;
    cells.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}

/** A pair of companies named by the user. */
export interface NamedCompanyPair {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
}

export const COMPANIES_HEADER = 'region,v3_company_id,v4_company_id';

/**
 * The pairs in `companies.csv`; empty if no such file is configured.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCompaniesFile({ companies, v3 }: Pick<Config, 'companies' | 'v3'>): NamedCompanyPair[] {
  const { match } = companies;
  if (typeof match === 'string') return [];
  return readCsvFile(match.file, companiesFormat(v3.regions.map(({ region }) => region)));
}

/** The pairs of a companies file, and its problems by line. */
export function parseCompanies(text: string, regions: readonly string[]): ParsedCsv<NamedCompanyPair> {
  return parseCsv(text, companiesFormat(regions));
}

function companiesFormat(regions: readonly string[]): CsvFormat<NamedCompanyPair> {
  return {
    what: 'companies file',
    setting: 'companies.match.file',
    header: COMPANIES_HEADER,
    verb: 'named',
    unique: 'V3 and each V4 company',
    parseRow: ([region = '', v3 = '', v4 = '', ...more]) => {
      if (v4 === '' || more.length > 0) return 'needs exactly three values';
      if (!regions.includes(region)) {
        return `"${region}" is not a configured region${didYouMeanClause(region, regions)}`;
      }
      const v3CompanyId = parseId(v3);
      const v4CompanyId = parseId(v4);
      if (v3CompanyId === null) return `v3_company_id "${v3}" is not an id`;
      if (v4CompanyId === null) return `v4_company_id "${v4}" is not an id`;
      return { region, v3CompanyId, v4CompanyId };
    },
    // A V4 company belongs to at most one V3 company of all regions.
    namesOf: ({ region, v3CompanyId, v4CompanyId }) => [
      { name: `V3 company ${v3CompanyId} of ${region}` },
      { name: `V4 company ${v4CompanyId}` },
    ],
  };
}

/** A user's decision on one V3 id, or on a V4 id without a V3 record. */
export interface Decision {
  /** Line in the file, from 1. */
  readonly line: number;
  readonly model: string;
  /** '' for records, otherwise the children's field. */
  readonly path: string;
  readonly region: string;
  readonly v3CompanyId: bigint;
  /** Null: the V4 id has no V3 record. Never null together with `v4SvcId`. */
  readonly v3SvcId: bigint | null;
  /** Null: the V3 id has no V4 record. */
  readonly v4SvcId: bigint | null;
  readonly note: string;
  /** The decision holds before this day, UTC, as YYYY-MM-DD; null: for good. */
  readonly until: string | null;
}

/** The models and regions that lines may name. */
export interface DecisionPlaces {
  readonly models: readonly Pick<ModelPair, 'v3' | 'children'>[];
  readonly regions: readonly string[];
}

export const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';

/** Marks an id as undecided in a draft. */
const UNDECIDED = '?';

/**
 * The decisions in `decisions.csv`; empty if no such file is configured.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readDecisionsFile({
  decisions: file,
  models,
  v3,
}: Pick<Config, 'decisions' | 'models' | 'v3'>): Decision[] {
  if (file === null) return [];
  return readCsvFile(file, decisionsFormat({ models, regions: v3.regions.map(({ region }) => region) }));
}

/** The decisions in the text of a file, and its problems by line. */
export function parseDecisions(text: string, places: DecisionPlaces): ParsedCsv<Decision> {
  return parseCsv(text, decisionsFormat(places));
}

function decisionsFormat(places: DecisionPlaces): CsvFormat<Decision> {
  return {
    what: 'decisions file',
    setting: 'decisions',
    header: DECISIONS_HEADER,
    optional: 'until',
    verb: 'decided',
    unique: 'V3 id and each V4 id',
    parseRow: (cells, line) => parseDecision(line, cells, places),
    // V3 ids are unique in a model and region, V4 ids at least in a company's model.
    namesOf: ({ model, path, region, v3CompanyId, v3SvcId, v4SvcId }) => [
      ...(v3SvcId === null ? [] : [nameOf(`V3 id ${v3SvcId}`, model, path, region)]),
      ...(v4SvcId === null ? [] : [nameOf(`V4 id ${v4SvcId}`, model, path, region, String(v3CompanyId))]),
    ],
  };
}

function nameOf(name: string, ...scope: readonly string[]) {
  return { name, key: [name, ...scope].join('\0') };
}

const isoDate = z.iso.date();

/** Whether a decision no longer holds at a time, ms since 1970. */
export function isExpired({ until }: Pick<Decision, 'until'>, nowMs: number): boolean {
  return until !== null && nowMs >= Date.parse(until);
}

/** Parses a line; returns a decision, or a problem as text. Note and date are optional. */
function parseDecision(
  line: number,
  cells: readonly string[],
  { models, regions }: DecisionPlaces,
): Decision | string {
  const [model = '', path = '', region = '', company = '', v3 = '', v4 = '', note = '', until = '', ...more] =
    cells;
  if (cells.length < 6 || more.some((cell) => cell !== '')) return 'needs seven or eight values';
  const known = models.map((pair) => pair.v3);
  const children = models.find((pair) => pair.v3 === model)?.children;
  if (children === undefined) return `"${model}" is not a configured model${didYouMeanClause(model, known)}`;
  if (path !== '' && !children.includes(path)) {
    return `"${path}" is not a field with children of ${model}${didYouMeanClause(path, children)}`;
  }
  if (!regions.includes(region))
    return `"${region}" is not a configured region${didYouMeanClause(region, regions)}`;
  const v3CompanyId = parseId(company);
  if (v3CompanyId === null) return `v3_company_id "${company}" is not an id`;
  if (v3 === UNDECIDED || v4 === UNDECIDED) {
    return `"${UNDECIDED}" is not a decision: write the id, leave it empty for none, or begin the line with #`;
  }
  if (v3 === '' && v4 === '') return 'names neither a V3 id nor a V4 id';
  const v3SvcId = parseSvcId(v3);
  const v4SvcId = parseSvcId(v4);
  if (v3SvcId === null && v3 !== '') return `v3_svc_id "${v3}" is not an id`;
  if (v4SvcId === null && v4 !== '') return `v4_svc_id "${v4}" is not an id`;
  if (until !== '' && !isoDate.safeParse(until).success) {
    return `until "${until}" is not a date such as 2027-01-31`;
  }
  return {
    ...{ line, model, path, region, v3CompanyId, v3SvcId, v4SvcId, note },
    until: until === '' ? null : until,
  };
}

/** A file of answers: what it holds, and how to add a line. What is in it stays as it is. */
interface AnswerFile<Row> {
  readonly file: string;
  /** Whether the configuration names it. */
  readonly isConfigured: boolean;
  readonly rows: Row[];
  add(cells: readonly (string | bigint | null)[], row: Row): Promise<void>;
}

/** The decisions file that the configuration names, else `decisions.csv` beside the configuration. */
export function openDecisions(config: Config, io: OutputIo): AnswerFile<Omit<Decision, 'line'>> {
  const regions = config.v3.regions.map(({ region }) => region);
  return openAnswers(config.decisions ?? beside(config, 'decisions.csv'), {
    isConfigured: config.decisions !== null,
    header: DECISIONS_HEADER,
    parse: (text) => parseDecisions(text, { models: config.models, regions }),
    io,
  });
}

/** The companies file that the configuration names, else `companies.csv` beside the configuration. */
export function openCompanies(config: Config, io: OutputIo): AnswerFile<NamedCompanyPair> {
  const { match } = config.companies;
  const regions = config.v3.regions.map(({ region }) => region);
  return openAnswers(typeof match === 'string' ? beside(config, 'companies.csv') : match.file, {
    isConfigured: typeof match !== 'string',
    header: COMPANIES_HEADER,
    parse: (text) => parseCompanies(text, regions),
    io,
  });
}

function beside(config: Config, name: string): string {
  return join(dirname(config.file), name);
}

function openAnswers<Row>(
  file: string,
  {
    isConfigured,
    header,
    parse,
    io,
  }: {
    readonly isConfigured: boolean;
    readonly header: string;
    readonly parse: (text: string) => { readonly rows: Row[]; readonly problems: readonly string[] };
    readonly io: OutputIo;
  },
): AnswerFile<Row> {
  let text = existsSync(file) ? readFileSync(file, 'utf8') : `${header}\n`;
  const { rows, problems } = parse(text);
  if (problems.length > 0) {
    throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, {
      hint: 'Correct these lines first: answers are added below them.',
    });
  }
  return {
    file,
    isConfigured,
    rows,
    add: async (cells, row) => {
      const end = text === '' || text.endsWith('\n') ? '' : '\n';
      text += `${end}${cells.map((cell) => csvCell(cell === null ? '' : String(cell))).join(',')}\n`;
      await writeOutput({ target: file, chunks: () => [text] }, io);
      rows.push(row);
    },
  };
}
