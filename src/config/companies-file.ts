import { readFileSync } from 'node:fs';
import { SvcError } from '../errors.js';
import { orMeant } from './suggest.js';

/** A V3 company with the V4 company that the user says it is. */
export interface NamedCompanyPair {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
}

const HEADER = 'region,v3_company_id,v4_company_id';
const MAX_INT64 = 2n ** 63n - 1n;
const SHOWN_PROBLEMS = 20;

/**
 * Reads `companies.csv`. Lines that start with `#` are comments.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCompaniesFile(file: string, regions: readonly string[]): NamedCompanyPair[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const error = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('bad_input', `The companies file ${file} cannot be read (${error}).`, {
      hint: 'Check companies.match.file in the configuration.',
      cause,
    });
  }
  const { pairs, problems } = parseCompanies(text, regions);
  if (problems.length === 0) return pairs;
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  throw new SvcError('bad_input', `${file}: ${shown.join('\n  ')}.`, {
    hint: `The first line is ${HEADER}; each V3 and each V4 company may be named once.`,
  });
}

/** The pairs of a companies file, and what is wrong with it by line. */
export function parseCompanies(
  text: string,
  regions: readonly string[],
): { readonly pairs: NamedCompanyPair[]; readonly problems: string[] } {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const headerAt = Math.max(
    0,
    lines.findIndex((line) => !isBlank(line)),
  );
  const header = splitCells(lines[headerAt] ?? '').join(',');
  if (header !== HEADER)
    return { pairs: [], problems: [`line ${headerAt + 1}: the header must be ${HEADER}`] };
  const pairs: NamedCompanyPair[] = [];
  const problems: string[] = [];
  const named = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    if (at === headerAt || isBlank(line)) continue;
    const parsed = parseLine(line, regions);
    const problem = typeof parsed === 'string' ? parsed : nameOnce(named, parsed, at + 1);
    if (problem !== null) problems.push(`line ${at + 1}: ${problem}`);
    else if (typeof parsed !== 'string') pairs.push(parsed);
  }
  return { pairs, problems };
}

/** An empty line, or a comment. */
function isBlank(line: string): boolean {
  return /^\s*(#|$)/u.test(line);
}

/** The line's pair, or what is wrong with it. */
function parseLine(line: string, regions: readonly string[]): NamedCompanyPair | string {
  const [region = '', v3 = '', v4 = '', ...more] = splitCells(line);
  if (v4 === '' || more.length > 0) return 'needs exactly three values';
  if (!regions.includes(region)) {
    return `"${region}" is not a configured region${orMeant(region, regions)}`;
  }
  const v3CompanyId = parseId(v3);
  const v4CompanyId = parseId(v4);
  if (v3CompanyId === null) return `v3_company_id "${v3}" is not an id`;
  if (v4CompanyId === null) return `v4_company_id "${v4}" is not an id`;
  return { region, v3CompanyId, v4CompanyId };
}

/** What names a company a second time; a V4 company belongs to at most one V3 company of all regions. */
function nameOnce(named: Map<string, number>, pair: NamedCompanyPair, line: number): string | null {
  const names = [`V3 company ${pair.v3CompanyId} of ${pair.region}`, `V4 company ${pair.v4CompanyId}`];
  for (const name of names) {
    const earlier = named.get(name);
    if (earlier !== undefined) return `${name} is named on line ${earlier} already`;
  }
  for (const name of names) named.set(name, line);
  return null;
}

function splitCells(line: string): string[] {
  return line.split(',').map((cell) => cell.trim().replace(/^"([^"]*)"$/, '$1'));
}

function parseId(text: string): bigint | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const id = BigInt(text);
  return id <= MAX_INT64 ? id : null;
}
