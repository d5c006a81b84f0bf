import { CsvError, parse } from 'csv-parse/sync';
import * as z from 'zod';
import { type Decision, type ModelPair, type NamedCompanyPair, parseId, parseSvcId } from '../domain.js';
import { describeFileError, SvcError } from '../errors.js';
import { didYouMeanClause } from '../text/suggest.js';
import { type Config, listInputFiles, readInput } from './config.js';

export const COMPANIES_HEADER = 'region,v3_company_id,v4_company_id';
export const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';

/** Marks an id as undecided in a draft. */
const UNDECIDED = '?';

const MAX_BYTES = 128 * 1_048_576;

export interface DecisionPlaces {
  readonly models: readonly Pick<ModelPair, 'v3' | 'children'>[];
  readonly regions: readonly string[];
}

interface ParsedCsv<Row> {
  readonly rows: Row[];
  readonly problems: string[];
}

/** A CSV file that people write. `parseRow` returns a row, or its problem as text. */
interface AnswerFormat<Row> {
  readonly header: string;
  readonly parseRow: (cells: readonly string[], line: number) => Row | string;
  /** What a row says, without its note. */
  readonly answerOf: (row: Row) => readonly unknown[];
  /** What rows name; two rows may share a name only if both say so. */
  readonly namesOf: (row: Row) => readonly { readonly name: string; readonly mayRepeat?: boolean }[];
}

/** The pairs of a companies file, and its problems by line. */
export function parseCompanies(text: string, regions: readonly string[]): ParsedCsv<NamedCompanyPair> {
  return parseAnswers(text, {
    header: COMPANIES_HEADER,
    parseRow: ([region = '', v3 = '', v4, ...more], line) => {
      if (v4 === undefined) return 'has fewer than three values; an empty third one means "not in V4"';
      if (more.some((cell) => cell !== '')) return 'has more than three values';
      if (!regions.includes(region)) return unknownName('region', region, regions);
      const v3CompanyId = parseId(v3);
      const v4CompanyId = parseId(v4);
      if (v3CompanyId === null) return `v3_company_id "${v3}" is not an id`;
      if (v4CompanyId === null && v4 !== '') return `v4_company_id "${v4}" is not an id`;
      return { line, region, v3CompanyId, v4CompanyId };
    },
    answerOf: ({ region, v3CompanyId, v4CompanyId }) => [region, v3CompanyId, v4CompanyId],
    // A V4 company belongs to at most one V3 company of all regions.
    namesOf: ({ region, v3CompanyId, v4CompanyId }) => [
      { name: `V3 company ${v3CompanyId} of region ${region}` },
      ...(v4CompanyId === null ? [] : [{ name: `V4 company ${v4CompanyId}` }]),
    ],
  });
}

/** The decisions in the text of a file, and its problems by line. */
export function parseDecisions(text: string, places: DecisionPlaces): ParsedCsv<Decision> {
  return parseAnswers(text, {
    header: DECISIONS_HEADER,
    parseRow: (cells, line) => parseDecision(line, cells, places),
    answerOf: (row) => [
      row.model,
      row.path,
      row.region,
      row.v3CompanyId,
      row.v3SvcId,
      row.v4SvcId,
      row.until,
    ],
    // Several V3 ids may become one V4 id.
    namesOf: ({ model, path, region, v3CompanyId, v3SvcId, v4SvcId }) => {
      const scope = `${model}${path === '' ? '' : `#${path}`} of region ${region}`;
      return [
        ...(v3SvcId === null ? [] : [{ name: `V3 id ${v3SvcId} (${scope})` }]),
        ...(v4SvcId === null
          ? []
          : [
              {
                name: `V4 id ${v4SvcId} (${scope}, company ${v3CompanyId})`,
                mayRepeat: v3SvcId !== null,
              },
            ]),
      ];
    },
  });
}

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
  const pair = models.find((candidate) => candidate.v3 === model);
  if (pair === undefined) {
    const paths = models.map((candidate) => candidate.v3);
    return unknownName('model', model, paths);
  }
  if (path !== '' && !pair.children.includes(path)) {
    return `"${path}" is not a field with children of ${model}${didYouMeanClause(path, pair.children)}`;
  }
  if (!regions.includes(region)) return unknownName('region', region, regions);
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
  const ids = { v3CompanyId, v3SvcId, v4SvcId };
  return { line, model, path, region, ...ids, note, until: until === '' ? null : until };
}

function unknownName(what: string, name: string, names: readonly string[]): string {
  return `"${name}" is not a configured ${what}${didYouMeanClause(name, names)}`;
}

function parseAnswers<Row>(
  text: string,
  { header, parseRow, answerOf, namesOf }: AnswerFormat<Row>,
): ParsedCsv<Row> {
  const problem = formatProblem(text);
  if (problem !== null) return { rows: [], problems: [problem] };
  const { lines, problems } = parseLines(text);
  const first = lines.shift();
  const columns = first?.cells.join(',');
  // The column `until` may be left out.
  if (columns !== header && `${columns},until` !== header) {
    return { rows: [], problems: [`line ${first?.line ?? 1}: the header must be ${header}`] };
  }
  const rows: Row[] = [];
  const answers = new Set<string>();
  const named = new Map<string, { readonly line: number; readonly mayRepeat: boolean }>();
  for (const { line, cells } of lines) {
    const row = parseRow(cells, line);
    if (typeof row === 'string') {
      problems.push(`line ${line}: ${row}`);
      continue;
    }
    const answer = answerOf(row).join();
    if (answers.has(answer)) continue;
    answers.add(answer);
    const names = namesOf(row);
    const repeated = names.find(
      ({ name, mayRepeat = false }) => named.has(name) && !(mayRepeat && named.get(name)?.mayRepeat),
    );
    if (repeated !== undefined) {
      problems.push(`line ${line}: ${repeated.name} is on line ${named.get(repeated.name)?.line} already`);
      continue;
    }
    for (const { name, mayRepeat = false } of names) named.set(name, { line, mayRepeat });
    rows.push(row);
  }
  return { rows, problems };
}

/** The problem of a file that a spreadsheet saved in another format than CSV in UTF-8; null if there is none. */
function formatProblem(text: string): string | null {
  const first = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)
    .join('');
  if (/^"?sep=/i.test(first))
    return 'line 1: sep= is a line that Excel adds: delete it, and separate values by commas';
  if (/^\uFFFD|\0/.test(first)) {
    return 'line 1: it is not UTF-8 (it may have the byte order mark of UTF-16): save it as "CSV UTF-8"';
  }
  if (/^"?(?:region|model)"?[;\t]/.test(first)) {
    return 'line 1: values are separated by semicolons or tabs: save it with commas';
  }
  return null;
}

const BAD_QUOTES = 'a quotation mark is not closed or not doubled';

/** The lines that are neither blank nor comments, with or without quotes around their cells. */
function parseLines(text: string): {
  readonly lines: { readonly line: number; readonly cells: readonly string[] }[];
  readonly problems: string[];
} {
  const problems: string[] = [];
  const lines: { line: number; cells: string[] }[] = [];
  try {
    parse(text, {
      bom: true,
      comment: '#',
      comment_no_infix: true,
      // Otherwise all lines are taken to end as the first one does.
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
      on_record: (cells: string[], { lines: line }) => {
        if (cells[0]?.startsWith('#')) return null;
        // An open quotation mark takes the lines that follow into its cell.
        if (cells.some((cell) => /[\r\n]/.test(cell))) problems.push(`line ${line}: ${BAD_QUOTES}`);
        else lines.push({ line, cells });
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    problems.push(`line ${error['lines']}: ${BAD_QUOTES}`);
  }
  return { lines, problems };
}

type FileSettings = Pick<Config, 'companies' | 'decisions' | 'models' | 'v3'>;

/** The pairs in `companies.csv`, if it is configured. @throws SvcError `bad_input`, with every problem in it */
export async function readCompaniesFile(config: FileSettings): Promise<NamedCompanyPair[]> {
  const { 'companies.match.file': file } = listInputFiles(config);
  if (file === undefined) return [];
  const hint = `The first line is ${COMPANIES_HEADER}; each V3 company and each V4 company may be named once.`;
  return acceptRows(
    file,
    parseCompanies(await readText(file, 'companies.match.file'), regionsOf(config)),
    hint,
  );
}

/** The decisions in `decisions.csv`, if it is configured. @throws SvcError `bad_input`, with every problem in it */
export async function readDecisionsFile(config: FileSettings): Promise<Decision[]> {
  const { decisions: file } = listInputFiles(config);
  if (file === undefined) return [];
  const hint = `The first line is ${DECISIONS_HEADER}; each V3 id may be decided once.`;
  const places = { models: config.models, regions: regionsOf(config) };
  return acceptRows(file, parseDecisions(await readText(file, 'decisions'), places), hint);
}

function regionsOf({ v3 }: FileSettings): string[] {
  return v3.regions.map(({ region }) => region);
}

function acceptRows<Row>(file: string, { rows, problems }: ParsedCsv<Row>, hint: string): Row[] {
  if (problems.length === 0) return rows;
  throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, { hint });
}

async function readText(file: string, setting: string): Promise<string> {
  try {
    return await readInput(file, MAX_BYTES);
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    const hint = `Check ${setting} in the configuration.`;
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { hint, cause });
  }
}
