/**
 * The size of campaigns: tests that repeat one proof for many seeds, moments, commands or texts. `npm test` runs them
 * small, `npm run test:campaign` full, `npm run soak` for hours. The last two run the files that name these sizes.
 */
const SIZES = ['small', 'full', 'soak'] as const;
type Size = (typeof SIZES)[number];

/** The size that this run asks for. */
export const CAMPAIGN_SIZE: Size = parseSize(process.env['CAMPAIGN'] ?? 'small');

/**
 * How much a campaign does at the size of this run. A size that is not given does what the smaller one does.
 */
export function campaignSize<T>(sizes: { readonly small: T; readonly full?: T; readonly soak?: T }): T {
  const { small, full = small, soak = full } = sizes;
  return { small, full, soak }[CAMPAIGN_SIZE];
}

/** The cases of a campaign: about `small` of them, evenly spread, or all at larger sizes. */
export function campaignCases<T>(cases: readonly T[], small: number): readonly T[] {
  const most = campaignSize({ small, full: cases.length });
  const stride = Math.max(1, cases.length / most);
  return cases.filter((_, at) => at === 0 || Math.floor(at / stride) > Math.floor((at - 1) / stride));
}

function parseSize(text: string): Size {
  const size = SIZES.find((one) => one === text);
  if (size === undefined) throw new Error(`CAMPAIGN=${text}: must be one of ${SIZES.join(', ')}`);
  return size;
}
