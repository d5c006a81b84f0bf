import { parseId } from '../domain.js';
import { orMeant } from '../text/suggest.js';
import type { Config } from './config.js';
import { type CsvFormat, parseCsv, readCsvFile } from './csv-file.js';

/** A V3 company with the V4 company that the user says it is. */
export interface NamedCompanyPair {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
}

export const COMPANIES_HEADER = 'region,v3_company_id,v4_company_id';

/**
 * The pairs in `companies.csv`; none where the configuration names no such file.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCompaniesFile({ companies, v3 }: Pick<Config, 'companies' | 'v3'>): NamedCompanyPair[] {
  const { match } = companies;
  if (typeof match === 'string') return [];
  return readCsvFile(match.file, formatOf(v3.regions.map(({ region }) => region)));
}

/** The pairs of a companies file, and what is wrong with it by line. */
export function parseCompanies(
  text: string,
  regions: readonly string[],
): { readonly pairs: NamedCompanyPair[]; readonly problems: string[] } {
  const { rows, problems } = parseCsv(text, formatOf(regions));
  return { pairs: rows, problems };
}

function formatOf(regions: readonly string[]): CsvFormat<NamedCompanyPair> {
  return {
    what: 'companies file',
    setting: 'companies.match.file',
    header: COMPANIES_HEADER,
    verb: 'named',
    unique: 'V3 and each V4 company',
    parseRow: ([region = '', v3 = '', v4 = '', ...more]) => {
      if (v4 === '' || more.length > 0) return 'needs exactly three values';
      if (!regions.includes(region)) {
        return `"${region}" is not a configured region${orMeant(region, regions)}`;
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
