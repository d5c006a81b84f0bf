import { compareFieldDigests } from '../../api/field-digests.js';
import type { CompanyMatch } from '../../domain.js';
import {
  type CompanyEvidence,
  type CompanySide,
  NO_UNCOUNTED,
  type PairingInput,
  pairCompanies,
} from '../../match/pair-companies.js';
import { type AmbiguousCompany, prepareDescribeAmbiguous } from '../../text/describe-evidence.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import { groupBy } from '../../text/rows.js';
import type { ListRef } from '../live-records.js';
import {
  type Checked,
  type DatabaseFacts,
  type Finding,
  note,
  ok,
  type RemoteContext,
  warning,
} from './check.js';
import type { AskList, SampledList, SampledRecord } from './sample-lists.js';

const MAX_PAIRS = 5;

/** How companies pair: from the last remap if there is one, otherwise from samples. */
export async function checkCompanies(context: RemoteContext): Promise<Checked> {
  const preview = context.v4.answered ? await previewCompanies(context) : [];
  const findings = judgeStored(context.database) ?? judgePreview(preview);
  return { findings, facts: { pairs: preview } };
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
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch;
  /** Shared keys that could be compared, and those that agree; 0 without a pair. */
  readonly comparable: number;
  readonly agreeing: number;
  /** V4 companies that an ambiguous one may be, likeliest first. */
  readonly candidates: AmbiguousCompany['candidates'];
  /** Whether V4 lists a company of the same id. */
  readonly hasSameId: boolean;
}

function judgePreview(preview: readonly PairPreview[]): Finding[] {
  if (preview.length === 0) return [];
  const paired = preview.filter(({ v4CompanyId }) => v4CompanyId !== null).length;
  const open = preview.filter(isOpen).length;
  const alone = preview.length - paired - open;
  const sameId = preview.filter(({ hasSameId }) => hasSameId).length;
  const seen = countOf(preview.length, 'V3 company', 'V3 companies');
  const parts = [
    `shared records pair ${groupDigits(paired)} of ${seen} seen`,
    ...(open > 0 ? [`${groupDigits(open)} ambiguous`] : []),
    ...(alone > 0 ? [`${groupDigits(alone)} without a pair`] : []),
  ];
  const text = `Preview from samples, which leave records out: ${parts.join(', ')}. V4 lists the same id for ${groupDigits(sameId)}.`;
  // Pairs that a person must decide come first.
  const shown = preview.toSorted((a, b) => Number(isOpen(b)) - Number(isOpen(a))).slice(0, MAX_PAIRS);
  const describe = prepareDescribeAmbiguous(preview.filter(isOpen).map(toAmbiguous));
  return [note('pairs_preview', text), ...shown.map((one) => note('pair', describePair(one, describe)))];
}

function isOpen({ matchedBy }: PairPreview): boolean {
  return matchedBy === 'ambiguous';
}

function toAmbiguous({ region, v3CompanyId, candidates }: PairPreview): AmbiguousCompany {
  return { region, v3CompanyId: String(v3CompanyId), candidates };
}

function describePair(pair: PairPreview, describe: (company: AmbiguousCompany) => string): string {
  const { region, v3CompanyId, v4CompanyId, matchedBy, comparable, agreeing } = pair;
  if (isOpen(pair)) return `${describe(toAmbiguous(pair))}.`;
  const company = `V3 company ${v3CompanyId}${region === 'default' ? '' : ` in ${region}`}`;
  if (v4CompanyId === null) {
    return `${company}: no shared record seen.`;
  }
  if (matchedBy === 'file') return `${company} is V4 company ${v4CompanyId}: named in the companies file.`;
  const agree = agreeing === 1 ? 'agrees' : 'agree';
  return `${company} looks like V4 company ${v4CompanyId}: ${agreeing} of ${countOf(comparable, 'shared record')} ${agree}.`;
}

const MAX_REQUESTS = 60;
const MAX_KEYS_PER_COMPANY = 2;
const KEY_LIMIT = 5;

/** Records of one list. */
interface Sample extends ListRef {
  readonly records: readonly SampledRecord[];
}

/** Previews pairs from the samples and, if V4 honours the filter, from look-ups of single keys. */
async function previewCompanies({
  config,
  ask,
  v3,
  v4,
  named,
}: RemoteContext): Promise<readonly PairPreview[]> {
  const { include, exclude, match } = config.companies;
  const isWanted = (id: bigint): boolean =>
    (include.length === 0 || include.includes(id)) && !exclude.includes(id);
  const samplesOf = (lists: readonly SampledList[]): Sample[] =>
    lists.flatMap(({ answer, ...list }) =>
      answer.kind === 'answers' ? [{ ...list, records: answer.records }] : [],
    );
  const inV3 = samplesOf(v3.flatMap(({ lists }) => lists)).map((sample) => ({
    ...sample,
    records: sample.records.filter(({ companyId }) => isWanted(companyId)),
  }));
  const inV4 = [...samplesOf(v4.lists), ...(await lookUpKeys(ask, inV3, v4.asked))];
  const mode = typeof match === 'string' ? match : 'auto';
  return previewPairs({ v3: inV3, v4: inV4, listed: v4.companies, mode, named });
}

/**
 * Looks up the latest keys of V3 companies in V4 companies: samples of long lists seldom hold the same records. Empty if V4
 * does not honour the filter. `v3` must hold the latest records first.
 */
async function lookUpKeys(
  ask: AskList,
  v3: readonly Sample[],
  candidates: readonly bigint[],
): Promise<readonly Sample[]> {
  const lookUp = async ({ pair, key, candidate }: (typeof requests)[number]): Promise<Sample | null> => {
    const list = { region: '', companyId: candidate, pair };
    const answer = await ask(list, KEY_LIMIT, [['platform_id[eq]', key]]);
    const records = answer.kind === 'answers' ? answer.records : null;
    return records?.every(({ platformId }) => platformId === key) ? { ...list, records } : null;
  };
  const requests = pickKeys(v3)
    .flatMap((one) => candidates.map((candidate) => ({ ...one, candidate })))
    // A company of the same id first: it is usually the pair.
    .sort((a, b) => Number(b.candidate === b.companyId) - Number(a.candidate === a.companyId))
    .slice(0, MAX_REQUESTS);
  const [first, ...others] = requests;
  const tried = first === undefined ? null : await lookUp(first);
  if (tried === null) return [];
  const samples = [tried, ...(await Promise.all(others.map(lookUp)))];
  return samples.filter((sample) => sample !== null);
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

interface PreviewInput extends Pick<PairingInput, 'mode' | 'named'> {
  readonly v3: readonly Sample[];
  readonly v4: readonly Sample[];
  /** Companies that V4 lists. */
  readonly listed: readonly bigint[];
}

/**
 * Pairs the companies of two samples by the rules of the remap. A sample leaves records out, so equal ids alone decide
 * nothing here, and a company without a pair may still have one.
 */
function previewPairs({ listed, mode, named, ...samples }: PreviewInput): readonly PairPreview[] {
  const [v3, v4] = [groupByCompany(samples.v3), groupByCompany(samples.v4)];
  const evidence = buildEvidence(v3, v4);
  const evidenceOf = groupBy(evidence, (row) => row.v3);
  const listedIds = new Set(listed);
  const pairing = pairCompanies({ v3, v4, evidence, uncounted: NO_UNCOUNTED, mode, named });
  return v3.map(({ id, region, companyId }) => {
    const { v4: twin, matchedBy } = pairing.v3.get(id) ?? { v4: null, matchedBy: 'none' as const };
    const seen = evidenceOf.get(id) ?? [];
    const own = seen.find((row) => row.v4 === twin);
    const candidates = seen
      .toSorted((a, b) => b.agreeing - a.agreeing)
      .map((row) => ({
        v4CompanyId: String(v4[row.v4]?.companyId),
        comparableKeys: row.comparable,
        agreeingKeys: row.agreeing,
      }));
    return {
      region,
      v3CompanyId: companyId,
      v4CompanyId: twin === null ? null : (v4[twin]?.companyId ?? null),
      matchedBy,
      comparable: own?.comparable ?? 0,
      agreeing: own?.agreeing ?? 0,
      candidates: matchedBy === 'ambiguous' ? candidates : [],
      hasSameId: listedIds.has(companyId),
    };
  });
}

interface SampledCompany extends CompanySide {
  /** Field digests of the company's records, by model and key. */
  readonly fieldDigests: Map<string, string[]>;
}

/** The companies of the samples; their `id` is their index. */
function groupByCompany(samples: readonly Sample[]): readonly SampledCompany[] {
  const found = new Map<string, SampledCompany>();
  for (const { pair, region, records } of samples) {
    for (const { companyId, platformId, fieldDigests } of records) {
      const name = `${region} ${companyId}`;
      const fresh = { id: found.size, region, companyId, scopeFull: false, fieldDigests: new Map() };
      const company = found.get(name) ?? fresh;
      found.set(name, company);
      if (platformId === null) continue;
      const key = `${pair.v3} ${platformId}`;
      company.fieldDigests.set(key, [...(company.fieldDigests.get(key) ?? []), fieldDigests]);
    }
  }
  return [...found.values()];
}

/** Compares the companies that share keys; by V3 company, then by V4 company. */
function buildEvidence(v3: readonly SampledCompany[], v4: readonly SampledCompany[]): CompanyEvidence[] {
  const holders = groupBy(
    v4.flatMap((company) => [...company.fieldDigests.keys()].map((key) => ({ key, company }))),
    ({ key }) => key,
  );
  return v3.flatMap((a) => {
    const sharing = new Set(
      [...a.fieldDigests.keys()].flatMap((key) => holders.get(key)?.map(({ company }) => company) ?? []),
    );
    return [...sharing]
      .sort((one, other) => one.id - other.id)
      .flatMap((b) => {
        const verdicts = [...a.fieldDigests].flatMap(([key, digests]) =>
          compareAll(digests, b.fieldDigests.get(key) ?? []),
        );
        if (verdicts.length === 0) return [];
        return {
          v3: a.id,
          v4: b.id,
          shared: verdicts.length,
          comparable: verdicts.filter((verdict) => verdict !== 'incomparable').length,
          agreeing: verdicts.filter((verdict) => verdict === 'agrees').length,
          smallerKeys: Math.min(a.fieldDigests.size, b.fieldDigests.size),
        };
      });
  });
}

/** The verdict for a shared key: `agrees` if any of its records do. */
function compareAll(a: readonly string[], b: readonly string[]) {
  const verdicts = a.flatMap((one) => b.map((other) => compareFieldDigests(one, other)));
  return (['agrees', 'differs', 'incomparable'] as const).find((one) => verdicts.includes(one)) ?? [];
}
