import * as z from '../../zod.js';
import type { FixPlan } from './fix-files.js';
import { UNFIXED, type UnfixedReason } from './unfixed.js';

const count = z.int().nonnegative();
const reasons = Object.keys(UNFIXED) as [UnfixedReason, ...UnfixedReason[]];

/** What `--fix` did, in the JSON of `scan`. */
export const fixSchema = z.strictObject({
  dryRun: z.boolean().describe('Nothing was written; the findings are those of the code as it is.'),
  fixed: count.describe('Requests that were rewritten, each with everything that depends on it.'),
  notFixed: count.describe('Requests that stay as they are.'),
  units: z.array(
    z.strictObject({
      file: z.string(),
      line: z.int().positive(),
      route: z.string().describe('The V4 form of the route.'),
      reason: z.enum(reasons).nullable().describe('Why it stays as it is; null: it was rewritten.'),
    }),
  ),
  files: z.array(
    z.strictObject({
      path: z.string(),
      outcome: z
        .enum(['written', 'planned', 'changed', 'outside'])
        .describe(
          '`planned`: a dry run. `changed`: not written, as it changed meanwhile. `outside`: not written, as a link leads out of the folder.',
        ),
    }),
  ),
  marked: count.describe('Comments that were added.'),
  unmarked: z.array(z.strictObject({ file: z.string(), line: z.int().positive(), why: z.string() })),
  remapNote: z.string().nullable().describe('Why the remap was not asked for the ids of companies.'),
});
export type FixReport = z.output<typeof fixSchema>;
type Outcome = FixReport['files'][number]['outcome'];

/** What became of a plan; the units of files that were not written stay as they are. */
export function buildFixReport(
  { units, files, marked, unmarked }: FixPlan,
  outcomes: ReadonlyMap<string, Outcome>,
  { dryRun, remapNote }: Pick<FixReport, 'dryRun' | 'remapNote'>,
): FixReport {
  const isFailed = (path: string) => /^(changed|outside)$/.test(outcomes.get(path) ?? '');
  const judged = units.map((one) =>
    one.reason === null && isFailed(one.file) ? { ...one, reason: 'not_written' as const } : { ...one },
  );
  const fixed = judged.filter(({ reason }) => reason === null).length;
  return {
    dryRun,
    fixed,
    notFixed: judged.length - fixed,
    units: judged,
    files: files.map(({ path }) => ({ path, outcome: outcomes.get(path) ?? 'planned' })),
    marked,
    unmarked: [...unmarked],
    remapNote,
  };
}
