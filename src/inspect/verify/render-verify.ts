import type { ContradictionCode } from '../../store/conservation.js';
import { renderJson } from '../../text/escape.js';
import { countOf, formatTime, groupDigits } from '../../text/numbers.js';
import { wrapLines } from '../../text/text-layout.js';
import { DISAGREEMENTS, type PairSide } from './read-live.js';
import { judgeVerify, type VerifyResult, type WrongPair } from './verify-remap.js';

/** Items listed per kind; `--json` lists more. */
const MAX_LISTED = 10;

const CONTRADICTIONS: Readonly<Record<ContradictionCode, string>> = {
  not_in_remap: 'exported from V3, and in no row of the remap',
  twice_in_remap: 'exported from V3 once, and in several rows of the remap',
  not_exported: 'in the remap with a V3 id or platform_id that was not exported',
  v4_not_in_remap: 'exported from V4, and in no row of the remap',
  v4_not_exported: 'in the remap with a V4 id that was not exported with this company and platform_id',
  v4_claimed_twice: 'a V4 id that several V3 records are matched to',
  ids_against_status: 'a row whose status contradicts its ids',
  deletion_against_status: 'a row whose status contradicts what was deleted on either side',
  unique_id_differs: 'paired by platform_unique_id, and these differ',
  child_outside_parent: 'a pair of children that are not in a pair of records',
  child_against_parent: 'a child whose status contradicts that of the record it is in',
  company_not_paired: 'a pair of records whose companies are not paired',
  key_exists_in_v4: 'a row that says V4 has no such record, though V4 has one with the same platform_id',
};

/** The command to run after each exit code but 0. */
const NEXT = {
  1: 'svc-migrate run',
  4: 'svc-migrate verify',
  5: 'svc-migrate run',
} as const;

/** Renders what was compared, the result. `next`: the command to run next if all agree. */
export function renderVerify(result: VerifyResult, width: number, next: string): string {
  const { remap, wrong } = result;
  const code = judgeVerify(result);
  const lines = [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}…: unchanged since it was built.`,
    ...describeContradictions(result),
    ...describeReading(result),
    ...(wrong.length === 0 ? [] : ['Disagree:', ...listFirst(wrong, wrong.length, describeWrong)]),
    describeOutcome(result),
    `Next: ${code === 0 ? next : NEXT[code]}`,
  ];
  return wrapLines(lines, width);
}

function listFirst<T>(items: readonly T[], total: number, describe: (item: T) => string): string[] {
  const more =
    total > MAX_LISTED ? [`  … and ${groupDigits(total - MAX_LISTED)} more; --json lists more`] : [];
  return [...items.slice(0, MAX_LISTED).map((item) => `  ${describe(item)}`), ...more];
}

function describeContradictions({ contradictions }: VerifyResult): string[] {
  if (contradictions.length === 0) {
    return [
      'Against the export: every V3 record and child is in exactly one row, every V4 one in at least one, and no row contradicts the records.',
    ];
  }
  return contradictions.flatMap(({ code, total, first }) => [
    `Against the export: ${groupDigits(total)} × ${CONTRADICTIONS[code]}:`,
    ...listFirst(first, total, ({ model, path, region, ...one }) => {
      const place = [model, path, region, `company ${one.company_id}`].filter(Boolean).join(' ');
      return `${place}: V3 ${one.v3_svc_id ?? '-'}, V4 ${one.v4_svc_id ?? '-'}, platform_id ${one.platform_id ?? '(none)'}`;
    }),
  ]);
}

function describeReading(result: VerifyResult): string[] {
  const { coverage, agree, wrong, gone, deletedSince, failed, unread, firstError } = result;
  const { kind, pairs, matched, strata, drawn } = coverage;
  const models = countOf(strata, 'model of a company', 'models of companies');
  const whole = `${countOf(pairs, 'pair')} (${groupDigits(matched)} matched, ${groupDigits(pairs - matched)} deleted)`;
  const asked =
    kind === 'all'
      ? `all ${whole}`
      : `${groupDigits(drawn)} of ${whole}, drawn in proportion to ${models}, at least one of each`;
  const lines = [
    `Against both APIs: ${asked}.`,
    `  ${groupDigits(agree)} agree in company and platform_id, ${groupDigits(wrong.length)} disagree`,
  ];
  const were = (count: number): string => `${groupDigits(count)} ${count === 1 ? 'was' : 'were'}`;
  if (deletedSince > 0) {
    lines.push(
      `  ${groupDigits(deletedSince)} of them ${deletedSince === 1 ? 'was' : 'were'} deleted in V4 since the export`,
    );
  }
  if (gone > 0)
    lines.push(`  ${were(gone)} deleted in V4 and ${gone === 1 ? 'is' : 'are'} no longer shown: not proved`);
  if (failed + unread > 0) {
    const stopped = unread > 0 ? `, ${groupDigits(unread)} not asked for after that` : '';
    lines.push(`  ${groupDigits(failed)} could not be read${stopped}. First: ${firstError ?? ''}`);
  }
  return lines;
}

function describeWrong({ pair, code, v3, v4 }: WrongPair): string {
  const what = pair.path === '' ? pair.model : `${pair.model} ${pair.path}`;
  const name = `${what} V3 ${pair.v3_svc_id} (${pair.region}, company ${pair.v3_company_id}) → V4 ${pair.v4_svc_id} (company ${pair.v4_company_id}), platform_id ${pair.platform_id ?? '(none)'}`;
  const now = [
    ['V3', v3],
    ['V4', v4],
  ] as const;
  const said = now.flatMap(([side, one]) =>
    one === null ? [] : `${side} says company ${one.companyId}, platform_id ${one.platformId ?? '(none)'}`,
  );
  return `${name}: ${DISAGREEMENTS[code]}${said.length === 0 ? '' : ` (${said.join('; ')})`}`;
}

function describeOutcome(result: VerifyResult): string {
  switch (judgeVerify(result)) {
    case 0:
      return result.coverage.kind === 'all'
        ? 'Verified: all pairs agree.'
        : 'Verified: all sampled pairs agree.';
    case 1:
      return 'NOT verified: the remap is wrong somewhere. Do not use it; export again and verify again.';
    case 4:
      return 'Not verified: not every pair could be read.';
    case 5:
      return 'There is nothing to verify: the remap holds no pair.';
  }
}

/** The result for scripts; ids are digits in text. */
export function renderVerifyJson(result: VerifyResult): string {
  const { wrong, contradictions, ...rest } = result;
  return renderJson({
    schemaVersion: 1,
    exitCode: judgeVerify(result),
    ...rest,
    disagree: wrong.length,
    contradictions: contradictions.map(({ first, ...list }) => ({
      ...list,
      first: first.map(({ code: _, ...one }) => one),
    })),
    disagreements: wrong.map(({ pair, code, v3, v4 }) => {
      const { row: _row, parent: _parent, matched_by: _by, v4_platform_id: _key, ...named } = pair;
      return { code, ...named, v3: sideJson(v3), v4: sideJson(v4) };
    }),
  });
}

function sideJson(side: PairSide | null) {
  if (side === null) return null;
  const { companyId: company_id, platformId: platform_id, platformUniqueId, deleted } = side;
  return { company_id, platform_id, platform_unique_id: platformUniqueId, deleted };
}
