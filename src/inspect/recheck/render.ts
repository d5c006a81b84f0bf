import { escapeJson } from '../../text/escape.js';
import { layLines } from '../../text/lay-lines.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { judgeRecheck, type RecheckResult } from './result.js';
import type { RoundResult } from './round.js';

const SHOWN = 10;

/** What was asked, what healed and what persists. */
export function renderRecheck(result: RecheckResult, width: number): string {
  const { open, rounds, healed, persisted, appeared } = result;
  const lines = [
    `${countOf(open, 'finding')} open; asked ${rounds.length === 1 ? 'once' : `${rounds.length} times`}.`,
    ...rounds.map((round, at) => describeRound(round, at + 1)),
    `Healed: ${groupDigits(healed.length)}`,
    ...describeCounts(countHealed(result)),
    `Persist: ${groupDigits(sum(persisted))}`,
    ...describeCounts(persisted),
    ...(sum(appeared) === 0 ? [] : [`New: ${groupDigits(sum(appeared))}`, ...describeCounts(appeared)]),
    ...describeVanished(rounds),
    ...describeFailures(result),
    'Next: svc-migrate check',
  ];
  return layLines(lines, width);
}

function describeRound({ asked, lists, changed }: RoundResult, number: number): string {
  const narrow = `${countOf(asked, 'question')} for single records, ${countOf(changed, 'record')} new or changed`;
  return `  round ${number}: ${narrow}; ${countOf(lists, 'list')} read again`;
}

function countHealed({ healed }: RecheckResult): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { before, after } of healed) {
    const name = `${before} → ${after ?? 'gone'}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function describeCounts(counts: Readonly<Record<string, number>>): string[] {
  return Object.entries(counts)
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .map(([name, n]) => `  ${groupDigits(n).padStart(10)}  ${name}`);
}

function describeVanished(rounds: readonly RoundResult[]): string[] {
  const vanished = rounds.at(-1)?.vanished ?? [];
  if (vanished.length === 0) return [];
  const shown = vanished
    .slice(0, SHOWN)
    .map(({ region, model, svcId }) => `  ${model} V3 ${svcId} (${region})`);
  const models = [...new Set(vanished.map(({ model }) => model))]
    .map((model) => ` --model ${model}`)
    .join('');
  return [
    `${countOf(vanished.length, 'V3 record')} vanished without a tombstone: V3 shows them no more, not even as deleted.`,
    ...shown,
    ...(vanished.length > SHOWN ? [`  … and ${groupDigits(vanished.length - SHOWN)} more`] : []),
    `  Only a whole reading drops them: svc-migrate export v3 --restart${models}`,
  ];
}

function describeFailures({ rounds }: RecheckResult): string[] {
  const last = rounds.at(-1);
  if (last === undefined || last.failed + last.unfinished === 0) return [];
  const { failed, unfinished, firstError } = last;
  return [
    `${countOf(failed, 'question')} not answered and ${countOf(unfinished, 'list')} not read to the end: run the same command again. First: ${firstError ?? ''}`,
  ];
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, n) => total + n, 0);
}

/** The same for scripts, with every finding that healed; ids are digits in text. */
export function renderRecheckJson(result: RecheckResult): string {
  const { open, rounds, healed, persisted, appeared } = result;
  const value = {
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
      v3_company_id: textOf(row.v3CompanyId),
      v4_company_id: textOf(row.v4CompanyId),
      platform_id: row.platformId,
      v3_svc_id: textOf(row.v3SvcId),
      v4_svc_id: textOf(row.v4SvcId),
      before,
      after,
    })),
  };
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

function textOf(id: bigint | null): string | null {
  return id === null ? null : String(id);
}
