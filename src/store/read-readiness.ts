import type { Config } from '../config/config.js';
import { digestInputFiles, type FileSettings } from '../config/inputs.js';
import type { ModelPair } from '../domain.js';
import { SvcError } from '../errors.js';
import { readRemapRuns } from './evidence.js';
import { readExportSeq, readMeta } from './meta.js';
import type { Db } from './open.js';
import { findIncomplete, type Readiness } from './readiness.js';
import { EVERYTHING, type Scope, v4CompaniesOf } from './remap.js';
import { readRemapInputs } from './remap-inputs.js';
import type { StreamRow } from './stream-row.js';
import { listStreams, readCompanyList } from './streams.js';
import { readV4Companies } from './v4-companies.js';

/** What the database knows about its own completeness, within a scope. */
export function readReadiness(
  db: Db,
  config: {
    readonly models: readonly Pick<ModelPair, 'v3' | 'v4'>[];
    readonly v3: { readonly regions: readonly { readonly region: string }[] };
  } & Partial<FileSettings>,
  scope: Scope,
): Readiness {
  return {
    models: config.models.filter((model) => scope.models?.includes(model.v3) ?? true),
    regions: config.v3.regions.map(({ region }) => region),
    streams: [...listStreams(db).filter(streamFilter(db, scope)), ...openCompanyList(db)],
    v4Companies: listedCompanies(db, scope),
    lastRun: readRemapRuns(db, 1)[0],
    exportSeq: readExportSeq(db),
    changedInputs: listChangedInputs(db, config),
  };
}

/**
 * Refuses a remap that does not rest on everything there is.
 *
 * @throws SvcError `incomplete`, with what to run
 */
export function assertUsableRemap(db: Db, config: Config): void {
  refuseIncomplete(readReadiness(db, config, EVERYTHING));
}

/** @throws SvcError `incomplete`, with what to run */
export function refuseIncomplete(facts: Readiness): void {
  const [first, ...others] = findIncomplete(facts);
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` ${others.map((blocker) => blocker.text).join(' ')}`;
  throw new SvcError('incomplete', `The remap is incomplete. ${first.text}${more}`, {
    hint: `Run \`${others.length === 0 ? first.next : 'svc-migrate run'}\`, or pass --allow-incomplete to use it as it is.`,
  });
}

/** The V4 company list, whatever the scope, where it was not read in full beyond dispute. */
function openCompanyList(db: Db): StreamRow[] {
  const list = readCompanyList(db);
  return list === null || list.state === 'complete' ? [] : [list];
}

/** Without these settings nothing is known of the files. */
function listChangedInputs(db: Db, { companies, decisions }: Partial<FileSettings>): string[] {
  if (companies === undefined || decisions === undefined) return [];
  const before = readRemapInputs(db);
  const now = digestInputFiles({ companies, decisions });
  return [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((setting) => before[setting] !== now[setting])
    .sort();
}

function streamFilter(db: Db, scope: Scope): (stream: StreamRow) => boolean {
  const v4 = scope.companies === null ? null : new Set(v4CompaniesOf(db, scope.companies));
  const v3 = scope.companies === null ? null : new Set(scope.companies);
  return ({ generation, model, companyId }) => {
    const companies = generation === 'v3' ? v3 : v4;
    const ofCompany = companyId === null || (companies?.has(companyId) ?? true);
    return ofCompany && (scope.models?.includes(model) ?? true);
  };
}

/** An export of V4 begins with its fingerprint and its company list. */
function listedCompanies(db: Db, scope: Scope): bigint[] | null {
  const listed = readV4Companies(db);
  if (listed.length === 0 && readMeta(db, 'fingerprint_v4') === null) return null;
  if (scope.companies === null) return listed;
  const wanted = new Set(v4CompaniesOf(db, scope.companies));
  return listed.filter((id) => wanted.has(id));
}
