import { compareFieldDigests } from '../../api/field-digests.js';
import type { AmbiguousCompany, CompanyMatch } from '../../domain.js';
import {
  type CompanyEvidence,
  type CompanySide,
  NO_UNCOUNTED,
  pairCompanies,
} from '../../match/pair-companies.js';
import { describeAgreement, prepareDescribeAmbiguous } from '../../text/describe-evidence.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { append } from '../../text/rows.js';
import type { ListRef } from '../live-records.js';
import { type Finding, note, type RemoteContext } from './check.js';
import type { AskList, SampledList, SampledRecord } from './sample-lists.js';

const MAX_PAIRS = 5;

/** How companies would pair, by samples. */
export async function checkCompanies(context: RemoteContext): Promise<Finding[]> {
  return context.v4.answered ? judgePreview(await previewPairs(context)) : [];
}

/** A V3 company, and the V4 companies that share keys with it: the pair or the likeliest first. */
interface PairPreview extends AmbiguousCompany {
  readonly v4CompanyId: string | null;
  readonly matchedBy: CompanyMatch;
}

function judgePreview(preview: readonly PairPreview[]): Finding[] {
  if (preview.length === 0) return [];
  const open = preview.filter(({ matchedBy }) => matchedBy === 'ambiguous');
  const settled = preview.filter(({ matchedBy }) => matchedBy !== 'ambiguous');
  const paired = settled.filter(({ v4CompanyId }) => v4CompanyId !== null).length;
  const parts = [
    `shared records pair ${groupDigits(paired)} of ${countOf(preview.length, 'V3 company', 'V3 companies')} seen`,
    ...(open.length > 0 ? [`${groupDigits(open.length)} ambiguous`] : []),
    ...(settled.length > paired ? [`${groupDigits(settled.length - paired)} without a pair`] : []),
  ];
  // Pairs that a person must decide come first.
  const describe = prepareDescribeAmbiguous(open);
  const lines = [...open.map((one) => `${describe(one)}.`), ...settled.map(describePair)];
  const more = lines.splice(MAX_PAIRS).length;
  if (more > 0) lines.push(`… and ${countOf(more, 'more company', 'more companies')}.`);
  return [
    note('pairs_preview', `Preview from samples, which leave records out: ${parts.join(', ')}.`),
    ...lines.map((line) => note('pair', line)),
  ];
}

function describePair({ region, v3CompanyId, v4CompanyId, matchedBy, candidates }: PairPreview): string {
  const company = `V3 company ${v3CompanyId}${region === 'default' ? '' : ` in ${region}`}`;
  if (v4CompanyId === null) return `${company}: no shared record seen.`;
  if (matchedBy === 'file') return `${company} is V4 company ${v4CompanyId}: named in the companies file.`;
  const own = candidates.find((one) => one.v4CompanyId === v4CompanyId);
  return `${company} looks like V4 company ${v4CompanyId}: ${describeAgreement(own ?? { agreeingKeys: 0, comparableKeys: 0 })}.`;
}

const MAX_REQUESTS = 60;
const MAX_KEYS_PER_COMPANY = 2;
const KEY_LIMIT = 5;

/** Records of one list. */
interface Sample extends ListRef {
  readonly records: readonly SampledRecord[];
}

/**
 * Pairs the companies of the samples by the rules of the remap. A sample leaves records out, so equal ids alone decide nothing
 * here, and a company without a pair may still have one.
 */
async function previewPairs({ config, ask, v3, v4, named }: RemoteContext): Promise<readonly PairPreview[]> {
  const { include, exclude, match } = config.companies;
  const samplesOf = (lists: readonly SampledList[]): Sample[] =>
    lists.flatMap(({ answer, ...list }) =>
      answer.kind === 'answers' ? [{ ...list, records: answer.records }] : [],
    );
  const isWanted = ({ companyId: id }: SampledRecord): boolean =>
    (include.length === 0 || include.includes(id)) && !exclude.includes(id);
  const inV3 = samplesOf(v3.flatMap(({ lists }) => lists)).map((sample) => {
    return { ...sample, records: sample.records.filter(isWanted) };
  });
  const found = await lookUpKeys(ask, inV3, v4.asked);
  const v3Companies = groupByCompany(inV3);
  const v4Companies = groupByCompany([...samplesOf(v4.lists), ...found]);
  const nameOf = (id: number | null): string | null =>
    id === null ? null : String(v4Companies[id]?.companyId);
  const evidence = v3Companies.flatMap((a) => v4Companies.flatMap((b) => compareCompanies(a, b) ?? []));
  const { v3: pairs } = pairCompanies({
    ...{ v3: v3Companies, v4: v4Companies, evidence, named, uncounted: NO_UNCOUNTED },
    mode: typeof match === 'string' ? match : 'auto',
  });
  return v3Companies.map(({ id, region, companyId }) => {
    const { v4: twin, matchedBy } = pairs.get(id) ?? { v4: null, matchedBy: 'none' as const };
    const candidates = evidence
      .filter((row) => row.v3 === id)
      .sort((a, b) => b.agreeing - a.agreeing)
      .map(({ v4: other, comparable, agreeing }) => {
        return { v4CompanyId: nameOf(other) ?? '', comparableKeys: comparable, agreeingKeys: agreeing };
      });
    return { region, v3CompanyId: String(companyId), v4CompanyId: nameOf(twin), matchedBy, candidates };
  });
}

/**
 * Looks up the latest keys of V3 companies in V4 companies: samples of long lists seldom hold the same records. Empty if V4
 * does not honour the filter. `v3` must hold the latest records first.
 */
async function lookUpKeys(
  ask: AskList,
  v3: readonly Sample[],
  v4Companies: readonly bigint[],
): Promise<readonly Sample[]> {
  const requests = pickKeys(v3)
    .flatMap((one) => v4Companies.map((candidate) => ({ ...one, candidate })))
    // A company of the same id first: it is usually the pair.
    .sort((a, b) => Number(b.candidate === b.companyId) - Number(a.candidate === a.companyId))
    .slice(0, MAX_REQUESTS);
  const lookUp = async ({ pair, key, candidate }: (typeof requests)[number]): Promise<Sample[]> => {
    const list = { region: '', companyId: candidate, pair };
    const answer = await ask(list, KEY_LIMIT, [['platform_id[eq]', key]]);
    const records = answer.kind === 'answers' ? answer.records : null;
    return records?.every(({ platformId }) => platformId === key) ? [{ ...list, records }] : [];
  };
  // One request shows whether the filter is honoured.
  const tried = await Promise.all(requests.slice(0, 1).map(lookUp));
  if (tried.flat().length === 0) return [];
  return [...tried, ...(await Promise.all(requests.slice(1).map(lookUp)))].flat();
}

/** The latest keys of each V3 company, of different models if possible. */
function pickKeys(samples: readonly Sample[]) {
  const picked = new Map<string, (Pick<Sample, 'pair'> & { companyId: bigint; key: string })[]>();
  for (const { pair, region, records } of samples) {
    if (pair.v4 === null) continue;
    const seen = new Set<bigint>();
    for (const { companyId, platformId: key, deleted } of records) {
      if (key === null || deleted || seen.has(companyId)) continue;
      seen.add(companyId);
      const name = `${region} ${companyId}`;
      const own = picked.get(name) ?? [];
      if (own.length < MAX_KEYS_PER_COMPANY) picked.set(name, [...own, { pair, companyId, key }]);
    }
  }
  return [...picked.values()].flat();
}

interface SampledCompany extends CompanySide {
  /** Field digests of the company's records, by model and key. */
  readonly digests: Map<string, string[]>;
}

/** The companies of the samples; their `id` is their index. */
function groupByCompany(samples: readonly Sample[]): readonly SampledCompany[] {
  const found = new Map<string, SampledCompany>();
  for (const { pair, region, records } of samples) {
    for (const { companyId, platformId, fieldDigests } of records) {
      const name = `${region} ${companyId}`;
      const fresh = { id: found.size, region, companyId, scopeFull: false, digests: new Map() };
      const company = found.get(name) ?? fresh;
      found.set(name, company);
      if (platformId !== null) append(company.digests, `${pair.v3} ${platformId}`, fieldDigests);
    }
  }
  return [...found.values()];
}

/** The keys that two companies share; null if there are none. A key agrees if any of its records do. */
function compareCompanies(v3: SampledCompany, v4: SampledCompany): CompanyEvidence | null {
  const shared = [...v3.digests].flatMap(([key, digests]) => {
    const others = v4.digests.get(key) ?? [];
    const verdicts = digests.flatMap((one) => others.map((other) => compareFieldDigests(one, other)));
    return VERDICTS.find((one) => verdicts.includes(one)) ?? [];
  });
  if (shared.length === 0) return null;
  return {
    v3: v3.id,
    v4: v4.id,
    shared: shared.length,
    comparable: shared.filter((verdict) => verdict !== 'incomparable').length,
    agreeing: shared.filter((verdict) => verdict === 'agrees').length,
    smallerKeys: Math.min(v3.digests.size, v4.digests.size),
  };
}

const VERDICTS = ['agrees', 'differs', 'incomparable'] as const;
