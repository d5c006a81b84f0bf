import { createTwoFilesPatch } from 'diff';
import { countOf } from '../../text/numbers.js';
import { append } from '../append.js';
import type { PatchedFile } from './fix-files.js';
import type { FixReport } from './fix-report.js';
import { UNFIXED, type UnfixedReason } from './unfixed.js';

/** Most places that are named for a reason. */
const MAX_PLACES = 5;

/** What a fix did, or would do, and why the rest stays: lines for people. */
export function describeFix(fix: FixReport): string[] {
  const { fixed, notFixed, dryRun, files, marked, unmarked } = fix;
  const changed = files.filter(({ outcome }) => outcome !== 'changed' && outcome !== 'outside');
  const done = dryRun ? 'Would fix' : 'Fixed';
  const head = `${done} ${countOf(fixed, 'request')}; ${countOf(changed.length, 'file')} ${dryRun ? 'would change. Nothing was written.' : 'changed.'}`;
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
