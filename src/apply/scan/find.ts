import {
  type ApplyTarget,
  DEFAULT_LEDGER_SCHEMA,
  isServer,
  patternModels,
} from '../../config/apply-targets.js';
import { countOf, formatShare, groupDigits } from '../../text/numbers.js';
import { groupBy } from '../../text/rows.js';
import { wrapLines } from '../../text/text-layout.js';
import type { ApplyContext } from '../context.js';
import { closeStores, openStores } from '../stores.js';
import type { PlaceSample, ScopeColumns, Unseen } from './column-sample.js';
import { type Proposal, prepareEvidence, propose, proposePatterns, proposeScopes } from './propose.js';

/** Stands in a proposal for what the reader has to write; no column is called so. */
export const PLACEHOLDER = '?';

/** Where to scan: the place of a target, with one table (null: all). */
export interface ScanPlace {
  readonly target: ApplyTarget;
  readonly table: string | null;
}

export interface Scanned {
  readonly place: ScanPlace;
  readonly proposals: readonly Proposal[];
  readonly scopes: readonly ScopeColumns[];
  readonly unseen: readonly Unseen[];
}

/**
 * Finds columns and JSON paths whose values are ids of the service; changes nothing.
 *
 * @throws SvcError `bad_input`, `config`, `locked`, `interrupted`
 */
export async function scan(context: ApplyContext, places: readonly ScanPlace[]): Promise<Scanned[]> {
  const scanned: Scanned[] = [];
  for (const place of places) {
    const { columns, unseen } = await samplePlace(context, place);
    const scopes = proposeScopes(context.remap, columns);
    const evidenceOf = prepareEvidence(context.remap, context.ids.refs(), scopes);
    const proposals = columns.flatMap((column) => [
      lowerScope(propose(evidenceOf(column)), scopes),
      ...proposePatterns(column, evidenceOf),
    ]);
    scanned.push({ place, proposals, scopes, unseen });
  }
  return scanned;
}

/** Companies are no records: a column that says whose the ids are is not pasted as one of ids, however well its name fits. */
function lowerScope(proposal: Proposal, scopes: readonly ScopeColumns[]): Proposal {
  const { table, column, path, standing } = proposal;
  const isScope = scopes.some((one) => one.table === table && one.companyColumn === column && path === null);
  return isScope && standing === 'likely' ? { ...proposal, standing: 'possible' } : proposal;
}

async function samplePlace(context: ApplyContext, { target, table }: ScanPlace): Promise<PlaceSample> {
  const stores = await openStores(context, [target]);
  try {
    const sample = stores[0]?.sample;
    if (sample === undefined) throw new Error(`${target.name} cannot be scanned`);
    return await sample(table);
  } finally {
    await closeStores(stores);
  }
}

/** The proposals of a scan with their evidence, and the targets to paste into the configuration. */
export function renderScan(scanned: readonly Scanned[], targets: readonly object[], width: number): string {
  const lines = scanned.flatMap(describePlace);
  const snippet = JSON.stringify({ apply: { targets } }, null, 2).split('\n').slice(1, -1).join('\n');
  const paste =
    targets.length === 0
      ? 'Nothing to paste: no column is likely to hold V3 ids.\n'
      : `For the configuration, once you have looked at each line:\n\n${snippet}\n\n`;
  return `${wrapLines([...lines, ''], width)}${paste}`;
}

function describePlace({ place, proposals, scopes, unseen }: Scanned): string[] {
  const { target } = place;
  const name = isServer(target) ? target.urlEnv : target.file;
  const of = (standing: Proposal['standing']) => proposals.filter((one) => one.standing === standing);
  const chance = of('by_chance').map(nameOf);
  return [
    `${target.kind} ${name}: ${countOf(proposals.filter(({ pattern }) => pattern === null).length, 'column')}, ${groupDigits(of('likely').length)} likely to hold V3 ids.`,
    ...of('likely').flatMap((one) => describeProposal('likely  ', one)),
    ...of('possible').flatMap((one) => describeProposal('possible', one)),
    ...of('v4').flatMap((one) => describeProposal('probably V4', one)),
    ...of('rewritten').map((one) => `  rewritten ${nameOf(one)}: by run ${one.run}, its ids are V4 ids.`),
    ...scopes.filter(({ table }) => of('likely').some((one) => one.table === table)).map(describeScope),
    ...(chance.length === 0
      ? []
      : [`  Undecided, because small numbers match V3 ids by chance: ${chance.join(', ')}.`]),
    ...unseen.map(({ what, why }) => `  Not looked at: ${what} (${why}).`),
  ];
}

function describeScope({ table, regionColumn, companyColumn }: ScopeColumns): string {
  const prefix = table === null ? '' : `${table}.`;
  const columns = [
    ...(regionColumn === undefined ? [] : [`${prefix}${regionColumn} names regions`]),
    ...(companyColumn === undefined ? [] : [`${prefix}${companyColumn} holds V3 companies`]),
  ];
  return `  beside the ids: ${columns.join(', ')}.`;
}

function nameOf({ table, column, path, pattern }: Proposal): string {
  return `${table === null ? '' : `${table}.`}${column}${path === null ? '' : ` ${path}`}${pattern === null ? '' : ` "${pattern}"`}`;
}

function describeProposal(word: string, proposal: Proposal): string[] {
  const { best, isNamed, seen, isWhole, overlaps } = proposal;
  if (best === null) return [];
  const share = (count: number) => formatShare(count, seen);
  const others = overlaps.filter(({ model, v3 }) => model !== best.model && v3 / seen >= 0.5);
  const also =
    others.length === 0
      ? ''
      : ` Also V3 ids of ${others.map(({ model, v3 }) => `${model} (${share(v3)})`).join(', ')}.`;
  return [
    `  ${word} ${nameOf(proposal)} → ${best.model}`,
    `    ${isWhole ? '' : 'the first '}${countOf(seen, 'value')}: ${share(best.v3)} known as V3, ${share(best.v4)} as V4, ${share(
      best.both,
    )} as both; expected by chance: ${formatShare(Math.round(best.chance * 1000), 1000)}.${isNamed ? ' The name fits.' : ''}${also}`,
    ...(best.shared === 0
      ? []
      : [
          `    Several companies use ${groupDigits(best.shared)} of these V3 ids: "${PLACEHOLDER}" stands for the column that says which.`,
        ]),
  ];
}

/** Builds targets for the configuration from likely columns; `fileOf` shortens paths. */
export function buildTargets(scanned: readonly Scanned[], fileOf: (path: string) => string): object[] {
  const names = new Set<string>();
  return scanned.flatMap(({ place, proposals, scopes }) => {
    const likely = proposals.filter(({ standing }) => standing === 'likely');
    const tables = groupBy(likely, (one) => one.table);
    return [...tables].map(([table, own]) => {
      const { target } = place;
      const wanted = table ?? fileOf(isServer(target) ? target.name : target.file);
      let name = wanted;
      for (let at = 2; names.has(name); at += 1) name = `${wanted}-${at}`;
      names.add(name);
      return {
        name,
        ...placeOf(target, fileOf),
        ...(table === null ? {} : { table }),
        ids: buildIds(
          own,
          scopes.find((one) => one.table === table),
        ),
      };
    });
  });
}

function placeOf(target: ApplyTarget, fileOf: (path: string) => string): object {
  if (isServer(target)) {
    const isDefault = target.kind !== 'postgres' || target.ledgerSchema === DEFAULT_LEDGER_SCHEMA;
    const ledger = isDefault ? {} : { ledgerSchema: target.ledgerSchema };
    const tls = target.tls === undefined ? {} : { tls: target.tls };
    return { kind: target.kind, urlEnv: target.urlEnv, ...tls, ...ledger };
  }
  const header = target.kind === 'csv' && !target.header ? { header: false } : {};
  return { kind: target.kind, file: fileOf(target.file), ...header };
}

/** The id columns of a target: one for each column and path, with all its patterns, and the columns beside it. */
function buildIds(proposals: readonly Proposal[], scope: ScopeColumns | undefined): object[] {
  const { table: _, ...beside } = scope ?? { table: null };
  const columns = groupBy(proposals, ({ column, path }) => JSON.stringify([column, path]));
  return [...columns.values()].map((own) => ({ ...idOf(own), ...beside, ...missingScope(own, scope) }));
}

/** A column that the reader has to name, because an id that several companies share stands for several records. */
function missingScope(proposals: readonly Proposal[], scope: ScopeColumns | undefined): object {
  if (proposals.every(({ best }) => (best?.shared ?? 0) === 0)) return {};
  return { [scope?.companyColumn === undefined ? 'companyColumn' : 'regionColumn']: PLACEHOLDER };
}

function idOf(proposals: readonly Proposal[]): object {
  const [first] = proposals;
  const place = { column: first?.column, ...(first?.path === null ? {} : { path: first?.path }) };
  const patterns = proposals.flatMap(({ pattern }) => pattern ?? []);
  if (patterns.length === 0) return { ...place, model: first?.model };
  const models = new Set(patternModels({ pattern: patterns }));
  const [model] = models;
  const isOne = models.size === 1;
  const texts = isOne ? patterns.map((pattern) => pattern.replaceAll(`{${model}}`, '{id}')) : patterns;
  return { ...place, ...(isOne ? { model } : {}), pattern: texts.length === 1 ? texts[0] : texts };
}
