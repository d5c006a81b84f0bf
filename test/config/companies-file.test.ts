import { describe, expect, it } from 'vitest';
import { parseCompanies, readCompaniesFile } from '../../src/config/user-files.js';
import { sampleConfig } from './sample.js';

const HEADER = 'region,v3_company_id,v4_company_id';
const REGIONS = ['eu', 'us'];

describe('parseCompanies', () => {
  it('takes pairs with quotes, blank lines, CRLF and a byte order mark', () => {
    const text = `\uFEFF${HEADER}\r\neu,1,10\r\n\r\n"us","1","9223372036854775807"\r\n`;
    expect(parseCompanies(text, REGIONS)).toEqual({
      rows: [
        { line: 2, region: 'eu', v3CompanyId: 1n, v4CompanyId: 10n },
        { line: 4, region: 'us', v3CompanyId: 1n, v4CompanyId: 9223372036854775807n },
      ],
      problems: [],
    });
  });

  it('skips lines that start with #, also above the header, and counts them as lines', () => {
    const text = `# drafted on Monday\n${HEADER}\n# eu,1,?\n  # indented\neu,1,10\n#eu,2,10\nus,2,10\n`;
    expect(parseCompanies(text, REGIONS)).toEqual({
      rows: [{ line: 5, region: 'eu', v3CompanyId: 1n, v4CompanyId: 10n }],
      problems: ['line 7: V4 company 10 is named on line 5 already'],
    });
  });

  it('names every problem with its line', () => {
    const text = [
      HEADER,
      'eu,1,10',
      'us,2,10',
      'eu,1,11',
      'en,3,12',
      'eu,4',
      'eu,5,13,x',
      'eu,x,14',
      'eu,6,9223372036854775808',
      'us,1,15',
    ].join('\n');
    expect(parseCompanies(text, REGIONS).problems).toEqual([
      'line 3: V4 company 10 is named on line 2 already',
      'line 4: V3 company 1 of eu is named on line 2 already',
      'line 5: "en" is not a configured region; did you mean "eu"?',
      'line 6: needs exactly three values',
      'line 7: needs exactly three values',
      'line 8: v3_company_id "x" is not an id',
      'line 9: v4_company_id "9223372036854775808" is not an id',
    ]);
  });

  it('refuses another header', () => {
    expect(parseCompanies('v3,v4\n1,2\n', REGIONS).problems).toEqual([
      `line 1: the header must be ${HEADER}`,
    ]);
    expect(parseCompanies('', REGIONS).problems).toHaveLength(1);
  });
});

describe('readCompaniesFile', () => {
  it('says that a file is missing', () => {
    const config = sampleConfig({ companies: { match: { file: '/nowhere/companies.csv' } } });
    expect(() => readCompaniesFile(config)).toThrow(expect.objectContaining({ code: 'bad_input' }));
  });
});
