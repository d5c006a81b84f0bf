import { shellLine } from '../text/escape.js';
import type { Report } from './report-schema.js';

/** What settles a finding or a failed limit: a command, by `status/reason`, reason or the name of the limit. */
const COMMANDS: Readonly<Record<string, (key: string, report: Report) => readonly string[]>> = {
  company_ambiguous: () => ['findings', '--write-companies', 'companies-draft.csv'],
  duplicate_platform_id_v3: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  duplicate_platform_id_v4: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  key_changed: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  outside_backfill_window: () => ['report', '--full-sync', 'full-sync.md'],
  model_not_in_v4: () => ['doctor'],
  scope_incomplete: () => ['run'],
  unexplained: explainSample,
  unique_id_conflict: () => ['dump', '--output', 'remap.csv'],
  drift: explainDrift,
  rejected: () => ['doctor'],
  short: () => ['status'],
  decision_stale: () => ['remap'],
  v3_uses: () => ['scan', '--save'],
  maxAge: () => ['run'],
};

/** The command to run next for an obstacle to the cutover, as it can be typed. */
export function commandFor(key: string, report: Report): string {
  const reason = key.split('/').at(-1) ?? key;
  const words = (COMMANDS[reason] ?? listFindings)(key, report);
  return shellLine(['svc-migrate', ...words, ...(isNarrowed(words) ? scopeOptions(report.scope) : [])]);
}

function isNarrowed([command]: readonly string[]): boolean {
  return command === 'findings' || command === 'report' || command === 'dump';
}

function scopeOptions({ models, companies }: Report['scope']): string[] {
  return [
    ...(models ?? []).flatMap((model) => ['--model', model]),
    ...(companies ?? []).flatMap((id) => ['--company', id]),
  ];
}

function listFindings(key: string): readonly string[] {
  const [status = key, reason] = key.split('/');
  return ['findings', '--status', status, ...(reason === undefined ? [] : ['--reason', reason])];
}

function explainSample(key: string, report: Report): readonly string[] {
  const sample = report.findings.samples.find((one) => `${one.status}/${one.reason}` === key);
  const id = sample?.v3_svc_id ?? sample?.v4_svc_id;
  if (sample === undefined || id == null) return listFindings(key);
  return ['explain', sample.model, id, ...(sample.path === '' ? [] : ['--path', sample.path])];
}

function explainDrift(_: string, { drift }: Report): readonly string[] {
  const [sample] = drift.samples;
  return sample === undefined ? ['run'] : ['explain', sample.model, sample.v3_svc_id];
}
