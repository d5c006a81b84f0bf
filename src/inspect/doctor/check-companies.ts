import { compareFieldDigests } from '../../api/field-digests.js';
import type { AmbiguousCompany, CompanyMatch } from '../../domain.js';
import {
  type CompanyEvidence,
  type CompanySide,
  NO_UNCOUNTED,
  pairCompanies,
} from '../../match/pair-companies.js';
import { prepareDescribeAmbiguous } from '../../text/describe-evidence.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { append } from '../../text/rows.js';
import type { ListRef } from '../live-records.js';
import { type DatabaseFacts, type Finding, note, ok, type RemoteContext, warning } from './check.js';
import type { AskList, SampledList, SampledRecord } from './sample-lists.js';

const MAX_PAIRS = 5;

/** How companies pair: from the last remap if there is one, otherwise from samples. */
export async function checkCompanies(context: RemoteContext): Promise<Finding[]> {
  const stored = judgeStored(context.database);
  if (stored !== null || !context.v4.answered) return stored ?? [];
  return judgePreview(await previewPairs(context), new Set(context.v4.companies));
}

function judgeStored(database: DatabaseFacts): Finding[] | null {
  if (database.kind !== 'usable' || database.pairs === null) return null;
  const { pairs, ambiguous } = database;
  const counts = Object.entries(pairs).filter(([, n]) => n > 0);
  const text = `From the last remap: ${counts.map(([kind, n]) => `${groupDigits(n)} ${kind}`).join(', ')}.`;
  if (pairs.ambiguous === 0) return [ok('pairs_stored', text)];
  const setting = '"companies": {"match": {"file": "companies.csv"}}';
  const fix = `Name the ambiguous ones in companies.csv (${setting}); \`svc-migrate findings --write-companies FILE\` drafts it.`;
  const described = ambiguous.slice(0, MAX_PAIRS).map(prepareDescribeAmbiguous(ambiguous));
  return [warning('pairs_stored', text, fix), ...described.map((line) => note('pair', `${line}.`))];
}

/** A V3 company with the V4 company that it would be paired with. */
interface PairPreview {
  readonly company: SampledCompany;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch;
  /** V4 companies that share keys with it, the pair or the likeliest first. */
  readonly candidates: AmbiguousCompany['candidates'];
}

/** `listed`: the companies of V4. */
function judgePreview(preview: readonly PairPreview[], listed: ReadonlySet<bigint>): Finding[] {
  if (preview.length === 0) return [];
  const isOpen = ({ matchedBy }: PairPreview) => matchedBy === 'ambiguous';
  const toAmbiguous = ({ company, candidates }: PairPreview): AmbiguousCompany => ({
    region: company.region,
    v3CompanyId: String(company.companyId),
    candidates,
  });
  const [paired, open, sameId] = [
    preview.filter(({ v4CompanyId }) => v4CompanyId !== null).length,
    preview.filter(isOpen).length,
    preview.filter(({ company }) => listed.has(company.companyId)).length,
  ];
  const alone = preview.length - paired - open;
  const parts = [
    `shared records pair ${groupDigits(paired)} of ${countOf(preview.length, 'V3 company', 'V3 companies')} seen`,
    ...(open > 0 ? [`${groupDigits(open)} ambiguous`] : []),
    ...(alone > 0 ? [`${groupDigits(alone)} without a pair`] : []),
  ];
  const text = `Preview from samples, which leave records out: ${parts.join(', ')}. V4 lists the same id for ${groupDigits(sameId)}.`;
  const describe = prepareDescribeAmbiguous(preview.filter(isOpen).map(toAmbiguous));
  // Pairs that a person must decide come first.
  const shown = preview.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))).slice(0, MAX_PAIRS);
  const lines = shown.map((one) => (isOpen(one) ? `${describe(toAmbiguous(one))}.` : describePair(one)));
  return [note('pairs_preview', text), ...lines.map((line) => note('pair', line))];
}

function describePair({ company: v3, v4CompanyId, matchedBy, candidates }: PairPreview): string {
  const company = `V3 company ${v3.companyId}${v3.region === 'default' ? '' : ` in ${v3.region}`}`;
  if (v4CompanyId === null) return `${company}: no shared record seen.`;
  if (matchedBy === 'file') return `${company} is V4 company ${v4CompanyId}: named in the companies file.`;
  const own = candidates.find((one) => one.v4CompanyId === String(v4CompanyId));
  const { agreeingKeys = 0, comparableKeys = 0 } = own ?? {};
  const agree = agreeingKeys === 1 ? 'agrees' : 'agree';
  return `${company} looks like V4 company ${v4CompanyId}: ${agreeingKeys} of ${countOf(comparableKeys, 'shared record')} ${agree}.`;
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
  const isWanted = ({ companyId: id }: SampledRecord): boolean =>
    (include.length === 0 || include.includes(id)) && !exclude.includes(id);
  const samplesOf = (lists: readonly SampledList[]): Sample[] =>
    lists.flatMap(({ answer, ...list }) =>
      answer.kind === 'answers' ? [{ ...list, records: answer.records }] : [],
    );
  const inV3 = samplesOf(v3.flatMap(({ lists }) => lists)).map((sample) => ({
    ...sample,
    records: sample.records.filter(isWanted),
  }));
  const found = await lookUpKeys(ask, inV3, v4.asked);
  const [v3Companies, v4Companies] = [inV3, [...samplesOf(v4.lists), ...found]].map(groupByCompany);
  if (v3Companies === undefined || v4Companies === undefined) return [];
  const evidence = v3Companies.flatMap((a) => v4Companies.flatMap((b) => compareCompanies(a, b) ?? []));
  const { v3: pairs } = pairCompanies({
    ...{ v3: v3Companies, v4: v4Companies, evidence, named, uncounted: NO_UNCOUNTED },
    mode: typeof match === 'string' ? match : 'auto',
  });
  return v3Companies.map((company) => {
    const { v4: twin, matchedBy } = pairs.get(company.id) ?? { v4: null, matchedBy: 'none' as const };
    const candidates = evidence
      .filter((row) => row.v3 === company.id)
      .sort((a, b) => b.agreeing - a.agreeing)
      .map((row) => ({
        v4CompanyId: String(v4Companies[row.v4]?.companyId),
        comparableKeys: row.comparable,
        agreeingKeys: row.agreeing,
      }));
    const v4CompanyId = twin === null ? null : (v4Companies[twin]?.companyId ?? null);
    return { company, v4CompanyId, matchedBy, candidates };
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
