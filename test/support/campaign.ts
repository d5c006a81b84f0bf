/** Kills, mutating services, hostile sweeps: `npm test` runs them small, `npm run test:campaign` full. */
const SIZES = ['small', 'full', 'soak'] as const;
type Size = (typeof SIZES)[number];

/** The size that this run asks for. */
export const CAMPAIGN_SIZE: Size = parseSize(process.env['CAMPAIGN'] ?? 'small');

/** How much a campaign does at the size that this run asks for. */
export function campaign<T>(sizes: { readonly small: T; readonly full: T }): T {
  return CAMPAIGN_SIZE === 'small' ? sizes.small : sizes.full;
}

function parseSize(text: string): Size {
  const size = SIZES.find((one) => one === text);
  if (size === undefined) throw new Error(`CAMPAIGN=${text}: must be one of ${SIZES.join(', ')}`);
  return size;
}
