import { renderJson } from '../../text/escape.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { wrapLines } from '../../text/text-layout.js';
import { judgeRecheck, type RecheckResult } from './recheck-rounds.js';

const MAX_LISTED = 10;

/** Renders what was requested, resolved, and still open. */
export function renderRecheck(result: RecheckResult, width: number): string {
  const { open, rounds, healed, persisted, appeared } = result;
  const outcomes: Record<string, number> = {};
  for (const { before, after } of healed) {
    const name = `${before} → ${after ?? 'gone'}`;
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  }
  const lines = [
    `${countOf(open, 'finding')} open; asked ${rounds.length === 1 ? 'once' : `${rounds.length} times`}.`,
    ...rounds.map(
      ({ asked, lists, changed }, at) =>
        `  round ${at + 1}: ${countOf(asked, 'request')} for single records, ${countOf(changed, 'record')} new or changed; ${countOf(lists, 'list')} read again`,
    ),
    ...describeCounts('Resolved', outcomes),
    ...describeCounts('Still open', persisted),
    ...(Object.keys(appeared).length === 0 ? [] : describeCounts('New', appeared)),
    ...describeLastRound(result),
    'Next: svc-migrate check',
  ];
  return wrapLines(lines, width);
}

function describeCounts(title: string, counts: Readonly<Record<string, number>>): string[] {
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const sorted = Object.entries(counts).sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return [
    `${title}: ${groupDigits(total)}`,
    ...sorted.map(([name, n]) => `  ${groupDigits(n).padStart(10)}  ${name}`),
  ];
}

function describeLastRound({ rounds }: RecheckResult): string[] {
  const last = rounds.at(-1);
  if (last === undefined) return [];
  const { vanished, failed, unfinished, firstError } = last;
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
  const { open, rounds, healed, persisted, appeared } = result;
  return renderJson({
    schemaVersion: 1,
    exitCode: judgeRecheck(result),
    open,
    rounds,
    persisted,
    appeared,
    healed: healed.map(({ row, before, after }) => ({
      model: row.model,
      path: row.path,
      region: row.region,
      v3_company_id: row.v3CompanyId,
      v4_company_id: row.v4CompanyId,
      platform_id: row.platformId,
      v3_svc_id: row.v3SvcId,
      v4_svc_id: row.v4SvcId,
      before,
      after,
    })),
  });
}
