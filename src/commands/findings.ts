import { Command, Option } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { bareReason, DECIDABLE_REASONS, isReason, REASONS, STATUSES, type Status } from '../reasons.js';
import type { Undecided } from '../report/draft-answers.js';
import type { FindingFilter } from '../store/findings.js';
import type { RemapRow } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
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
      'Lists the first findings of each reason. --json writes all of them, one a line. Drafts are comments: they settle nothing until they are edited.',
    )
    .option('--model <path>', 'only this V3 model (repeatable)', repeatable)
    .option('--company <id>', 'only this V3 company (repeatable)', repeatableId)
    .option('--reason <reason>', 'only this reason (repeatable)', repeatable)
    .addOption(new Option('--status <status>', 'only this status').choices(FINDING_STATUSES))
    .option('--limit <n>', 'findings of each reason to show; 0: all', wholeNumber(0, 1e9), DEFAULT_LIMIT)
    .option('--json <file>', 'write all findings as NDJSON (- is stdout)')
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
  const { readFindingLines } = await import('./finding-lines.js');
  return readDatabase(config, async (db) => {
    assertUsableRemap(db, config, { allowIncomplete: true, allowStale: true });
    assertCompanies(db, narrowing.companies);
    const changes = readStaleness(db, config);
    if (changes.length > 0) {
      const text = `The remap is stale. Changed since it was built: ${changes.join(', ')}.`;
      io.onProgress({ kind: 'note', level: 'warning', text });
    }
    const sha256 = readRemapRun(db)?.sha256 ?? null;
    const outputs = { json: () => readFindingLines(config, filter, sha256, changes.length > 0) };
    const drafts = await writeDrafts(db, filter, options);
    const text =
      drafts.length > 0 ? await printDrafts(drafts) : await listFindings(db, config, filter, options);
    return { exitCode: 0, text, outputs };
  });
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
  const { readWindows } = await import('../store/report-rows.js');
  const { renderFindings } = await import('../report/render-findings.js');
  const { summarizeWindows } = await import('../report/timeline.js');
  const isOfParents = reason.some((name) => name.startsWith('parent_'));
  const rows = readFirstFindings(db, filter, limit === 0 ? Number.MAX_SAFE_INTEGER : limit, isOfParents);
  const counts = countFindings(db, filter);
  const newest = db.prepare<[], string | null>('select max(read_at) from stream').pluck().get();
  const windows = summarizeWindows(readWindows(db, filter), Date.parse(newest ?? ''));
  return ({ width }) => renderFindings({ rows, counts, windows, limits, width });
}

interface Draft {
  readonly written: string;
  readonly next: string;
}

/** @throws SvcError `usage` if a file exists */
async function writeDrafts(db: Db, filter: FindingFilter, options: FindingsOptions): Promise<Draft[]> {
  const { COMPANIES_HEADER, DECISIONS_HEADER } = await import('../config/user-files.js');
  const { draftCompanies, draftDecisions } = await import('../report/draft-answers.js');
  const { createFile } = await import('../runtime/write-output.js');
  const drafts: Draft[] = [];
  const { writeDecisions, writeCompanies } = options;
  if (writeDecisions !== undefined) {
    const undecided = await listUndecided(db, filter);
    await createFile(writeDecisions, draftDecisions(DECISIONS_HEADER, undecided));
    const v3 = undecided.filter(({ row }) => row.v3_svc_id !== null).length;
    const ids = `${countOf(v3, 'V3 id')} and ${countOf(undecided.length - v3, 'V4 id')}`;
    drafts.push({
      written: `Wrote ${writeDecisions}: ${ids} to decide.`,
      next: `Edit ${writeDecisions}, name it as "decisions" in the configuration, and run \`svc-migrate remap\`.`,
    });
  }
  if (writeCompanies !== undefined) {
    const { readCompanies } = await import('../store/report-rows.js');
    const { candidatesIn } = await import('../report/build-report.js');
    const open = readCompanies(db, filter).filter(({ matchedBy }) => matchedBy === 'ambiguous');
    const companies = open
      .filter(({ v3CompanyId }) => v3CompanyId !== null)
      .map((company) => ({ ...company, candidates: candidatesIn(company.note) }));
    await createFile(writeCompanies, draftCompanies(COMPANIES_HEADER, companies));
    drafts.push({
      written: `Wrote ${writeCompanies}: ${countOf(companies.length, 'V3 company', 'V3 companies')} to pair.`,
      next: `Edit ${writeCompanies}, set "companies": {"match": {"file": …}} to it, and run \`svc-migrate remap\`.`,
    });
  }
  return drafts;
}

async function printDrafts(drafts: readonly Draft[]): Promise<(style: Style) => string> {
  const { wrapText } = await import('../text/wrap.js');
  const lines = [...drafts.map(({ written }) => written), ...drafts.map(({ next }) => `Next: ${next}`)];
  return ({ width }) => `${lines.flatMap((line) => wrapText(line, width)).join('\n')}\n`;
}

/**
 * V3 ids that are ambiguous or whose key seems to have changed, the V4 ids left over beside them, and V4 ids without an
 * explanation; with what they may be on the other side.
 */
async function listUndecided(db: Db, filter: FindingFilter): Promise<Undecided[]> {
  const { iterateFindings, idsInEvidence, prepareFindStored, prepareFindTwin } = await import(
    '../store/findings.js'
  );
  const { readCompanies } = await import('../store/report-rows.js');
  const findStored = prepareFindStored(db);
  const findTwin = prepareFindTwin(db);
  const pairs = new Map(readCompanies(db, filter).map((pair) => [pair.v4CompanyId, pair]));
  const decidable: readonly string[] = [...DECIDABLE_REASONS, 'unexplained'];
  const reasons = filter.reasons?.filter((reason) => decidable.includes(reason)) ?? decidable;
  const rows = [...iterateFindings(db, { ...filter, reasons })].flatMap((row): RemapRow[] => {
    if (row.v3_svc_id !== null) return row.reason === 'unexplained' ? [] : [row];
    const pair = pairs.get(row.v4_company_id);
    const isPaired = pair !== undefined && pair.v3CompanyId !== null;
    return isPaired ? [{ ...row, region: pair.region, v3_company_id: pair.v3CompanyId }] : [];
  });
  return rows.map((row) => {
    const { model, path } = row;
    const find = (generation: Generation, svcId: bigint) => {
      const companyId = generation === 'v3' ? row.v3_company_id : row.v4_company_id;
      const region = generation === 'v3' ? row.region : '';
      if (path !== '' || companyId === null || region === null) return null;
      return findStored({ generation, region, model, companyId, svcId }) ?? null;
    };
    const [own, other] = row.v3_svc_id === null ? (['v4', 'v3'] as const) : (['v3', 'v4'] as const);
    const candidates = idsInEvidence(row.evidence, `${other}_svc_ids`).map((svcId) => ({
      svcId,
      stored: find(other, svcId),
      twin: findTwin({ model, path, generation: other, svcId }),
    }));
    return { row, stored: find(own, must(row[`${own}_svc_id`])), candidates };
  });
}
