import { decodeBody } from '../api/body.js';
import { describeCompanies } from '../api/company-list.js';
import { isMembers, openEnvelope, parseJson } from '../api/pages.js';
import type { Endpoint } from '../config/config.js';
import type { ListPage } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatDuration, groupDigits } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import { type Finding, failure, ok, problem, warning } from './finding.js';
import {
  askList,
  isRefused,
  type ListAnswer,
  type RemoteFacts,
  type SampledList,
  sizeOf,
} from './sample-lists.js';

function labelOf(region: string): string {
  return region === '' ? 'V4' : region === 'default' ? 'V3' : `V3 ${region}`;
}

function listsOf({ lists }: RemoteFacts, region: string): SampledList[] {
  return lists.filter(({ stream }) => stream.region === region);
}

export function* checkHosts(facts: RemoteFacts): Generator<Finding> {
  const { config, companyList } = facts;
  for (const endpoint of [...config.v3.regions, config.v4]) {
    const lists = listsOf(facts, endpoint.region);
    const answers: ListAnswer[] = lists.map(({ answer }) => answer);
    if (endpoint.region === '' && companyList !== null) answers.push(companyList);
    yield answers.every((answer) => answer instanceof SvcError)
      ? judgeErrors(endpoint, answers)
      : judgeAnswers(endpoint, lists);
    if (lists.some(({ answer }) => !(answer instanceof SvcError))) yield* judgeLists(facts, endpoint.region);
  }
}

function judgeErrors({ baseUrl, region }: Endpoint, errors: readonly SvcError[]): Finding {
  const error = errors.find((answer) => !isNotFound(answer));
  if (error !== undefined) return failure(error);
  if (region === '') {
    const fix = 'Check v4.baseUrl, or ask the operator whether V4 is switched on for you.';
    return problem('v4_absent', 2, `V4 at ${baseUrl} answers 404.`, fix);
  }
  const text = `${labelOf(region)} at ${baseUrl} answers 404 to every model.`;
  const fix = 'Check its baseUrl: requests go to {baseUrl}/{category}/{model}, so it often ends in /v3.';
  const correction = { path: ['v3', 'regions', region, 'baseUrl'], value: `${baseUrl}/v3` };
  return problem('v3_absent', 2, text, fix, baseUrl.endsWith('/v3') ? null : correction);
}

function judgeAnswers({ baseUrl, keySource, region }: Endpoint, lists: readonly SampledList[]): Finding {
  const records = sumOf(lists, ({ answer }) => sizeOf(answer));
  const answered = lists.filter(({ answer }) => !(answer instanceof SvcError)).length;
  const text = `${labelOf(region)} at ${baseUrl} takes the key from ${keySource} and answers ${answered} of ${countOf(lists.length, 'list')} sampled, with at least ${countOf(records, 'record')}.`;
  if (records > 0 || answered === 0) return ok('key_accepted', text);
  return region === ''
    ? problem('v4_empty', 5, text, 'Wait for the first sync: svc-migrate export v4 --wait.')
    : warning('v3_empty', text, 'Check that address and key are those of your organization.');
}

function* judgeLists(facts: RemoteFacts, region: string): Generator<Finding> {
  const lists = listsOf(facts, region);
  const absent = lists.filter(({ answer }) => isNotFound(answer)).map(({ pair }) => pair.v3);
  // Names that V4 lacks are reported with near names.
  if (region !== '' && absent.length > 0) {
    const text = `${labelOf(region)} does not have ${absent.join(', ')} (404).`;
    const fix = 'Remove from "models" what you do not use; it counts as absent, not as empty.';
    yield warning('v3_model_absent', text, fix);
  }
  for (const { v3 } of facts.config.models) {
    const [finding] = lists.filter(({ pair }) => pair.v3 === v3).flatMap((list) => judgeList(list) ?? []);
    if (finding !== undefined) yield finding;
  }
}

function judgeList({ answer, pair, stream }: SampledList): Finding | null {
  if (isNotFound(answer)) return null;
  if (answer instanceof SvcError) return failure(answer);
  const [first] = answer.rejected;
  if (first === undefined || answer.records.length > 0) return null;
  const name = `${labelOf(stream.region)} ${stream.region === '' ? pair.v4 : pair.v3}`;
  const text = `None of the sampled objects of ${name} can be taken as a record: ${first.reason}.`;
  return problem('no_record_readable', 2, text, 'Check fieldPrefix and "children" in "models".');
}

export function* checkCompanies({ config, companyList }: RemoteFacts): Generator<Finding> {
  if (companyList === null || companyList instanceof SvcError) return;
  const { companies, next } = companyList;
  if (companies.length === 0) {
    const fix = 'Ask the operator whether the connections were copied.';
    yield problem('v4_no_companies', 5, 'V4 lists no company.', fix);
    return;
  }
  const { idField, fields } = describeCompanies(companies, { ...config, ...config.v4 });
  const count = `${countOf(companies.length, 'company', 'companies')}${next === null ? '' : ' on the first page'}`;
  const seen = escapeUnseen(fields.join(', '));
  yield ok('v4_companies', `V4 lists ${count}, with the ids in ${idField}; fields seen: ${seen}.`);
}

/** Page sizes to try, up to the largest that the configuration accepts. */
const PAGE_SIZES = [10_000, 5000, 2000, 1000, 500, 200, 100, 50, 10] as const;
const BODY_SHARE = 0.25;

/** The largest page that each generation sends. The regions of V3 have one setting. */
export async function* checkPages(facts: RemoteFacts): AsyncGenerator<Finding> {
  const { v3, v4 } = facts.config;
  for (const [generation, endpoints] of [['v3', v3.regions] as const, ['v4', [v4]] as const]) {
    const probes: PageProbe[] = [];
    for (const endpoint of endpoints) probes.push(...(await probePageSize(facts, endpoint)));
    const value = Math.min(...probes.flatMap(({ size }) => size ?? []));
    const isOther = Number.isFinite(value) && value !== at(endpoints, 0).pageSize;
    const correction = isOther ? { path: [generation, 'pageSize'], value } : null;
    for (const [index, { finding }] of probes.entries())
      yield index === 0 ? { ...finding, correction } : finding;
  }
}

interface PageProbe {
  readonly finding: Finding;
  /** The size to set; null if it is unknown. */
  readonly size: number | null;
}

/** Requests pages, the largest first, until one is not refused. Nothing if no list has a record. */
async function probePageSize(
  facts: RemoteFacts,
  { pageSize: wanted, region }: Endpoint,
): Promise<PageProbe[]> {
  const list = longestOf(listsOf(facts, region));
  if (list === null) return [];
  const label = labelOf(region);
  const { body, records } = list.page;
  const most = (facts.config.http.maxBodyBytes * BODY_SHARE) / (body.length / Math.max(1, records.length));
  const sizes = [wanted, ...PAGE_SIZES.filter((size) => size < wanted || size <= most)];
  let refusal: SvcError | null = null;
  for (const size of [...new Set(sizes)].sort((a, b) => b - a)) {
    const answer = await askList(facts.api, list, [['limit', String(size)]]);
    if (isRefused(answer)) refusal = answer;
    if (answer instanceof SvcError) continue;
    const count = answer.records.length + answer.rejected.length;
    const isFilled = answer.next !== null || count >= size;
    if (!isFilled && refusal === null) {
      const text = `${label} answers pages of ${groupDigits(size)}; no sampled list fills one.`;
      return [{ finding: ok('page_size', text), size: null }];
    }
    const largest = isFilled ? count : size;
    return [{ finding: judgePageSize(label, largest, wanted, refusal), size: largest }];
  }
  const text = `${label} refuses every page size that was tried. ${refusal?.message ?? ''}`;
  const fix = 'Set pageSize to what the operator allows.';
  return [{ finding: problem('page_size_refused', 2, text, fix), size: null }];
}

function judgePageSize(label: string, largest: number, wanted: number, refusal: SvcError | null): Finding {
  const reason = refusal === null ? '' : ` Larger ones: ${refusal.message}`;
  const text = `${label} sends pages of up to ${countOf(largest, 'record')}.${reason}`;
  if (largest >= wanted) return ok('page_size', text);
  const tooLarge = `${text} Pages of ${groupDigits(wanted)} are configured.`;
  return problem('page_size_refused', 2, tooLarge, `Set pageSize to ${largest}.`);
}

function longestOf(lists: readonly SampledList[]): (SampledList & { readonly page: ListPage }) | null {
  const [longest] = lists
    .flatMap((list) => (list.answer instanceof SvcError ? [] : [{ ...list, page: list.answer }]))
    .filter(({ page }) => sizeOf(page) > 0)
    .sort((a, b) => sizeOf(b.page) - sizeOf(a.page));
  return longest ?? null;
}

/** Objects with ids of their own in fields that are not configured as children: these ids are in no row of a remap. */
export function* checkChildren({ config, lists }: RemoteFacts): Generator<Finding> {
  const idField = `${config.fieldPrefix}id`;
  const byModel = new Map<string, Set<string>>();
  for (const { stream, pair, answer } of lists) {
    if (stream.generation !== 'v3' || answer instanceof SvcError) continue;
    const { list } = openEnvelope(parseJson(decodeBody(answer.body, answer.encoding)), 'v3');
    for (const [field, value] of list.filter(isMembers).flatMap((record) => Object.entries(record))) {
      const hasIds = Array.isArray(value) && value.some((item) => isMembers(item) && item[idField] != null);
      if (!hasIds || pair.children.includes(field)) continue;
      byModel.set(pair.v3, (byModel.get(pair.v3) ?? new Set()).add(field));
    }
  }
  for (const [model, fields] of byModel) {
    const names = [...fields].map((field) => JSON.stringify(escapeUnseen(field))).join(', ');
    const text = `Objects in ${names} of ${model} have a ${idField}. It is in no row of the remap.`;
    yield warning(
      'children_not_read',
      text,
      `If you store these ids, add ${names} to "children" of ${model}.`,
    );
  }
}

export async function* checkDeleted(facts: RemoteFacts): AsyncGenerator<Finding> {
  const list = longestOf(listsOf(facts, ''));
  if (list === null) return;
  const answer = await askList(facts.api, list, [['include_deleted_records', 'true']]);
  if (isRefused(answer)) {
    const text = `V4 refuses include_deleted_records, so what was deleted in V4 counts as missing: ${answer.message}`;
    const correction = { path: ['v4', 'includeDeleted'], value: false };
    yield facts.config.v4.includeDeleted === false
      ? ok('deleted_refused', text)
      : problem('deleted_refused', 2, text, 'Set v4.includeDeleted to false.', correction);
  }
  if (answer instanceof SvcError) return;
  const { records, totalCount } = answer;
  const isMore = (totalCount ?? 0) > (list.page.totalCount ?? totalCount ?? 0);
  const none = `V4 takes include_deleted_records; none of ${records.length} sampled records is deleted.`;
  yield isMore || records.some(({ deleted }) => deleted)
    ? ok('deleted_shown', 'V4 shows deleted records.')
    : ok('deleted_unknown', none);
}

const CLOCK_OFFSET_MS = 60_000;

export function* checkClocks({ api }: RemoteFacts): Generator<Finding> {
  for (const { region, clockOffsetMs } of api.clockOffsets()) {
    const host = labelOf(region);
    if (Math.abs(clockOffsetMs) < CLOCK_OFFSET_MS) {
      yield ok('clock_agrees', `The clocks of ${host} and of this machine agree within a minute.`);
      continue;
    }
    const side = clockOffsetMs > 0 ? 'ahead of' : 'behind';
    const text = `The clock of ${host} is ${formatDuration(Math.abs(clockOffsetMs))} ${side} this machine's.`;
    yield warning('clock_off', text, 'Synchronize the clock of this machine (NTP), or tell the operator.');
  }
}
