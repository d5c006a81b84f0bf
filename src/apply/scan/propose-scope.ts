import type { Db } from '../../store/open.js';
import type { ColumnSample } from './column-sample.js';
import { FEW_VALUES } from './propose.js';

/** The columns of a table or file that name the region and the company of each row. */
export interface ScopeColumns {
  readonly table: string | null;
  readonly regionColumn?: string;
  readonly companyColumn?: string;
}

/**
 * Finds, for each table, the only column whose values are all regions of the remap, and the only one whose values are all
 * companies of it. Small numbers are companies by chance: such a column must name companies, or hold all of them.
 */
export function proposeScopes(db: Db, columns: readonly ColumnSample[]): ScopeColumns[] {
  const { regions, companies } = readScopes(db);
  const isNamed = ({ column }: ColumnSample) => /compan(?:y|ies)/i.test(column);
  const holdsRegions = ({ values }: ColumnSample) => isWithin(values, regions);
  const holdsCompanies = (one: ColumnSample) =>
    isWithin(one.values, companies) &&
    (isNamed(one) || (one.values.size === companies.size && companies.size >= FEW_VALUES));
  return [...new Set(columns.map(({ table }) => table))].flatMap((table) => {
    const own = columns.filter((one) => one.table === table && isPlace(one));
    const [region, otherRegion] = regions.size > 1 ? own.filter(holdsRegions) : [];
    const [company, otherCompany] = companies.size > 1 ? own.filter(holdsCompanies) : [];
    const found = {
      ...(region === undefined || otherRegion !== undefined ? {} : { regionColumn: region.column }),
      ...(company === undefined || otherCompany !== undefined ? {} : { companyColumn: company.column }),
    };
    return Object.keys(found).length === 0 ? [] : [{ table, ...found }];
  });
}

/** Whether a row has one such value: no place inside a JSON column or a list, and not the key of the row. */
function isPlace({ path, column, isKey }: ColumnSample): boolean {
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
    .prepare<[], [string | null, bigint | null]>('SELECT DISTINCT region, v3_company_id FROM remap')
    .raw()
    .all();
  const texts = (cells: readonly (string | bigint | null)[]) =>
    new Set(cells.flatMap((cell) => (cell === null ? [] : [String(cell)])));
  return {
    regions: texts(rows.map(([region]) => region)),
    companies: texts(rows.map(([, company]) => company)),
  };
}
