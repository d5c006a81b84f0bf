import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { COMPANIES_HEADER, DECISIONS_HEADER } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import { scopeOptions } from '../report/build-verdict.js';
import {
  type Candidate,
  describeDeleted,
  renderCompaniesDraft,
  renderDecisionsDraft,
  renderFindings,
  type Undecided,
} from '../report/render-findings.js';
import { renderNdjson } from '../report/render-rows.js';
import { findingSchema } from '../report/report-schema.js';
import { alreadyThere, assertTargets, writeOutput, writeText } from '../runtime/write-output.js';
import {
  countOutcomes,
  type FindingFilter,
  listUndecided,
  listV4Candidates,
  prepareFindV4,
  prepareIsDeleted,
  readFindings,
} from '../store/finding-rows.js';
import type { Db } from '../store/open.js';
import { isRemapStale } from '../store/readiness.js';
import type { RemapRow } from '../store/remap-rows.js';
import { listUnpaired } from '../store/remap-tables.js';
import { type Lookup, prepareLookup } from '../store/verified-remap.js';
import { addFlagsToNext, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import * as z from '../zod.js';
import { narrowingOf, scopeOf } from './catalogue/options.js';
import type { findings } from './catalogue/use-commands.js';
import type { GivenTo, Io, Narrowing, OptionsOf } from './command.js';
import { readLastRemap } from './database.js';
import { flagOf } from './option.js';
import { ownFilesOf, printText } from './with-outputs.js';

/** Default number of findings to print. Files contain all of them. */
const DEFAULT_LIMIT = 50;
const DRAFT_NAMES = ['writeDecisions', 'writeCompanies'] as const;

/** A line of the JSON of `findings`. */
export const schema = findingSchema.extend({
  stale: z.boolean().optional().describe('Only in `findings`.'),
});

/** `findings`: lists what is not matched, from the last finished remap; drafts `decisions.csv` and `companies.csv`. */
export async function run(given: GivenTo<typeof findings>, io: Io): Promise<number> {
  const { options } = given;
  const config = await given.config();
  const narrowing = narrowingOf(options, config);
  const filter = filterOf(options, narrowing);
  // Files list every finding, and so does --verbose, or a reason `parent_…` that is asked for.
  const isFolded = io.verbose !== true && !options.reason.some((one) => one.startsWith('parent_'));
  const { limit, json, writeDecisions, writeCompanies } = options;
  assertDrafts(options, config);
  const text = await readLastRemap(config, narrowing.companies, io, async (db, facts) => {
    if (json !== undefined) {
      const found = () => readFindings(db, filter, limit === undefined || limit === 0 ? -1 : limit);
      const rows = () => renderNdjson(found(), { stale: isRemapStale(facts) });
      await writeOutput({ target: json, chunks: rows }, io);
    }
    const settings = [
      ...(writeDecisions === undefined ? [] : await draftDecisions(db, filter, writeDecisions, config, io)),
      ...(writeCompanies === undefined ? [] : await draftCompanies(db, filter, writeCompanies, config, io)),
    ];
    if (settings.length > 0) await writeText(io.stderr, [describeUse(settings, narrowing, io.flags)]);
    if ((json ?? writeDecisions ?? writeCompanies) !== undefined) return null;
    const shown = limit === 0 ? -1 : (limit ?? DEFAULT_LIMIT);
    const rows = [...readFindings(db, { ...filter, foldsLineItems: isFolded }, shown)];
    return renderFindings(rows, countOutcomes(db, filter), isFolded, io.width);
  });
  // A pager may keep stdout waiting for hours; the database is closed by now.
  if (text !== null) await printText(text, io);
  return 0;
}

/** A reason includes the children of its records; with `parent_` in front, only the children. */
function filterOf({ status, reason }: OptionsOf<typeof findings>, narrowing: Narrowing): FindingFilter {
  return {
    ...scopeOf(narrowing),
    statuses: status.length === 0 ? null : status,
    reasons: reason.length === 0 ? null : reason.flatMap((one) => [one, `parent_${one}`]),
  };
}

function assertDrafts(options: OptionsOf<typeof findings>, config: Config): void {
  const named = DRAFT_NAMES.flatMap((name) => {
    const file = options[name];
    return file === undefined ? [] : [[name, file] as const];
  });
  const [toStdout] = named.find(([, file]) => file === '-') ?? [];
  if (toStdout !== undefined) throw new SvcError('usage', `${flagOf(toStdout)} writes a file, not stdout.`);
  // A draft may be written to a configured file that does not exist yet.
  assertTargets(
    named.map(([, file]) => file),
    ownFilesOf(config).filter((file) => existsSync(file)),
  );
  const existing = named.find(([, file]) => existsSync(file));
  if (existing === undefined || options.force) return;
  const [name, file] = existing;
  const setting = settingOf(name, file, config);
  const add = setting === null ? '' : `, add \`${setting}\` to the configuration`;
  const hint = `Answer its questions${add}, and run \`svc-migrate remap\`. Or name another file, or replace this one with --force.`;
  throw alreadyThere(file, hint);
}

/** The V4 records that a row's evidence names. Of children, only the id and the row's key are known. */
function candidatesOf(
  row: RemapRow,
  findV4: ReturnType<typeof prepareFindV4>,
  lookUp: Lookup,
): readonly Candidate[] {
  const place = { path: row.path, region: null, companyId: row.v4_company_id };
  return listV4Candidates(row.evidence).flatMap((svcId) => {
    const stored = row.path === '' ? findV4(row, svcId) : undefined;
    if (stored === undefined && row.path === '') return [];
    const { platformId = row.platform_id, uniqueId = null, deleted = 0n, latestMs = null } = stored ?? {};
    const latest = latestMs === null ? null : Number(latestMs);
    const { v3Id } = lookUp('v4', row.model, svcId, place);
    return [{ svcId, platformId, uniqueId, deleted: deleted === 1n, latestMs: latest, v3Id }];
  });
}

/** A draft, with its `settingOf`. */
interface Draft {
  readonly setting: string | null;
}

async function draftDecisions(
  db: Db,
  filter: FindingFilter,
  target: string,
  config: Config,
  io: Io,
): Promise<Draft[]> {
  const findV4 = prepareFindV4(db);
  const isDeleted = prepareIsDeleted(db);
  const lookUp = prepareLookup(db);
  let lines = 0;
  let deletedIds = 0;
  function* undecided(): Generator<Undecided> {
    for (const row of listUndecided(db, filter)) {
      const deleted = isDeleted(row);
      if (deleted) deletedIds += 1;
      else lines += 1;
      yield { row, candidates: candidatesOf(row, findV4, lookUp), isDeleted: deleted };
    }
  }
  await writeOutput({ target, chunks: () => renderDecisionsDraft(DECISIONS_HEADER, undecided()) }, io);
  const said = [`Wrote ${target}: ${countOf(lines, 'V3 id')} to decide.`, ...describeDeleted(deletedIds)];
  await writeText(io.stderr, [wrapLines(said, io.width)]);
  return lines === 0 ? [] : [{ setting: settingOf('writeDecisions', target, config) }];
}

async function draftCompanies(
  db: Db,
  filter: FindingFilter,
  target: string,
  config: Config,
  io: Io,
): Promise<Draft[]> {
  const companies = listUnpaired(db, filter);
  await writeOutput({ target, chunks: () => renderCompaniesDraft(COMPANIES_HEADER, companies) }, io);
  const count = countOf(companies.length, 'V3 company', 'V3 companies');
  await writeText(io.stderr, [`Wrote ${target}: ${count} to pair.\n`]);
  return companies.length === 0 ? [] : [{ setting: settingOf('writeCompanies', target, config) }];
}

/** The setting that makes the remap use a draft; null if the configuration names the file already. */
function settingOf(name: (typeof DRAFT_NAMES)[number], target: string, config: Config): string | null {
  const file = relative(dirname(config.file), resolve(target));
  const { match } = config.companies;
  const isCompanies = name === 'writeCompanies';
  const named = isCompanies ? typeof match !== 'string' && match.file : config.decisions;
  if (named === resolve(target)) return null;
  return JSON.stringify(isCompanies ? { companies: { match: { file } } } : { decisions: file }).slice(1, -1);
}

/** Tells how to make drafts take effect, and the command that asks the same questions. */
function describeUse(drafts: readonly Draft[], narrowing: Narrowing, flags: string | undefined): string {
  const settings = drafts.flatMap(({ setting }) => setting ?? []);
  const name = settings.map((setting) => `  ${setting}\n`).join('');
  const add = settings.length === 0 ? '' : `Then add to the configuration:\n${name}`;
  const edit = 'A draft settles nothing until you edit it: remove the # from a line and replace its ?.\n';
  const use = 'Then remap uses it. Or answer the same questions one by one:\n';
  const next = shellLine([
    'svc-migrate',
    'decide',
    ...scopeOptions({ models: narrowing.models, companies: narrowing.companies.map(String) }),
  ]);
  return `${edit}${add}${use}${addFlagsToNext(`Next: ${next}\n`, flags)}`;
}
