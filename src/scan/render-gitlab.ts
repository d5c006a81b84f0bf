import { escapeJson } from '../text/escape.js';
import type { ScanReport } from './scan-report.js';
import type { Certainty } from './scan-settings.js';

const SEVERITIES: Readonly<Record<Certainty, string>> = { certain: 'major', likely: 'minor', look: 'info' };

/** The findings as a code quality report, which GitLab shows in merge requests. */
export function renderGitlab({ findings }: ScanReport): string {
  const issues = findings.map(({ file, line, rule, certainty, message, v4, fingerprint }) => ({
    engine_name: 'svc-migrate',
    type: 'issue',
    check_name: rule,
    description: `${message} V4: ${v4}`,
    fingerprint,
    severity: SEVERITIES[certainty],
    categories: ['Compatibility'],
    location: { path: file, lines: { begin: line } },
  }));
  return `${escapeJson(JSON.stringify(issues, null, 2))}\n`;
}
