import { decodeBody } from '../api/body.js';
import { describeCompanies } from '../api/company-list.js';
import { isMembers } from '../api/exact-json.js';
import { openEnvelope, parseJson } from '../api/pages.js';
import type { Endpoint } from '../config/config.js';
import type { Generation } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatDuration, groupDigits } from '../text/numbers.js';
import { groupBy, sumOf } from '../text/rows.js';
import { type Finding, failure, ok, problem, warning } from './finding.js';
import { askList, isPage, isRefused, type RemoteFacts, type SampledList, sizeOf } from './sample-lists.js';

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
    const ofLists = lists.map(({ answer }) => answer);
    const answers = endpoint.region === '' && companyList !== null ? [...ofLists, companyList] : ofLists;
    const errors = answers.filter((answer) => answer instanceof SvcError);
    yield errors.length === answers.length ? judgeErrors(endpoint, errors) : judgeAnswers(endpoint, lists);
    if (ofLists.some(isPage)) yield* judgeLists(facts, endpoint.region);
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
  return problem('v3_absent', 2, text, fix, /\/v\d/i.test(baseUrl) ? null : correction);
}

function judgeAnswers({ baseUrl, keySource, region }: Endpoint, lists: readonly SampledList[]): Finding {
  const text = `${labelOf(region)} at ${baseUrl} accepts the key from ${keySource}.${describeSample(lists)}`;
  if (lists.some(({ answer }) => sizeOf(answer) > 0) || !lists.some(({ answer }) => isPage(answer))) {
    return ok('key_accepted', text);
  }
  return region === ''
    ? problem('v4_empty', 5, text, 'Wait for the first sync: svc-migrate export v4 --wait.')
    : warning('v3_empty', text, 'Check that the address and the key belong to your organization.');
}

/** What was asked and what came; nothing if V4 lists no company, so that there is no list to ask for. */
function describeSample(lists: readonly SampledList[]): string {
  if (lists.length === 0) return '';
  const models = new Set(lists.map(({ pair }) => pair.v3)).size;
  const companies = new Set(lists.flatMap(({ stream }) => stream.companyId ?? [])).size;
  const where = companies === 0 ? '' : ` in ${countOf(companies, 'company', 'companies')}`;
  const read = lists.filter(({ answer }) => isPage(answer)).length;
  const absent = lists.filter(({ answer }) => isNotFound(answer)).length;
  const failed = lists.length - read - absent;
  const records = sumOf(lists, ({ answer }) => sizeOf(answer));
  return ` Lists of ${countOf(models, 'model')}${where}: ${read} read, with at least ${countOf(records, 'record')}; ${absent} absent (404); ${failed} failed.`;
}

function* judgeLists(facts: RemoteFacts, region: string): Generator<Finding> {
  const lists = listsOf(facts, region);
  const absent = lists.filter(({ answer }) => isNotFound(answer)).map(({ pair }) => pair.v3);
  // Names that V4 lacks are reported with similar names.
  if (region !== '' && absent.length > 0) {
    const text = `${labelOf(region)} does not have ${absent.join(', ')} (404).`;
    const fix = 'Remove from "models" what you do not use; it counts as absent, not as empty.';
    yield warning('v3_model_absent', text, fix);
  }
  // Lists of one model fail alike.
  for (const ofModel of groupBy(lists, ({ pair }) => pair.v3).values()) {
    yield* ofModel.flatMap((list) => judgeList(list) ?? []).slice(0, 1);
  }
}

function judgeList({ answer, pair, stream }: SampledList): Finding | null {
  if (!isPage(answer)) return isNotFound(answer) ? null : failure(answer);
  const [first] = answer.rejected;
  if (first === undefined || answer.records.length > 0) return null;
  const name = `${labelOf(stream.region)} ${stream.region === '' ? pair.v4 : pair.v3}`;
  const text = `None of the sampled objects of ${name} can be taken as a record: ${first.reason}.`;
  return problem('no_record_readable', 2, text, 'Check fieldPrefix and "children" in "models".');
}

export function* checkCompanies({ config, companyList }: RemoteFacts): Generator<Finding> {
  if (companyList === null || !isPage(companyList)) return;
  const { body, encoding, records, next } = companyList;
  if (records.length === 0) {
    const fix = 'Ask the operator whether the connections were copied.';
    yield problem('v4_no_companies', 5, 'V4 lists no company.', fix);
    return;
  }
  const { idField, fields } = describeCompanies(decodeBody(body, encoding), { ...config, ...config.v4 });
  const count = `${countOf(records.length, 'company', 'companies')}${next === null ? '' : ' on the first page'}`;
  const seen = escapeUnseen(fields.join(', '));
  yield ok('v4_companies', `V4 lists ${count}, with the ids in ${idField}; fields seen: ${seen}.`);
}

/** Page sizes to try, besides the configured one. */
const PAGE_SIZES = [1000, 500, 200, 100, 50, 10] as const;

/** The largest page that a generation sends. The regions of V3 have one setting, so all of them must send it. */
export async function* checkPages(facts: RemoteFacts): AsyncGenerator<Finding> {
  const { v3, v4 } = facts.config;
  for (const [generation, endpoints] of [['v3', v3.regions] as const, ['v4', [v4]] as const]) {
    const lists = endpoints.flatMap(({ region }) => longestOf(listsOf(facts, region)) ?? []);
    const { pageSize: wanted } = at(endpoints, 0);
    if (lists.length > 0) yield await probePageSize(facts, generation, lists, wanted);
  }
}

/** Requests pages, the largest first, until none is refused. */
async function probePageSize(
  { api }: RemoteFacts,
  generation: Generation,
  lists: readonly SampledList[],
  wanted: number,
): Promise<Finding> {
  const label = generation.toUpperCase();
  let refusal: SvcError | null = null;
  for (const size of [...new Set([wanted, ...PAGE_SIZES])].sort((a, b) => b - a)) {
    const answers = await Promise.all(lists.map((list) => askList(api, list, [['limit', String(size)]])));
    refusal = answers.find(isRefused) ?? refusal;
    if (!answers.every(isPage)) continue;
    const filled = answers
      .map(({ next, records, rejected }) => ({ next, count: records.length + rejected.length }))
      .flatMap(({ next, count }) => (next !== null || count >= size ? [count] : []));
    if (filled.length === 0 && refusal === null) {
      return ok(
        'page_size',
        `${label} accepts a page size of ${groupDigits(size)}; no sampled list fills a page.`,
      );
    }
    return judgePageSize(generation, Math.min(size, ...filled), wanted, refusal);
  }
  const text = `${label} refuses every page size that was tried. ${refusal?.message ?? ''}`;
  return problem('page_size_refused', 2, text, 'Set pageSize to what the operator allows.');
}

function judgePageSize(
  generation: Generation,
  largest: number,
  wanted: number,
  refusal: SvcError | null,
): Finding {
  const reason = refusal === null ? '' : ` Larger ones: ${refusal.message}`;
  const text = `${generation.toUpperCase()} sends pages of up to ${countOf(largest, 'record')}.${reason}`;
  const correction = largest === wanted ? null : { path: [generation, 'pageSize'], value: largest };
  if (largest >= wanted) return ok('page_size', text, correction);
  const tooLarge = `${text} Pages of ${groupDigits(wanted)} are configured.`;
  return problem('page_size_refused', 2, tooLarge, `Set pageSize to ${largest}.`, correction);
}

function longestOf(lists: readonly SampledList[]): SampledList | null {
  const [longest] = lists.toSorted((a, b) => sizeOf(b.answer) - sizeOf(a.answer));
  return longest === undefined || sizeOf(longest.answer) === 0 ? null : longest;
}

/** Objects with ids of their own in fields that are not configured as children: these ids are in no row of a remap. */
export function* checkChildren({ config, lists }: RemoteFacts): Generator<Finding> {
  const idField = `${config.fieldPrefix}id`;
  const hasId = (item: unknown) => isMembers(item) && item[idField] != null;
  const unread = lists.flatMap(({ stream, pair, answer }) => {
    if (stream.generation !== 'v3' || !isPage(answer)) return [];
    const { list } = openEnvelope(parseJson(decodeBody(answer.body, answer.encoding)), 'v3');
    return list
      .filter(isMembers)
      .flatMap((record) => Object.entries(record))
      .filter(([field, value]) => Array.isArray(value) && value.some(hasId) && !pair.children.includes(field))
      .map(([field]) => ({ model: pair.v3, name: JSON.stringify(escapeUnseen(field)) }));
  });
  for (const [model, fields] of groupBy(unread, ({ model: name }) => name)) {
    const names = [...new Set(fields.map(({ name }) => name))].join(', ');
    const text = `Objects in ${names} of ${model} have a ${idField}. It is in no row of the remap.`;
    const fix = `If you store these ids, add ${names} to "children" of ${model}.`;
    yield warning('children_not_read', text, fix);
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
  if (!isPage(answer)) return;
  const before = isPage(list.answer) ? list.answer.totalCount : null;
  const isMore = before !== null && (answer.totalCount ?? 0) > before;
  const none = `V4 takes include_deleted_records; none of ${answer.records.length} sampled records is deleted.`;
  yield isMore || answer.records.some(({ deleted }) => deleted)
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
