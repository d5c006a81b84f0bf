import { createTwoFilesPatch } from 'diff';
import { countOf } from '../../text/numbers.js';
import * as z from '../../zod.js';
import { append } from '../append.js';
import type { FixPlan, PatchedFile } from './fix-files.js';
import { UNFIXED, type UnfixedReason } from './unfixed.js';

const count = z.int().nonnegative();
const reasons = Object.keys(UNFIXED) as [UnfixedReason, ...UnfixedReason[]];

/** What `--fix` and `--mark` did, in the JSON of `scan`. */
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
  remapNote: z.string().nullable().describe('Why the company ids of the remap were not used.'),
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

/** Most places that are named for a reason. */
const MAX_PLACES = 5;

/** What a fix did, or would do, and why the rest stays: lines for people. */
export function describeFix(fix: FixReport): string[] {
  const { fixed, notFixed, dryRun, files, marked, unmarked, units } = fix;
  const changed = files.filter(({ outcome }) => outcome !== 'changed' && outcome !== 'outside');
  const done = dryRun ? 'Would fix' : 'Fixed';
  const requests = units.length === 0 && marked > 0 ? '' : `${done} ${countOf(fixed, 'request')}; `;
  const head = `${requests}${countOf(changed.length, 'file')} ${dryRun ? 'would change. Nothing was written.' : 'changed.'}`;
  const reasons = listReasons(fix).map(([reason, places]) => {
    const shown = places.slice(0, MAX_PLACES).join(', ');
    const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more` : '';
    return `  ${places.length} because ${UNFIXED[reason].title}: ${shown}${more}`;
  });
  const failed = files.flatMap(({ path, outcome }) => {
    if (outcome === 'changed')
      return [`NOT WRITTEN: ${path} changed while it was read. Run the command again.`];
    return outcome === 'outside' ? [`NOT WRITTEN: ${path} is a link that leads out of this folder.`] : [];
  });
  return [
    head,
    ...(notFixed === 0 ? [] : [`Left as they are: ${countOf(notFixed, 'request')}.`, ...reasons]),
    ...(marked === 0
      ? []
      : [`${dryRun ? 'Would mark' : 'Marked'} ${countOf(marked, 'place')} with a comment.`]),
    ...unmarked.map(({ file, line, why }) => `Not marked: ${file}:${line}, as ${why}.`),
    ...(fix.remapNote === null ? [] : [fix.remapNote]),
    ...failed,
  ];
}

/** Reasons with the places of their requests, most frequent first. */
function listReasons({ units }: FixReport): [UnfixedReason, string[]][] {
  const places = new Map<UnfixedReason, string[]>();
  for (const { file, line, reason } of units) {
    if (reason === null) continue;
    append(places, reason, `${file}:${line}`);
  }
  return [...places].sort((a, b) => b[1].length - a[1].length);
}

/** The changes as a unified diff, as `git apply` takes it. */
export function renderDiff(files: readonly PatchedFile[]): string {
  return files
    .map(({ path, before, after }) => {
      const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after, undefined, undefined, {
        context: 3,
      });
      return patch.replace(/^=+\n/, '');
    })
    .join('');
}
