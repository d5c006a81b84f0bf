import type { Contradiction, ContradictionCode } from '../../store/conservation.js';
import type { MappedPair } from '../../store/mapped-pairs.js';
import { layLines } from '../../text/lay-lines.js';
import { countOf, formatTime, groupDigits } from '../../text/numbers.js';
import type { Disagreement, Side } from './compare.js';
import { CONFIDENCE } from './confidence.js';
import { judgeVerify, type VerifyResult, type WrongPair } from './result.js';

/** Listed per kind; `--json` lists more. */
const SHOWN = 10;

const CONTRADICTIONS: Readonly<Record<ContradictionCode, string>> = {
  not_in_remap: 'exported from V3, and in no row of the remap',
  twice_in_remap: 'exported from V3 once, and in several rows of the remap',
  not_exported: 'in the remap with a V3 id or platform_id that was not exported so',
  v4_not_in_remap: 'exported from V4, and in no row of the remap',
  v4_not_exported: 'in the remap with a V4 id that was not exported with this company and platform_id',
  v4_claimed_twice: 'a V4 id that several V3 records are matched to',
  ids_against_status: 'a row whose status does not go with its ids',
  deletion_against_status: 'a row whose status does not go with what was deleted on either side',
  unique_id_differs: 'paired by platform_unique_id, and these differ',
  child_outside_parent: 'a pair of children that do not lie in a pair of records',
  child_against_parent: 'a child whose status does not go with that of the record it lies in',
  company_not_paired: 'a pair across companies that are no pair',
  key_exists_in_v4: 'said to be missing in V4, where a record has its platform_id',
};

const DISAGREEMENTS: Readonly<Record<Disagreement, string>> = {
  v3_not_found: 'V3 does not show it',
  v4_not_found: 'V4 does not show it',
  parent_not_mapped: 'it lies in no pair of records',
  company_differs: 'another company',
  platform_id_differs: 'the two have different platform_ids',
  platform_id_changed: 'both have another platform_id than when they were exported',
  unique_id_differs: 'the two have different platform_unique_ids, and were told apart by these',
};

/** What was held against what, what came of it, and how sure that is. */
export function renderVerify(result: VerifyResult, width: number): string {
  const lines = [
    ...describeRemap(result),
    ...describeContradictions(result),
    ...describeReading(result),
    ...describeWrong(result.wrong),
    ...describeRate(result),
    '',
    describeOutcome(result),
  ];
  return layLines(lines, width);
}

function describeRemap({ remap }: VerifyResult): string[] {
  return [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}…: unchanged since it was built.`,
  ];
}

function describeContradictions({ contradictions }: VerifyResult): string[] {
  if (contradictions.length === 0) {
    return [
      'Against the export: every V3 record and child is in exactly one row, every V4 one in at least one, and no row contradicts the records.',
    ];
  }
  return contradictions.flatMap(({ code, total, first }) => [
    `Against the export: ${groupDigits(total)} × ${CONTRADICTIONS[code]}:`,
    ...first.slice(0, SHOWN).map((one) => `  ${nameContradiction(one)}`),
    ...(total > SHOWN ? [`  … and ${groupDigits(total - SHOWN)} more`] : []),
  ]);
}

function nameContradiction(one: Contradiction): string {
  const { model, path, region, companyId, platformId, v3SvcId, v4SvcId } = one;
  const place = [model, path, region ?? '', `company ${companyId}`].filter((part) => part !== '').join(' ');
  return `${place}: V3 ${v3SvcId ?? '-'}, V4 ${v4SvcId ?? '-'}, platform_id ${platformId ?? '(none)'}`;
}

function describeReading({
  coverage,
  agree,
  wrong,
  gone,
  deletedSince,
  failed,
  unread,
  firstError,
}: VerifyResult) {
  const { kind, pairs, strata, seed, drawn, extra } = coverage;
  const asked =
    kind === 'all'
      ? `all ${countOf(pairs, 'pair')}`
      : `${groupDigits(drawn)} of ${countOf(pairs, 'pair')}, drawn with seed ${seed} in proportion to ${groupDigits(strata)} models of companies${extra > 0 ? `, and ${groupDigits(extra)} more so that none is left out` : ''}`;
  const lines = [
    `Against both APIs: ${asked}.`,
    `  ${groupDigits(agree)} agree in company and platform_id, ${groupDigits(wrong.length)} disagree`,
  ];
  if (deletedSince > 0)
    lines.push(`  ${groupDigits(deletedSince)} of them were deleted in V4 since the export`);
  if (gone > 0)
    lines.push(`  ${groupDigits(gone)} were deleted in V4 and are not shown any more: not proved`);
  if (failed + unread > 0) {
    const stopped = unread > 0 ? `, ${groupDigits(unread)} not asked for after that` : '';
    lines.push(`  ${groupDigits(failed)} could not be read${stopped}. First: ${firstError ?? ''}`);
  }
  return lines;
}

function describeWrong(wrong: readonly WrongPair[]): string[] {
  if (wrong.length === 0) return [];
  return [
    'Disagree:',
    ...wrong
      .slice(0, SHOWN)
      .map((one) => `  ${namePair(one.pair)}: ${DISAGREEMENTS[one.code]}${saysNow(one)}`),
    ...(wrong.length > SHOWN ? [`  … and ${groupDigits(wrong.length - SHOWN)} more; --json lists all`] : []),
  ];
}

function namePair({
  model,
  path,
  region,
  v3CompanyId,
  v3SvcId,
  v4CompanyId,
  v4SvcId,
  platformId,
}: MappedPair) {
  const what = path === '' ? model : `${model} ${path}`;
  return `${what} V3 ${v3SvcId} (${region}, company ${v3CompanyId}) → V4 ${v4SvcId} (company ${v4CompanyId}), platform_id ${platformId ?? '(none)'}`;
}

function saysNow({ v3, v4 }: WrongPair): string {
  const one = (name: string, side: Side | null) =>
    side === null
      ? []
      : [`${name} says company ${side.companyId}, platform_id ${side.platformId ?? '(none)'}`];
  const said = [...one('V3', v3), ...one('V4', v4)];
  return said.length === 0 ? '' : ` (${said.join('; ')})`;
}

function describeRate({ rate, coverage, failed, unread }: VerifyResult): string[] {
  if (rate === null) return [];
  const { read, wrong, atMost } = rate;
  const most = Math.min(coverage.pairs, Math.ceil(atMost * coverage.pairs));
  const rule = wrong === 0 ? ', for none wrong the rule of three (3/n)' : '';
  const unknown = failed + unread > 0 ? ' Pairs that could not be read are left out of this.' : '';
  return [
    `Of the ${groupDigits(read)} drawn and read, ${groupDigits(wrong)} are wrong: with ${CONFIDENCE * 100} % confidence at most ${formatPercent(atMost)} of all pairs are, that is ${groupDigits(most)} of ${groupDigits(coverage.pairs)} (exact one-sided Clopper–Pearson bound${rule}).${unknown}`,
  ];
}

/** Rounded up: a bound must not look better than it is. */
function formatPercent(share: number): string {
  return `${(Math.ceil(share * 10_000) / 100).toFixed(2)} %`;
}

function describeOutcome(result: VerifyResult): string {
  switch (judgeVerify(result)) {
    case 0:
      return result.coverage.kind === 'all'
        ? 'Verified: all pairs agree.'
        : 'Verified: all sampled pairs agree.';
    case 1:
      return 'NOT verified: the remap is wrong somewhere. Do not use it; run `svc-migrate run` and verify again.';
    case 4:
      return 'Not verified: not every pair could be read. Run the same command again.';
    case 5:
      return 'There is nothing to verify: the remap holds no pair.';
  }
}
