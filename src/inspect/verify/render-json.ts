import type { Contradiction } from '../../store/conservation.js';
import type { Side } from './compare.js';
import { CONFIDENCE } from './confidence.js';
import { judgeVerify, type VerifyResult, type WrongPair } from './result.js';

/** The result for scripts; ids are digits in text. */
export function renderVerifyJson(result: VerifyResult): string {
  const { wrong, contradictions, coverage, rate, ...rest } = result;
  const value = {
    schemaVersion: 1,
    exitCode: judgeVerify(result),
    remap: rest.remap,
    contradictions: contradictions.map(({ code, total, first }) => ({
      code,
      total,
      first: first.map(contradictionOf),
    })),
    coverage,
    agree: rest.agree,
    disagree: wrong.length,
    gone: rest.gone,
    deletedSince: rest.deletedSince,
    failed: rest.failed,
    unread: rest.unread,
    firstError: rest.firstError,
    rate: rate === null ? null : { ...rate, confidence: CONFIDENCE, method: 'clopper_pearson_upper' },
    disagreements: wrong.map(wrongOf),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

function contradictionOf(one: Contradiction) {
  return {
    model: one.model,
    path: one.path,
    region: one.region,
    company_id: textOf(one.companyId),
    platform_id: one.platformId,
    v3_svc_id: textOf(one.v3SvcId),
    v4_svc_id: textOf(one.v4SvcId),
  };
}

function wrongOf({ pair, code, v3, v4 }: WrongPair) {
  return {
    code,
    model: pair.model,
    path: pair.path,
    region: pair.region,
    v3_company_id: textOf(pair.v3CompanyId),
    v4_company_id: textOf(pair.v4CompanyId),
    platform_id: pair.platformId,
    parent_platform_id: pair.parentPlatformId,
    v3_svc_id: textOf(pair.v3SvcId),
    v4_svc_id: textOf(pair.v4SvcId),
    status: pair.status,
    reason: pair.reason,
    v3: sideOf(v3),
    v4: sideOf(v4),
  };
}

function sideOf(side: Side | null) {
  if (side === null) return null;
  const { companyId, platformId, platformUniqueId, deleted } = side;
  return {
    company_id: textOf(companyId),
    platform_id: platformId,
    platform_unique_id: platformUniqueId,
    deleted,
  };
}

function textOf(id: bigint | null): string | null {
  return id === null ? null : String(id);
}
