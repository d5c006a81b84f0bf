import { escapeJson, escapeUnseen } from '../text/escape.js';
import { RULES } from './rules/rules.js';
import type { ScanReport } from './scan-report.js';
import { CERTAINTIES, type Certainty } from './scan-settings.js';

/** Most results that GitHub code scanning takes from one file. */
const MAX_RESULTS = 5000;
const LEVELS: Readonly<Record<Certainty, string>> = { certain: 'error', likely: 'warning', look: 'note' };

/** SARIF 2.1.0, the surest findings first. */
export function renderSarif(report: ScanReport): string {
  const ordered = CERTAINTIES.flatMap((name) =>
    report.findings.filter(({ certainty }) => certainty === name),
  );
  const left = ordered.length - MAX_RESULTS;
  const sarif = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: report.tool.name,
            version: report.tool.version,
            rules: RULES.map(({ id, title, message, v4 }) => ({
              id,
              name: title,
              shortDescription: { text: title },
              fullDescription: { text: message },
              help: { text: `${message} V4: ${v4}` },
            })),
          },
        },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: report.exitCode !== 2,
            toolExecutionNotifications:
              left > 0
                ? [{ level: 'warning', message: { text: `${left} more findings are left out.` } }]
                : [],
          },
        ],
        results: ordered.slice(0, MAX_RESULTS).map(buildResult),
      },
    ],
  };
  return `${escapeJson(JSON.stringify(sarif, null, 2))}\n`;
}

function buildResult(finding: ScanReport['findings'][number]) {
  const { file, line, column, rule, certainty, message, v4, fingerprint } = finding;
  return {
    ruleId: rule,
    ruleIndex: RULES.findIndex(({ id }) => id === rule),
    level: LEVELS[certainty],
    message: { text: `${message} V4: ${v4}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: file.split('/').map(encodeURIComponent).join('/') },
          region: { startLine: line, startColumn: column },
        },
      },
    ],
    partialFingerprints: { 'svcMigrate/v1': fingerprint },
  };
}

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

const COMMANDS: Readonly<Record<Certainty, string>> = { certain: 'error', likely: 'warning', look: 'notice' };

/** Workflow commands of GitHub Actions, one a line, which show findings beside the code. */
export function renderUseAnnotations({ findings }: ScanReport): string {
  return findings
    .map(({ file, line, column, certainty, rule, message, v4 }) => {
      const place = `file=${property(file)},line=${line},col=${column},title=${property(`svc-migrate ${rule}`)}`;
      return `::${COMMANDS[certainty]} ${place}::${data(`${message} V4: ${v4}`)}\n`;
    })
    .join('');
}

function data(text: string): string {
  return escapeUnseen(text).replaceAll('%', '%25');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
