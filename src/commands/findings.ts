import { Command, Option } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { isAccepted, limitOf } from '../limits.js';
import {
  bareReason,
  describeOutcome,
  FINDING_STATUSES,
  isReason,
  outcomeKey,
  REASONS,
  rankOfKey,
  type Status,
  splitKey,
} from '../reasons.js';
import type { RemapFilter, RemapRow } from '../store/remap.js';
import type { RowTally } from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { at } from '../text/at.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { groupBy, sumOf } from '../text/rows.js';
import { didYouMeanClause } from '../text/suggest.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
import { narrowingOf, repeatable, repeatableId, wholeNumber } from './options.js';
import { assertCompanies } from './report.js';

const DEFAULT_LIMIT = 5;

export const findingsCommand: DefineCommand = (run) =>
  new Command('findings')
    .summary('list what is not matched, and draft answers')
    .description(
      'Lists the first findings of each reason; --json writes all of them. Drafts are comments: they settle nothing until they are edited.',
    )
    .option('--model <path>', 'only this V3 model (repeatable)', repeatable)
    .option('--company <id>', 'only this V3 company (repeatable)', repeatableId)
    .option('--reason <reason>', 'only this reason (repeatable)', repeatable)
    .addOption(new Option('--status <status>', 'only this status').choices(FINDING_STATUSES))
    .option('--limit <n>', 'findings of each reason to show; 0: all', wholeNumber(0, 1e9), DEFAULT_LIMIT)
    .option('--json <file>', 'write all findings as JSON (- is stdout)')
    .option('--write-decisions <file>', 'draft decisions.csv for what a person can decide')
    .option('--write-companies <file>', 'draft companies.csv for companies without a certain pair')
    .addHelpText('after', '\nExample:\n  svc-migrate findings --write-decisions decisions.csv')
    .action((options, command) => run(command, ['json'], (io) => findings(options, io)));

interface FindingsOptions {
  readonly model?: readonly string[] | undefined;
  readonly company?: readonly bigint[] | undefined;
  readonly reason?: readonly string[] | undefined;
  readonly status?: Status | undefined;
  readonly limit: number;
  readonly writeDecisions?: string | undefined;
  readonly writeCompanies?: string | undefined;
}

async function findings(options: FindingsOptions, io: Io): Promise<Result> {
  const config = await io.config();
  const narrowing = narrowingOf(options, config);
  const filter: RemapFilter = {
    ...narrowing,
    statuses: options.status === undefined ? FINDING_STATUSES : [options.status],
    reasons: options.reason?.flatMap(withParents) ?? [],
  };
  const { readRemapRun } = await import('../store/remap.js');
  const { readLastRemap } = await import('./database.js');
  const { readFindingLines } = await import('./remap-lines.js');
  return readLastRemap(config, { allowIncomplete: true }, io, async (db, stale) => {
    assertCompanies(db, narrowing.companies);
    const sha256 = readRemapRun(db)?.sha256 ?? null;
    const head = { schemaVersion: 1, exitCode: 0, remap: { sha256, stale } };
    const outputs = { json: () => renderJsonList(head, readFindingLines(config, filter, sha256)) };
    const isDraft = options.writeDecisions !== undefined || options.writeCompanies !== undefined;
    const text = isDraft
      ? await writeDrafts(db, config, filter, options)
      : await listFindings(db, config, filter, options);
    return { exitCode: 0, text, outputs };
  });
}

/** One JSON document, written row by row: there may be millions. */
function* renderJsonList(head: object, lines: Iterable<string>): Generator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"findings":[`;
  let separator = '\n';
  for (const line of lines) {
    yield `${separator}${line.trimEnd()}`;
    separator = ',\n';
  }
  yield '\n]}\n';
}

/** A reason and the line items of its records; with `parent_`, only these. @throws SvcError `usage` */
function withParents(reason: string): string[] {
  const bare = bareReason(reason);
  if (!isReason(bare)) {
    throw new SvcError('usage', `"${reason}" is not a reason${didYouMeanClause(reason, REASONS)}`, {
      hint: 'The page `svc-migrate help reasons` lists them.',
    });
  }
  return bare === reason ? [reason, `parent_${reason}`] : [reason];
}

async function listFindings(
  db: Db,
  config: Config,
  filter: RemapFilter,
  { limit, reason = [] }: FindingsOptions,
): Promise<(style: Style) => string> {
  const { readFirstFindings } = await import('../store/report-rows.js');
  const { readOutcomes } = await import('../store/report-rows.js');
  const { renderSection } = await import('../report/render-text.js');
  const { wrapText } = await import('../text/wrap.js');
  const isOfParents = reason.some((name) => name.startsWith('parent_'));
  const max = limit === 0 ? Number.MAX_SAFE_INTEGER : limit;
  const rows = readFirstFindings(db, filter, max, isOfParents);
  const counts = readOutcomes(db, filter);
  if (counts.length === 0) return () => 'No findings.\n';
  const sections = await describeReasons(rows, counts, config.v3.regions.length > 1);
  const next = await nextFor(db, config, filter, counts);
  const total = sumOf(counts, (row) => row.rows);
  const shown = `${groupDigits(rows.length)} of ${countOf(total, 'finding')} shown; line items of records that are findings are counted only. --limit 0 shows all, --json FILE writes all.`;
  return (style) => {
    const blocks = sections.map((section) => renderSection(section, { ...style, verbose: true }));
    const end = [shown, `Next: ${next}`].flatMap((line) => wrapText(line, style.width));
    return `${[...blocks, end].map((lines) => lines.join('\n')).join('\n\n')}\n`;
  };
}

const MAX_CHARS = 60;
const TITLES = ['V3 id', 'V4 id', 'Company', 'Model', 'platform_id'];

async function describeReasons(rows: readonly RemapRow[], counts: readonly RowTally[], namesRegion: boolean) {
  const { nameOfPath, tableOf } = await import('../report/document.js');
  const { describeIds, titleWithKey } = await import('../report/next-steps.js');
  const { countIds } = await import('../report/gate.js');
  const { cutText } = await import('../text/wrap.js');
  const rowsByKey = groupBy(rows, keyOf);
  return [...groupBy(counts, keyOf)]
    .sort(([a], [b]) => rankOfKey(a) - rankOfKey(b))
    .map(([key, tallies]) => {
      const cells = (rowsByKey.get(key) ?? []).map((row) => [
        row.v3_svc_id === null ? null : String(row.v3_svc_id),
        row.v4_svc_id === null ? null : String(row.v4_svc_id),
        row.v3_company_id === null
          ? `V4 ${row.v4_company_id}`
          : `${row.v3_company_id}${namesRegion ? ` in ${row.region}` : ''}`,
        nameOfPath(row),
        cutText(row.platform_id ?? '–', MAX_CHARS),
      ]);
      const ids = describeIds(countIds(tallies));
      const title = `${titleWithKey(key)}: ${ids}`;
      return {
        id: key,
        title,
        texts: [describeOutcome(...splitKey(key)).meaning],
        ...tableOf(TITLES, cells),
      };
    });
}

function keyOf({ status, reason }: Pick<RowTally, 'status' | 'reason'>): string {
  return outcomeKey(status, reason);
}

/** The step for what is most among the findings that no limit accepts. */
async function nextFor(
  db: Db,
  { limits }: Config,
  filter: RemapFilter,
  counts: readonly RowTally[],
): Promise<string> {
  const { actionFor } = await import('../report/next-steps.js');
  const { countSpareV4Companies, readWindows } = await import('../store/report-rows.js');
  const refused = counts.filter((row) => !isAccepted(limits, row));
  const sum = (tallies: readonly RowTally[]) => sumOf(tallies, (row) => row.rows);
  const [most] = [...groupBy(refused, keyOf)].sort(([, a], [, b]) => sum(b) - sum(a));
  if (most === undefined) return 'Nothing to decide: limits and decisions accept all of them.';
  const [key, tallies] = most;
  const facts = { windows: readWindows(db, filter), spareV4Companies: countSpareV4Companies(db) };
  return actionFor(key, facts, limitOf(limits, at(tallies, 0)).model);
}

async function writeDrafts(
  db: Db,
  config: Config,
  filter: RemapFilter,
  { writeDecisions, writeCompanies }: FindingsOptions,
): Promise<(style: Style) => string> {
  const { COMPANIES_HEADER, DECISIONS_HEADER } = await import('../config/user-files.js');
  const { draftCompanies, draftDecisions } = await import('../inspect/draft-answers.js');
  const { createFile } = await import('../runtime/write-output.js');
  const { wrapText } = await import('../text/wrap.js');
  const written: string[] = [];
  const next: string[] = [];
  if (writeDecisions !== undefined) {
    const { text, v3, v4 } = draftDecisions(db, config, filter, DECISIONS_HEADER);
    await createFile(writeDecisions, text);
    written.push(`Wrote ${writeDecisions}: ${countOf(v3, 'V3 id')} and ${countOf(v4, 'V4 id')} to decide.`);
    const use =
      config.decisions === null
        ? 'name it as "decisions" in the configuration'
        : `add its lines to ${config.decisions}`;
    next.push(nextOfDraft(v3 + v4, writeDecisions, use));
  }
  if (writeCompanies !== undefined) {
    const { text, v3 } = draftCompanies(db, filter, COMPANIES_HEADER);
    await createFile(writeCompanies, text);
    written.push(`Wrote ${writeCompanies}: ${countOf(v3, 'V3 company', 'V3 companies')} to pair.`);
    const { match } = config.companies;
    const use =
      typeof match === 'string'
        ? 'set "companies": {"match": {"file": …}} to it'
        : `add its lines to ${match.file}`;
    next.push(nextOfDraft(v3, writeCompanies, use));
  }
  return ({ width }) => `${[...written, ...next].flatMap((line) => wrapText(line, width)).join('\n')}\n`;
}

/** A second draft must not replace the file of the first: its answers would be lost. */
function nextOfDraft(lines: number, file: string, use: string): string {
  return lines === 0
    ? `Next: ${file} has no line to fill in: accept what is left in "limits", or ask the operator.`
    : `Next: Edit ${file}, ${use}, and run \`svc-migrate remap\`.`;
}
