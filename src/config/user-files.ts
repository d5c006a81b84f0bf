import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Decision, type ModelPair, type NamedCompanyPair, parseId, parseSvcId } from '../domain.js';
import { describeFileError, SvcError } from '../errors.js';
import { type OutputIo, writeOutput } from '../runtime/write-output.js';
import { csvCell } from '../text/escape.js';
import { didYouMeanClause } from '../text/suggest.js';
import * as z from '../zod.js';
import type { Config } from './config.js';

export const COMPANIES_HEADER = 'region,v3_company_id,v4_company_id';

export const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';

/** The models and regions that lines may name. */
export interface DecisionPlaces {
  readonly models: readonly Pick<ModelPair, 'v3' | 'children'>[];
  readonly regions: readonly string[];
}

/** The rows of a file, and its problems by line. */
interface ParsedCsv<Row> {
  readonly rows: Row[];
  readonly problems: string[];
}

/** A CSV file of answers by the user. */
interface UserFile<Row> {
  readonly header: string;
  /** Parses a line; returns its row, or a problem as text. */
  readonly parseRow: (cells: readonly string[], line: number) => Row | string;
  /** What no two rows may name; `scope` makes names of different things differ. */
  readonly namesOf: (row: Row) => readonly { readonly name: string; readonly scope?: readonly string[] }[];
  /** Past participle for messages on repeated names: `named`, `decided`. */
  readonly verb: string;
}

/** Where a user file is, and the setting that names it. */
interface FilePlace {
  readonly file: string;
  readonly setting: string;
  /** Whether the configuration names it, or it is only the usual one beside the configuration. */
  readonly isConfigured: boolean;
}

/** The pairs of a companies file, and its problems by line. */
export function parseCompanies(text: string, regions: readonly string[]): ParsedCsv<NamedCompanyPair> {
  return parseCsv(text, {
    header: COMPANIES_HEADER,
    verb: 'named',
    parseRow: ([region = '', v3 = '', v4 = '', ...more], line) => {
      if (v4 === '' || more.length > 0) return 'needs exactly three values';
      if (!regions.includes(region)) return unknownName('region', region, regions);
      const v3CompanyId = parseId(v3);
      const v4CompanyId = parseId(v4);
      if (v3CompanyId === null) return `v3_company_id "${v3}" is not an id`;
      if (v4CompanyId === null) return `v4_company_id "${v4}" is not an id`;
      return { line, region, v3CompanyId, v4CompanyId };
    },
    // A V4 company belongs to at most one V3 company of all regions.
    namesOf: ({ region, v3CompanyId, v4CompanyId }) => [
      { name: `V3 company ${v3CompanyId} of ${region}` },
      { name: `V4 company ${v4CompanyId}` },
    ],
  });
}

/** The decisions in the text of a file, and its problems by line. */
export function parseDecisions(text: string, places: DecisionPlaces): ParsedCsv<Decision> {
  return parseCsv(text, {
    header: DECISIONS_HEADER,
    verb: 'decided',
    parseRow: (cells, line) => parseDecision(line, cells, places),
    // V3 ids are unique in a model and region, V4 ids at least in a company's model.
    namesOf: ({ model, path, region, v3CompanyId, v3SvcId, v4SvcId }) => {
      const scope = [model, path, region];
      return [
        ...(v3SvcId === null ? [] : [{ name: `V3 id ${v3SvcId}`, scope }]),
        ...(v4SvcId === null ? [] : [{ name: `V4 id ${v4SvcId}`, scope: [...scope, String(v3CompanyId)] }]),
      ];
    },
  });
}

/** Marks an id as undecided in a draft. */
const UNDECIDED = '?';
const isoDate = z.iso.date();

/** Parses a line; returns a decision, or a problem as text. Note and date are optional. */
function parseDecision(
  line: number,
  cells: readonly string[],
  { models, regions }: DecisionPlaces,
): Decision | string {
  const [model = '', path = '', region = '', company = '', v3 = '', v4 = '', note = '', until = '', ...more] =
    cells;
  if (cells.length < 6 || more.some((cell) => cell !== '')) return 'needs seven or eight values';
  const children = models.find((pair) => pair.v3 === model)?.children;
  if (children === undefined)
    return unknownName(
      'model',
      model,
      models.map((pair) => pair.v3),
    );
  if (path !== '' && !children.includes(path))
    return `"${path}" is not a field with children of ${model}${didYouMeanClause(path, children)}`;
  if (!regions.includes(region)) return unknownName('region', region, regions);
  const v3CompanyId = parseId(company);
  if (v3CompanyId === null) return `v3_company_id "${company}" is not an id`;
  if (v3 === UNDECIDED || v4 === UNDECIDED)
    return `"${UNDECIDED}" is not a decision: write the id, leave it empty for none, or begin the line with #`;
  if (v3 === '' && v4 === '') return 'names neither a V3 id nor a V4 id';
  const v3SvcId = parseSvcId(v3);
  const v4SvcId = parseSvcId(v4);
  if (v3SvcId === null && v3 !== '') return `v3_svc_id "${v3}" is not an id`;
  if (v4SvcId === null && v4 !== '') return `v4_svc_id "${v4}" is not an id`;
  if (until !== '' && !isoDate.safeParse(until).success)
    return `until "${until}" is not a date such as 2027-01-31`;
  const ids = { v3CompanyId, v3SvcId, v4SvcId };
  return { line, model, path, region, ...ids, note, until: until === '' ? null : until };
}

function unknownName(what: string, name: string, known: readonly string[]): string {
  return `"${name}" is not a configured ${what}${didYouMeanClause(name, known)}`;
}

/**
 * Parses the text of a file into rows and problems. Blank lines and lines that start with `#` are skipped, even if a
 * spreadsheet put quotes around them.
 */
function parseCsv<Row>(text: string, { header, verb, parseRow, namesOf }: UserFile<Row>): ParsedCsv<Row> {
  const rows: Row[] = [];
  const problems: string[] = [];
  const lineByKey = new Map<string, number>();
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((content, at) => ({ line: at + 1, content }))
    .filter(({ content }) => !/^\s*("?#|[,;]*\s*$)/.test(content));
  const [first, ...others] = lines;
  const found = splitCells(first?.content ?? '')?.join(',');
  // The column `until` may be left out.
  if (found !== header && (found === undefined || `${found},until` !== header))
    return { rows, problems: [`line ${first?.line ?? 1}: the header must be ${header}`] };
  for (const { line, content } of others) {
    const cells = splitCells(content);
    const row = cells === null ? 'a quotation mark is not closed or not doubled' : parseRow(cells, line);
    if (typeof row === 'string') {
      problems.push(`line ${line}: ${row}`);
      continue;
    }
    const names = namesOf(row).map(({ name, scope = [] }) => ({ name, key: [name, ...scope].join('\0') }));
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

type FileSettings = Pick<Config, 'companies' | 'decisions' | 'models' | 'v3' | 'file'>;

function companiesPlace({ companies: { match }, file }: FileSettings): FilePlace {
  const isConfigured = typeof match !== 'string';
  const usual = join(dirname(file), 'companies.csv');
  return { file: isConfigured ? match.file : usual, setting: 'companies.match.file', isConfigured };
}

function decisionsPlace({ decisions, file }: FileSettings): FilePlace {
  const usual = join(dirname(file), 'decisions.csv');
  return { file: decisions ?? usual, setting: 'decisions', isConfigured: decisions !== null };
}

function regionsOf({ v3 }: FileSettings): string[] {
  return v3.regions.map(({ region }) => region);
}

/**
 * The pairs in `companies.csv`; empty if no such file is configured.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCompaniesFile(config: FileSettings): NamedCompanyPair[] {
  const hint = `The first line is ${COMPANIES_HEADER}; each V3 company and each V4 company may be named once.`;
  return readRows(companiesPlace(config), (text) => parseCompanies(text, regionsOf(config)), hint);
}

/**
 * The decisions in `decisions.csv`; empty if no such file is configured.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readDecisionsFile(config: FileSettings): Decision[] {
  const hint = `The first line is ${DECISIONS_HEADER}; each V3 id and each V4 id may be decided once.`;
  const places = { models: config.models, regions: regionsOf(config) };
  return readRows(decisionsPlace(config), (text) => parseDecisions(text, places), hint);
}

function readRows<Row>(
  { file, setting, isConfigured }: FilePlace,
  parse: (text: string) => ParsedCsv<Row>,
  hint: string,
): Row[] {
  return isConfigured ? assertRows(file, parse(readText(file, setting)), hint) : [];
}

function assertRows<Row>(file: string, { rows, problems }: ParsedCsv<Row>, hint: string): Row[] {
  if (problems.length === 0) return rows;
  throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, { hint });
}

function readText(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const hint = `Check ${setting} in the configuration.`;
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { hint, cause });
  }
}

/** A file of answers: what it holds, and how to add a line. What is in it stays as it is. */
interface AnswerFile<Row> extends FilePlace {
  readonly rows: Row[];
  add(cells: readonly (string | bigint | null)[], row: Row): Promise<void>;
}

/** The decisions file that the configuration names, else `decisions.csv` beside the configuration. */
export function openDecisions(config: Config, io: OutputIo): AnswerFile<Omit<Decision, 'line'>> {
  const places = { models: config.models, regions: regionsOf(config) };
  return openAnswers(decisionsPlace(config), DECISIONS_HEADER, (text) => parseDecisions(text, places), io);
}

/** The companies file that the configuration names, else `companies.csv` beside the configuration. */
export function openCompanies(config: Config, io: OutputIo): AnswerFile<Omit<NamedCompanyPair, 'line'>> {
  const parse = (text: string) => parseCompanies(text, regionsOf(config));
  return openAnswers(companiesPlace(config), COMPANIES_HEADER, parse, io);
}

function openAnswers<Row>(
  place: FilePlace,
  header: string,
  parse: (text: string) => ParsedCsv<Row>,
  io: OutputIo,
): AnswerFile<Row> {
  const { file } = place;
  let text = existsSync(file) ? readFileSync(file, 'utf8') : `${header}\n`;
  const rows = assertRows(file, parse(text), 'Correct these lines first: answers are added below them.');
  return {
    ...place,
    rows,
    add: async (cells, row) => {
      const end = text === '' || text.endsWith('\n') ? '' : '\n';
      text += `${end}${cells.map((cell) => csvCell(cell === null ? '' : String(cell))).join(',')}\n`;
      await writeOutput({ target: file, chunks: () => [text] }, io);
      rows.push(row);
    },
  };
}
