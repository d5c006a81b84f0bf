import { renderJson } from '../../text/escape.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { countSides, describeIds, type KeyCount, sumIds, titleOfKey } from '../../text/reason-counts.js';
import { compare, groupBy } from '../../text/rows.js';
import { wrapLines } from '../../text/text-layout.js';
import { judgeRecheck, type ReadAgainResult, type RecheckResult, unitOf } from './recheck-findings.js';

const MAX_LISTED = 10;
/** Reasons that fit on a screen with the rest. */
const MAX_REASONS = 8;

/** Renders what was requested, resolved, and still open; the first reasons only, unless `isVerbose`. */
export function renderRecheck(result: RecheckResult, width: number, isVerbose: boolean): string {
  const { open, read, healed, persisted, appeared } = result;
  const resolved = healed.map(({ row, before, after }) => ({
    label: `${titleOfKey(before)} → ${after === null ? 'gone' : titleOfKey(after)}`,
    ...{ key: before, unit: unitOf(row), count: 1 },
  }));
  const titled = (counts: readonly KeyCount[]) =>
    counts.map((one) => ({
      ...one,
      label: isVerbose ? `${titleOfKey(one.key)} (${one.key})` : titleOfKey(one.key),
    }));
  const lines = [
    `${countOf(open, 'open finding')}, ids of V3 or V4 that are not matched and not deleted.`,
    ...(read === null ? [] : [describeRequests(read)]),
    ...describeCounts('Resolved', resolved, isVerbose),
    ...describeCounts('Still open', titled(persisted), isVerbose),
    ...(appeared.length === 0 ? [] : describeCounts('New', titled(appeared), isVerbose)),
    ...(read === null ? [] : describeTrouble(read)),
    'Next: svc-migrate check',
  ];
  return wrapLines(lines, width);
}

/** The total, and the most frequent labels, with line items counted at their records. */
function describeCounts(
  title: string,
  counts: readonly (KeyCount & { readonly label: string })[],
  isVerbose: boolean,
): string[] {
  const sides = [...groupBy(counts, ({ label }) => label)]
    .map(([label, own]) => ({ label, ids: countSides(own) }))
    .sort((a, b) => sumIds(b.ids) - sumIds(a.ids) || compare(a.label, b.label));
  const shown = isVerbose ? sides : sides.slice(0, MAX_REASONS);
  const more = sides.length - shown.length;
  return [
    `${title}: ${groupDigits(counts.reduce((sum, { count }) => sum + count, 0))}`,
    ...shown.map(({ label, ids }) => `  ${label}: ${describeIds(ids)}`),
    ...(more > 0 ? [`  … and ${countOf(more, 'more reason')}: see --verbose`] : []),
  ];
}

function describeRequests({ asked, changed, lists }: ReadAgainResult): string {
  return `  ${countOf(asked, 'request')} for single records, ${countOf(changed, 'record')} new or changed; ${countOf(lists, 'list')} read again`;
}

function describeTrouble({ vanished, failed, unfinished, firstError }: ReadAgainResult): string[] {
  const lines: string[] = [];
  if (vanished.length > 0) {
    const records = countOf(vanished.length, 'V3 record');
    const them = vanished.length === 1 ? 'it' : 'them';
    const shown = vanished.slice(0, MAX_LISTED);
    const models = [...new Set(vanished.map(({ model }) => ` --model ${model}`))].join('');
    lines.push(
      `${records} vanished without a tombstone: V3 no longer shows ${them}, not even as deleted.`,
      ...shown.map(({ region, model, svcId }) => `  ${model} V3 ${svcId} (${region})`),
      ...(vanished.length > MAX_LISTED ? [`  … and ${groupDigits(vanished.length - MAX_LISTED)} more`] : []),
      `  Only a full export removes ${them}: \`svc-migrate export v3 --restart${models}\``,
    );
  }
  if (failed + unfinished > 0) {
    lines.push(
      `${countOf(failed, 'request')} failed and ${countOf(unfinished, 'list')} not read to the end: run the same command again. First: ${firstError ?? ''}`,
    );
  }
  return lines;
}

/** The result for scripts, with every resolved finding; ids are strings of digits. */
export function renderRecheckJson(result: RecheckResult): string {
  const { open, read, healed, persisted, appeared } = result;
  return renderJson({
    schemaVersion: 1,
    exitCode: judgeRecheck(result),
    open,
    read,
    persisted: sumByKey(persisted),
    appeared: sumByKey(appeared),
    healed: healed.map(({ row: { status: _status, reason: _reason, ...row }, before, after }) => ({
      ...row,
      before,
      after,
    })),
  });
}

function sumByKey(counts: readonly KeyCount[]): Record<string, number> {
  return Object.fromEntries(
    [...groupBy(counts, ({ key }) => key)].map(([key, own]) => [
      key,
      own.reduce((sum, { count }) => sum + count, 0),
    ]),
  );
}
