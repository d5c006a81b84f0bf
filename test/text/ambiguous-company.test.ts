import { describe, expect, it } from 'vitest';
import type { AmbiguousCompany } from '../../src/domain.js';
import { prepareDescribeAmbiguous } from '../../src/text/describe-evidence.js';

function companyOf(
  v3CompanyId: string,
  ...candidates: [v4: string, agreeing: number, of: number][]
): AmbiguousCompany {
  return {
    region: 'eu',
    v3CompanyId,
    candidates: candidates.map(([v4CompanyId, agreeingKeys, comparableKeys]) => ({
      v4CompanyId,
      agreeingKeys,
      comparableKeys,
    })),
  };
}

describe('a company that could not be paired', () => {
  it.each<[string, AmbiguousCompany, AmbiguousCompany[], string]>([
    ['no candidate', companyOf('6'), [], 'no V4 candidate is known'],
    ['one candidate', companyOf('6', ['1', 1, 1]), [], 'V4 company 1 (1 of 1 shared record agrees)'],
    [
      'candidates with agreeing records, and one without',
      companyOf('6', ['1', 9, 9], ['2', 9, 9], ['3', 0, 4]),
      [],
      'V4 company 1 (9 of 9 shared records agree) or 2 (9 of 9)',
    ],
    [
      'candidates of which none agrees',
      companyOf('6', ['1', 0, 9], ['2', 0, 3]),
      [],
      'V4 company 1 (0 of 9 shared records agree) or 2 (0 of 3)',
    ],
    [
      'a V4 company that others may be too',
      companyOf('6', ['1', 9, 9]),
      [companyOf('7', ['2', 5, 5], ['1', 1, 9]), companyOf('8', ['1', 0, 9])],
      'V4 company 1 (9 of 9 shared records agree); V3 company 7 in eu may be 1 too',
    ],
  ])('%s', (_, company, others, text) => {
    expect(prepareDescribeAmbiguous([company, ...others])(company)).toBe(`V3 company 6 in eu: ${text}`);
  });
});
