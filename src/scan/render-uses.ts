import { escapeUnseen, renderJson } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { fitText, wrapLines } from '../text/text-layout.js';
import { RULES } from './judge-file.js';
import { CERTAINTIES, type Certainty } from './rules/rule.js';
import { type CodePlace, groupPlaces, type ScanReport } from './scan-report.js';

/** The findings by rule and file, each with its line, then what was read, the verdict and the next step. */
export function renderUses(report: ScanReport, width: number, isConfigured: boolean): string {
  const places = groupPlaces(report.findings);
  const blocks = RULES.flatMap(({ id, title, message, v4 }) => {
    const found = places.filter(({ findings }) => findings[0]?.rule === id);
    if (found.length === 0) return [];
    const head = wrapLines(
      [`${title} (${id}): ${countOf(found.length, 'place')}`, `  ${message}`, `  V4: ${v4}`],
      width,
    );
    return [`${head}${found.map((one) => renderPlace(one, width)).join('')}\n`];
  });
  const seen = describeTraffic(report).map((line, at) => (at === 0 ? line : `  ${line}`));
  const traffic = seen.length === 0 ? '' : `${wrapLines(seen, width)}\n`;
  return `${blocks.join('')}${traffic}${wrapLines(closingLines(report), width)}Next: ${nextOf(report, isConfigured)}\n`;
}

/** Where it is and its line, then what else has to change there. */
function renderPlace({ file, line, certainty, text, findings }: CodePlace, width: number): string {
  const more = findings.slice(1).map(({ rule, v4 }) => `also ${rule}: ${v4}`);
  const lines = [text, ...more].map((one) => `      ${fitText(escapeUnseen(one), Math.max(20, width - 6))}`);
  return `${[`  ${escapeUnseen(file)}:${line}  ${certainty}`, ...lines].join('\n')}\n`;
}

function closingLines(report: ScanReport): string[] {
  const { summary, ignored, hosts } = report;
  const languages = Object.entries(summary.filesByLanguage).map(([name, count]) => `${name} ${count}`);
  const skipped = countSkipped(report).map(([why, count]) => `${why} ${count}`);
  return [
    `Read: ${languages.length === 0 ? 'nothing' : languages.join(', ')}.`,
    ...(skipped.length === 0 ? [] : [`Not read: ${skipped.join(', ')}. --json names them.`]),
    ...(ignored.length === 0 ? [] : [`Ignored by comments: ${countOf(ignored.length, 'finding')}.`]),
    SCAN_LIMITS,
    ...(hosts.length === 0
      ? []
      : [`Only addresses of ${hosts.join(', ')} are V3's: name others with --v3-host.`]),
    describeUses(report),
  ];
}

function nextOf({ summary, hosts, outcome }: ScanReport, isConfigured: boolean): string {
  if (summary.filesRead === 0) return 'svc-migrate scan --help';
  if (hosts.length > 0 && outcome === 'fail') return 'svc-migrate help scan';
  return hosts.length > 0 && isConfigured ? 'svc-migrate check' : 'svc-migrate init';
}

/** Without a host, the default `--fail-on certain` passes whatever the code does. */
const NO_HOST =
  'But no V3 host is known, and without one no use can be certain: name it with --v3-host, or in a configuration (svc-migrate init).';

/** What was found, how much was read, and the verdict: the same words in every format. */
export function describeUses({ summary, outcome, failOn, hosts }: ScanReport): string {
  if (summary.filesRead === 0) {
    return `Failed: no file was read, ${summary.filesSkipped} not read, so nothing is known about uses of V3.`;
  }
  const { certain, likely, look } = summary.places;
  const uses = countOf(certain + likely + look, 'use');
  const kinds =
    certain + likely + look === 0 ? '' : ` (${certain} certain, ${likely} likely, ${look} to look at)`;
  const read = `in ${countOf(summary.filesRead, 'file')} read, ${summary.filesSkipped} not read`;
  const verdict = outcome === 'pass' ? 'passed' : 'failed';
  const limit =
    failOn === 'certain' ? 'no certain use may remain' : `no use may remain that is ${failOn} or surer`;
  const found = `${uses} of V3${kinds} ${read}: ${verdict}, as ${limit}.`;
  return hosts.length > 0 ? found : `${found} ${NO_HOST}`;
}

/** Why files were not read, with their number, most frequent first. */
function countSkipped({ files }: ScanReport): (readonly [why: string, count: number])[] {
  const found = new Map<string, number>();
  for (const { why } of files.skipped) found.set(why, (found.get(why) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]);
}

/** What the traffic adds; routes that no code was found for come first. */
function describeTraffic({ traffic }: ScanReport): string[] {
  if (traffic === null) return [];
  const { routes, notInCode, requests, unread } = traffic;
  const head =
    notInCode.length === 0
      ? `Every V3 route that was requested is in the code (${countOf(routes.length, 'route')}, ${countOf(requests, 'request')} read, ${countOf(unread, 'line')} not).`
      : `REQUESTED, BUT NOT FOUND IN THE CODE: ${notInCode.join(', ')} (${countOf(requests, 'request')} read, ${countOf(unread, 'line')} not).`;
  const lines = routes.map(({ route, requests: times, callers, parameters }) => {
    const from = callers.length === 0 ? '' : ` from ${callers.join('; ')}`;
    return `${route}: ${countOf(times, 'request')}${from}${parameters.length === 0 ? '' : ` with ${parameters.join(', ')}`}`;
  });
  return [head, ...lines];
}

/** What the scan cannot tell. */
const SCAN_LIMITS =
  'Not seen: addresses put together at run time, clients passed in from elsewhere, code that is not in these files.';

/** Maximum number of results that GitHub code scanning accepts in one file. */
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
                ? [{ level: 'warning', message: { text: `Left out: ${countOf(left, 'more finding')}.` } }]
                : [],
          },
        ],
        results: ordered.slice(0, MAX_RESULTS).map(buildResult),
      },
    ],
  };
  return renderJson(sarif);
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
  return renderJson(issues);
}

const COMMANDS: Readonly<Record<Certainty, string>> = { certain: 'error', likely: 'warning', look: 'notice' };

/** GitHub shows at most ten annotations of a step and kind. */
const MAX_ANNOTATIONS = 10;

/** Workflow commands of GitHub Actions, one a line, which show the first findings of each certainty beside the code. */
export function renderUseAnnotations({ findings }: ScanReport): string {
  return CERTAINTIES.flatMap((name) =>
    findings.filter(({ certainty }) => certainty === name).slice(0, MAX_ANNOTATIONS),
  )
    .map(({ file, line, column, certainty, rule, message, v4 }) => {
      const title = escapeProperty(`svc-migrate ${rule}`);
      const place = `file=${escapeProperty(file)},line=${line},col=${column},title=${title}`;
      return `::${COMMANDS[certainty]} ${place}::${escapeData(`${message} V4: ${v4}`)}\n`;
    })
    .join('');
}

function escapeData(text: string): string {
  return escapeUnseen(text).replaceAll('%', '%25');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
