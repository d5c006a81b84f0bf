import { append } from '../text/rows.js';
import * as z from '../zod.js';
import { atLeast, CERTAINTIES, type Certainty, RULE_IDS, type RuleId } from './rules/rule.js';

/** Raised for changes that break consumers of the JSON. */
const SCAN_SCHEMA_VERSION = 1;

const count = z.int().nonnegative();
const certainty = z.enum(CERTAINTIES);
const rule = z.enum(RULE_IDS);
const counts = z.strictObject({ certain: count, likely: count, look: count });

const finding = z.strictObject({
  file: z.string().describe('Relative to the working folder, with slashes.'),
  line: z.int().positive(),
  column: z.int().positive(),
  rule,
  certainty,
  message: z.string(),
  v4: z.string().describe('What V4 has instead.'),
  text: z.string().describe('The line, shortened.'),
  fingerprint: z.string().describe('Stays the same when lines are added above.'),
  route: z.string().nullable().describe('The V3 model of a route, such as `accounting/invoices`.'),
});

const traffic = z.strictObject({
  requests: count.describe('Requests in the file, to any address.'),
  unread: count.describe('Lines that are no request in a known form.'),
  routes: z
    .array(
      z.strictObject({
        route: z.string(),
        requests: count,
        parameters: z.array(z.string()),
        callers: z.array(z.string()),
        places: z.array(z.string()).describe('`file:line` of the findings of this route.'),
      }),
    )
    .describe('V3 routes that were requested, most frequent first.'),
  notInCode: z.array(z.string()).describe('Requested routes that no finding names.'),
});

/** The JSON of `scan`. */
export const scanSchema = z.strictObject({
  schemaVersion: z.literal(SCAN_SCHEMA_VERSION),
  tool: z.strictObject({ name: z.literal('svc-migrate'), version: z.string() }),
  outcome: z.enum(['pass', 'fail']),
  exitCode: z.exitCodeSchema,
  failOn: certainty.describe('Findings at least this sure make the outcome fail, as does reading no file.'),
  hosts: z
    .array(z.string())
    .describe('V3 addresses that were looked for. Empty: none is known, so that no finding can be certain.'),
  findings: z.array(finding),
  files: z.strictObject({
    read: z.array(z.strictObject({ path: z.string(), language: z.string() })),
    skipped: z
      .array(z.strictObject({ path: z.string(), why: z.string() }))
      .describe('Files that were not read, and folders that were left out as a whole.'),
  }),
  ignored: z
    .array(z.strictObject({ file: z.string(), line: z.int().positive(), rule, reason: z.string() }))
    .describe('Findings that an svc-migrate-ignore comment calls intended.'),
  traffic: traffic.nullable().describe('What --traffic read; null without it.'),
  summary: z.strictObject({
    places: counts.describe('Findings about the address on one line are one place.'),
    findings: counts,
    byRule: z.partialRecord(rule, counts),
    filesRead: count,
    filesSkipped: count,
    filesByLanguage: z.record(z.string(), count),
    ignored: count,
  }),
});

export type ScanReport = z.output<typeof scanSchema>;
/** A place that still uses V3. */
export type V3Use = z.output<typeof finding>;
/** A finding that a comment excepts, with the reason it gives. */
export type IgnoredUse = ScanReport['ignored'][number];

/** What a scan found. */
export type ScanResult = Pick<ScanReport, 'findings' | 'files' | 'ignored'>;

type Traffic = z.output<typeof traffic>;

/** What a log shows: the V3 routes that were requested, by number of requests. */
export interface SeenTraffic extends Pick<Traffic, 'requests' | 'unread'> {
  readonly routes: readonly Omit<Traffic['routes'][number], 'places'>[];
}

/** Rules that find different parts of one address. */
const OF_ADDRESS: ReadonlySet<RuleId> = new Set([
  'base-url',
  'route',
  'company-filter',
  'query-parameter',
  'hard-coded-id',
]);

/** A place in the code that has to change: a finding, or all findings about the address on one line. */
export interface CodePlace extends Readonly<Pick<V3Use, 'file' | 'line' | 'text'>> {
  /** The certainty of its surest finding. */
  readonly certainty: Certainty;
  /** In the order of the rules. */
  readonly findings: readonly V3Use[];
}

/** Groups findings into places, in the order of the findings. */
export function groupPlaces(findings: readonly V3Use[]): readonly CodePlace[] {
  const groups = new Map<string, V3Use[]>();
  for (const one of findings) {
    const what = OF_ADDRESS.has(one.rule) ? 'address' : one.rule;
    const key = `${one.file}\0${one.line}\0${what}`;
    append(groups, key, one);
  }
  return [...groups.values()].flatMap((found) => {
    const sorted = found.toSorted((a, b) => RULE_IDS.indexOf(a.rule) - RULE_IDS.indexOf(b.rule));
    const [first] = sorted;
    if (first === undefined) return [];
    const certainty = CERTAINTIES.find((one) => found.some((use) => use.certainty === one)) ?? 'look';
    return [{ file: first.file, line: first.line, text: first.text, certainty, findings: sorted }];
  });
}

export interface ScanReportOptions {
  readonly failOn: Certainty;
  readonly hosts: readonly string[];
  readonly toolVersion: string;
  /** null: no traffic was read. */
  readonly seen: SeenTraffic | null;
}

/** Counts and judges what a scan found. */
export function buildScanReport(
  result: ScanResult,
  { failOn, hosts, toolVersion, seen }: ScanReportOptions,
): ScanReport {
  const { findings, files, ignored } = result;
  const failing = atLeast(failOn);
  const isRead = files.read.length > 0;
  const isFailed = !isRead || findings.some((one) => failing.includes(one.certainty));
  const used = RULE_IDS.filter((id) => findings.some((one) => one.rule === id));
  return {
    schemaVersion: SCAN_SCHEMA_VERSION,
    tool: { name: 'svc-migrate', version: toolVersion },
    outcome: isFailed ? 'fail' : 'pass',
    exitCode: isRead ? (isFailed ? 1 : 0) : 2,
    failOn,
    hosts: [...hosts],
    findings,
    files,
    ignored,
    traffic: seen === null ? null : joinTraffic(seen, findings),
    summary: {
      places: countByCertainty(groupPlaces(findings)),
      findings: countByCertainty(findings),
      byRule: Object.fromEntries(
        used.map((id) => [id, countByCertainty(findings.filter((one) => one.rule === id))]),
      ),
      filesRead: files.read.length,
      filesSkipped: files.skipped.length,
      filesByLanguage: countLanguages(files.read),
      ignored: ignored.length,
    },
  };
}

/** Joins the routes that were requested with the places found in code. */
function joinTraffic({ requests, unread, routes }: SeenTraffic, findings: ScanResult['findings']): Traffic {
  const joined = routes.map((one) => ({
    ...one,
    places: findings.filter(({ route }) => route === one.route).map(({ file, line }) => `${file}:${line}`),
  }));
  const notInCode = joined.filter(({ places }) => places.length === 0).map(({ route }) => route);
  return { requests, unread, routes: joined, notInCode };
}

function countByCertainty(findings: readonly { readonly certainty: Certainty }[]): z.output<typeof counts> {
  const countOf = (name: Certainty) => findings.filter((one) => one.certainty === name).length;
  return { certain: countOf('certain'), likely: countOf('likely'), look: countOf('look') };
}

function countLanguages(read: ScanReport['files']['read']): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { language } of read) found[language] = (found[language] ?? 0) + 1;
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}
