import { escapeJson } from '../text/escape.js';
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
