import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, Endpoint } from '../config/config.js';
import { expectedError, SvcError } from '../errors.js';
import { throwIfInterrupted } from '../runtime/pause.js';
import { gitStateOf, listUntracked } from '../runtime/programs.js';
import { type ThreadOptions, withThread } from '../runtime/threads.js';
import { replaceUnchanged } from '../runtime/write-output.js';
import type { FixPlan } from '../scan/fix/fix-files.js';
import { buildFixReport, type FixReport } from '../scan/fix/fix-report.js';
import type { ScanRequest, ScanResult } from '../scan/scan-files.js';
import type { Certainty, FixSettings, KnownCompanies } from '../scan/scan-settings.js';
import { assertUsableRemap } from '../store/readiness.js';
import { type CompanyRow, readCompanyRows } from '../store/remap-tables.js';
import type { CommandLine, Io } from './command.js';
import { assertRemapIntact, readDatabase } from './database.js';
import { flagOf, needsOption } from './option-values.js';
import type { ScanThread } from './scan-thread.js';

/** The thread that parses files. It writes nothing, so it is terminated if it has not stopped soon after a signal. */
const THREAD: ThreadOptions<ScanThread> = {
  name: 'scan',
  module: new URL('./scan-thread.js', import.meta.url),
  end: { afterMs: 500, error: () => new SvcError('interrupted', 'Stopped; nothing was written.') },
};

/** `scan`: finds the uses of V3. */
export function findUses(request: ScanRequest, io: Io): Promise<ScanResult> {
  io.onProgress({ kind: 'stage', name: 'scan' });
  return withThread(THREAD, io, (thread) => thread.call('scan', request));
}

/** A scan after a fix, and what the fix did. */
export interface FixedScan {
  readonly result: ScanResult;
  readonly fix: FixReport;
  readonly plan: FixPlan;
}

interface FixOptions {
  readonly given: CommandLine;
  readonly config: Config | null;
  readonly failOn: Certainty;
}

/** @throws SvcError `usage` if an option needs `--fix`, or `--mark` */
export function assertFixOptions(given: CommandLine): void {
  const lone =
    given.text('companyIds') === undefined
      ? ['dryRun', 'force'].find((name) => given.isSet(name))
      : 'companyIds';
  if (lone === undefined || given.isSet('fix') || (given.isSet('mark') && lone !== 'companyIds')) return;
  throw needsOption(flagOf(lone), lone === 'companyIds' ? '--fix' : '--fix or --mark');
}

/**
 * `scan --fix` rewrites requests to V3, each completely or not at all. `--mark` puts comments above the uses that remain.
 * Then scans the result.
 */
export async function fixUses(
  scan: ScanRequest,
  { given, config, failOn }: FixOptions,
  io: Io,
): Promise<FixedScan> {
  const dryRun = given.isSet('dryRun');
  const isGuarded = !dryRun && !given.isSet('force');
  if (isGuarded) for (const path of scan.paths) assertCleanTree(resolve(scan.folder, path));
  const { companies, remapNote } = await readCompanies(given.text('companyIds') === 'same', config, io);
  const fix: FixSettings = { companies, isFixing: given.isSet('fix'), isMarking: given.isSet('mark') };
  io.onProgress({ kind: 'stage', name: 'scan' });
  const plan = await withThread(THREAD, io, (thread) => thread.call('planFix', { scan, fix, failOn }));
  if (isGuarded) assertTracked(plan.files.map(({ absolute }) => absolute));
  const outcomes = new Map<string, 'written' | 'changed' | 'outside'>();
  for (const file of dryRun ? [] : plan.files) {
    await throwIfInterrupted(io.signal);
    outcomes.set(file.path, replaceUnchanged(file.absolute, { ...file, folder: scan.folder }));
  }
  const isWhole = [...outcomes.values()].every((outcome) => outcome === 'written');
  const result = dryRun ? plan.found : isWhole ? plan.result : await findUses(scan, io);
  return { result, plan, fix: buildFixReport(plan, outcomes, { dryRun, remapNote }) };
}

const FORCE_HINT = 'Commit or stash first, look at the patch with --dry-run, or use --force.';

function assertCleanTree(path: string): void {
  const state = gitStateOf(path);
  if (state === 'clean') return;
  const why =
    state === 'none'
      ? `${path} is not in a git repository, so the fix could not be undone.`
      : `${path} is in a git repository with uncommitted changes.`;
  throw new SvcError('bad_input', why, { hint: FORCE_HINT });
}

function assertTracked(files: readonly string[]): void {
  const [first, ...others] = listUntracked(files);
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` and ${others.length} more files`;
  throw new SvcError('bad_input', `git does not track ${first}${more}, so the fix could not be undone.`, {
    hint: FORCE_HINT,
  });
}

interface CompanyKnowledge {
  readonly companies: KnownCompanies;
  readonly remapNote: string | null;
}

/** V4 ids of companies from the remap, if it can be used; a note says why not. */
async function readCompanies(areSame: boolean, config: Config | null, io: Io): Promise<CompanyKnowledge> {
  const none = { areSame, v4Ids: {} };
  if (areSame || config === null || !existsSync(config.database)) return { companies: none, remapNote: null };
  try {
    const companies = await readDatabase(config, async (db) => {
      assertUsableRemap(db, config);
      await assertRemapIntact(db, io);
      return knownCompaniesOf(readCompanyRows(db), config);
    });
    return { companies, remapNote: null };
  } catch (error) {
    const expected = expectedError(error);
    if (expected === null || expected.code === 'interrupted') throw error;
    return {
      companies: none,
      remapNote: `The company ids of the remap were not used: ${expected.message}`,
    };
  }
}

/** The company pairs that the remap is sure of, and whether every company kept its id. */
export function knownCompaniesOf(
  rows: readonly Pick<CompanyRow, 'region' | 'v3_company_id' | 'v4_company_id' | 'matched_by'>[],
  { v3 }: { readonly v3: { readonly regions: readonly Pick<Endpoint, 'region' | 'baseUrl'>[] } },
): KnownCompanies {
  const v3Rows = rows.filter(({ v3_company_id }) => v3_company_id !== null);
  const sure = v3Rows.filter(({ matched_by, v4_company_id }) => {
    return v4_company_id !== null && /^(same_id|overlap|file)$/.test(matched_by);
  });
  const areSame =
    v3Rows.length > 0 &&
    sure.length === v3Rows.length &&
    sure.every(({ v3_company_id, v4_company_id }) => v3_company_id === v4_company_id);
  const urls = new Map(v3.regions.map(({ region, baseUrl }) => [region, baseUrl]));
  const v4Ids = sure.flatMap(({ region, v3_company_id, v4_company_id }) => {
    const url = urls.get(region ?? '');
    return url === undefined ? [] : [[`${url} ${v3_company_id}`, String(v4_company_id)] as const];
  });
  return { areSame, v4Ids: Object.fromEntries(v4Ids) };
}
