import type { Api } from '../api/client.js';
import type { OnProgress } from '../domain.js';
import { checkClocks, checkHosts, checkPages, checkV3 } from './doctor-hosts.js';
import { checkConfig, checkDatabase, checkDisk, checkKeys, type LocalFacts } from './doctor-local.js';
import { checkCompanies, checkDeleted, checkModels, checkNames } from './doctor-v4.js';
import { type Correction, collectFindings, type Finding, type Findings, judgeFindings } from './finding.js';
import { type RemoteFacts, sampleLists } from './sample-lists.js';

export interface Diagnosis {
  readonly schemaVersion: 1;
  readonly ready: boolean;
  readonly exitCode: number;
  readonly findings: readonly Finding[];
  /** Settings to change, as they belong into the configuration. */
  readonly corrections: readonly Correction[];
}

const LOCAL_CHECKS: readonly (readonly [
  area: string,
  check: (facts: LocalFacts, findings: Findings) => void,
])[] = [
  ['configuration', checkConfig],
  ['keys', checkKeys],
  ['database', checkDatabase],
  ['disk', checkDisk],
];

const REMOTE_CHECKS: readonly (readonly [
  area: string,
  check: (facts: RemoteFacts, findings: Findings) => void | Promise<void>,
])[] = [
  ['hosts', checkHosts],
  ['V3', checkV3],
  ['V4 companies', checkCompanies],
  ['V4 models', checkModels],
  ['V4 models', checkNames],
  ['page size', checkPages],
  ['deleted records', checkDeleted],
  ['clock', checkClocks],
];

/**
 * Checks everything that a migration needs. Writes nothing.
 *
 * @param openApi makes the client; its keys may be missing for some endpoints
 */
export async function diagnose(
  local: LocalFacts,
  openApi: () => Api,
  onProgress: OnProgress,
): Promise<Diagnosis> {
  const findings: Finding[] = [];
  const corrections: Correction[] = [];
  for (const [area, check] of LOCAL_CHECKS) check(local, collectFindings(area, findings, corrections));
  const api = openApi();
  try {
    onProgress({ kind: 'step', name: 'ask for samples', done: 0, total: null });
    const samples = await sampleLists(local, api);
    const facts: RemoteFacts = { config: local.config, api, samples };
    for (const [area, check] of REMOTE_CHECKS) {
      onProgress({ kind: 'step', name: area, done: 0, total: null });
      await check(facts, collectFindings(area, findings, corrections));
    }
  } finally {
    await api.close();
  }
  return buildDiagnosis(findings, corrections);
}

export function buildDiagnosis(findings: readonly Finding[], corrections: readonly Correction[]): Diagnosis {
  const exitCode = judgeFindings(findings);
  return { schemaVersion: 1, ready: exitCode === 0, exitCode, findings, corrections };
}
