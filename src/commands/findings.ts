import { Command, Option } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { bareReason, isReason, REASONS, STATUSES, type Status } from '../reasons.js';
import type { FindingFilter } from '../store/findings.js';
import type { Db } from '../store/sqlite.js';
import { countOf } from '../text/numbers.js';
import { didYouMeanClause } from '../text/suggest.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
import { narrowingOf, repeatable, repeatableId, wholeNumber } from './options.js';
import { assertCompanies, scopeOf } from './report.js';

const DEFAULT_LIMIT = 5;
const FINDING_STATUSES = STATUSES.filter((status) => status !== 'matched');

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
  const filter: FindingFilter = {
    ...scopeOf(narrowing),
    statuses: options.status === undefined ? null : [options.status],
    reasons: options.reason?.flatMap(withParents) ?? null,
  };
  const { assertUsableRemap, readStaleness } = await import('../store/readiness.js');
  const { readRemapRun } = await import('../store/remap.js');
  const { readDatabase } = await import('./read-database.js');
  return readDatabase(config, async (db) => {
    assertUsableRemap(db, config, { allowIncomplete: true, allowStale: true });
    assertCompanies(db, narrowing.companies);
    const changes = readStaleness(db, config);
    if (changes.length > 0) {
      const text = `The remap is stale. Changed since it was built: ${changes.join(', ')}.`;
      io.onProgress({ kind: 'note', level: 'warning', text });
    }
    const sha256 = readRemapRun(db)?.sha256 ?? null;
    const { readFindingLines } = await import('./finding-lines.js');
    const head = { schemaVersion: 1, exitCode: 0, remap: { sha256, stale: changes.length > 0 } };
    const outputs = { json: () => renderJsonList(head, readFindingLines(config, filter, sha256)) };
    const drafts = await writeDrafts(db, config, filter, options);
    const text =
      drafts.length > 0 ? await printDrafts(drafts) : await listFindings(db, config, filter, options);
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
  { limits }: Config,
  filter: FindingFilter,
  { limit, reason = [] }: FindingsOptions,
): Promise<(style: Style) => string> {
  const { countFindings, readFirstFindings } = await import('../store/findings.js');
  const { renderFindings } = await import('../report/render-findings.js');
  const { listWindows } = await import('../report/build-report.js');
  const isOfParents = reason.some((name) => name.startsWith('parent_'));
  const rows = readFirstFindings(db, filter, limit === 0 ? Number.MAX_SAFE_INTEGER : limit, isOfParents);
  const counts = countFindings(db, filter);
  const windows = listWindows(db, filter);
  return ({ width }) => renderFindings({ rows, counts, windows, limits, width });
}

interface WrittenDraft {
  readonly written: string;
  readonly next: string;
}

/** @throws SvcError `usage` if a file exists */
async function writeDrafts(
  db: Db,
  config: Config,
  filter: FindingFilter,
  { writeDecisions, writeCompanies }: FindingsOptions,
): Promise<WrittenDraft[]> {
  if (writeDecisions === undefined && writeCompanies === undefined) return [];
  const { COMPANIES_HEADER, DECISIONS_HEADER } = await import('../config/user-files.js');
  const { draftCompanies, draftDecisions } = await import('../report/draft-answers.js');
  const { createFile } = await import('../runtime/write-output.js');
  const drafts: WrittenDraft[] = [];
  if (writeDecisions !== undefined) {
    const { text, v3, v4 } = draftDecisions(db, config, filter, DECISIONS_HEADER);
    await createFile(writeDecisions, text);
    drafts.push({
      written: `Wrote ${writeDecisions}: ${countOf(v3, 'V3 id')} and ${countOf(v4, 'V4 id')} to decide.`,
      next: `Edit ${writeDecisions}, name it as "decisions" in the configuration, and run \`svc-migrate remap\`.`,
    });
  }
  if (writeCompanies !== undefined) {
    const { text, v3 } = draftCompanies(db, filter, COMPANIES_HEADER);
    await createFile(writeCompanies, text);
    drafts.push({
      written: `Wrote ${writeCompanies}: ${countOf(v3, 'V3 company', 'V3 companies')} to pair.`,
      next: `Edit ${writeCompanies}, set "companies": {"match": {"file": …}} to it, and run \`svc-migrate remap\`.`,
    });
  }
  return drafts;
}

async function printDrafts(drafts: readonly WrittenDraft[]): Promise<(style: Style) => string> {
  const { wrapText } = await import('../text/wrap.js');
  const lines = [...drafts.map(({ written }) => written), ...drafts.map(({ next }) => `Next: ${next}`)];
  return ({ width }) => `${lines.flatMap((line) => wrapText(line, width)).join('\n')}\n`;
}
