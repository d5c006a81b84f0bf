import { parseId } from '../domain.js';
import { orMeant } from '../text/suggest.js';
import { assertNoProblems, readCsvFile, takeCsvLines } from './csv-file.js';

/** A V3 company with the V4 company that the user says it is. */
export interface NamedCompanyPair {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
}

export const COMPANIES_HEADER = 'region,v3_company_id,v4_company_id';

/**
 * Reads `companies.csv`.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCompaniesFile(file: string, regions: readonly string[]): NamedCompanyPair[] {
  const text = readCsvFile(file, 'companies file', 'companies.match.file');
  const { pairs, problems } = parseCompanies(text, regions);
  assertNoProblems(
    file,
    problems,
    `The first line is ${COMPANIES_HEADER}; each V3 and each V4 company may be named once.`,
  );
  return pairs;
}

/** The pairs of a companies file, and what is wrong with it by line. */
export function parseCompanies(
  text: string,
  regions: readonly string[],
): { readonly pairs: NamedCompanyPair[]; readonly problems: string[] } {
  const pairs: NamedCompanyPair[] = [];
  const named = new Map<string, number>();
  const problems = takeCsvLines(text, COMPANIES_HEADER, (cells, line) => {
    const parsed = parseLine(cells, regions);
    if (typeof parsed === 'string') return parsed;
    const problem = nameOnce(named, parsed, line);
    if (problem === null) pairs.push(parsed);
    return problem;
  });
  return { pairs, problems };
}

/** The line's pair, or what is wrong with it. */
function parseLine(cells: readonly string[], regions: readonly string[]): NamedCompanyPair | string {
  const [region = '', v3 = '', v4 = '', ...more] = cells;
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
