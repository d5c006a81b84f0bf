import type { Endpoint } from '../config/config.js';
import type { ListPage } from '../domain.js';
import type { SvcError } from '../errors.js';
import { countOf, formatDuration, groupDigits } from '../text/numbers.js';
import type { Findings, ProblemCode } from './finding.js';
import {
  askList,
  hasAnswered,
  type ListAnswer,
  longestOf,
  type RemoteFacts,
  type SampledList,
  sizeOf,
} from './sample-lists.js';

export function checkHosts({ config, samples }: RemoteFacts, findings: Findings): void {
  for (const endpoint of config.v3.regions) {
    const lists = samples.v3.get(endpoint.region);
    if (lists !== undefined)
      judgeHost(
        labelOf(endpoint),
        endpoint,
        lists.map(({ answer }) => answer),
        findings,
      );
  }
  if (!samples.hasV4Key) return;
  const { companyList, v4 } = samples;
  const answers = [...(companyList === null ? [] : [companyList]), ...v4.map(({ answer }) => answer)];
  judgeHost('V4', config.v4, answers, findings);
}

function labelOf({ region }: Pick<Endpoint, 'region'>): string {
  return region === '' ? 'V4' : region === 'default' ? 'V3' : `V3 ${region}`;
}

function judgeHost(
  label: string,
  endpoint: Endpoint,
  answers: readonly ListAnswer[],
  findings: Findings,
): void {
  const { baseUrl, keySource } = endpoint;
  if (answers.some(({ kind }) => kind === 'answers')) {
    findings.ok('key_accepted', `${label} at ${baseUrl} takes the key from ${keySource}.`);
    return;
  }
  const error = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer.error] : []))[0];
  if (error !== undefined) reportError(`host_${error.code}`, error, findings);
  else findings.note('key_unknown', `${label} at ${baseUrl} answers no list, so its key is not confirmed.`);
}

export function reportError(code: string, error: SvcError, findings: Findings): void {
  const exitCodes: readonly number[] = [2, 3, 5, 6];
  // A wrong answer after all attempts: another server at that address, or a configuration that does not fit.
  const isSettings = error.code === 'bad_response' || error.code === 'http_status';
  const exitCode = isSettings ? 2 : exitCodes.includes(error.exitCode) ? (error.exitCode as ProblemCode) : 4;
  findings.problem(
    error.code === 'auth' ? 'key_refused' : code,
    exitCode,
    error.message,
    error.hint ?? 'Check baseUrl and the network.',
  );
}

/** Whether V3 has every model, and any records. */
export function checkV3({ config, samples }: RemoteFacts, findings: Findings): void {
  for (const endpoint of config.v3.regions) {
    const lists = samples.v3.get(endpoint.region) ?? [];
    const label = labelOf(endpoint);
    if (lists.length > 0 && lists.every(({ answer }) => answer.kind === 'absent')) {
      const text = `${label} at ${endpoint.baseUrl} answers 404 to every model.`;
      const fix = 'Check its baseUrl: requests go to {baseUrl}/{category}/{model}, so it often ends in /v3.';
      findings.problem('v3_absent', 2, text, fix);
      if (!endpoint.baseUrl.endsWith('/v3')) {
        findings.correct(['v3', 'regions', endpoint.region, 'baseUrl'], `${endpoint.baseUrl}/v3`);
      }
      continue;
    }
    judgeLists(label, lists, findings);
  }
}

function judgeLists(label: string, lists: readonly SampledList[], findings: Findings): void {
  const answered = lists.filter(hasAnswered);
  const records = lists.reduce((sum, list) => sum + sizeOf(list), 0);
  if (records > 0) {
    findings.ok(
      'v3_lists',
      `${label} counts ${countOf(records, 'record')} in ${countOf(answered.length, 'list')}, without deleted ones.`,
    );
  } else if (answered.length > 0) {
    findings.warning(
      'v3_empty',
      `${label} shows no record.`,
      'Check that address and key are those of your organization.',
    );
  }
  for (const list of lists) judgeList(label, list, list.pair.v3, findings);
}

/** What is odd in the answer to a list. */
export function judgeList(
  label: string,
  { answer, pair }: SampledList,
  name: string,
  findings: Findings,
): void {
  if (answer.kind === 'absent') {
    if (label === 'V4') return;
    const fix = 'Remove it from "models" if you do not use it; it counts as absent, not as empty.';
    findings.warning('v3_model_absent', `${label} does not have ${name} (404).`, fix);
  } else if (answer.kind === 'refused') {
    const fix = 'Check fieldPrefix, and "expand" of the model in "models".';
    findings.problem('list_refused', 2, answer.error.message, fix);
  } else if (answer.kind === 'failed') {
    reportError('list_failed', answer.error, findings);
  } else if (answer.kind === 'answers') judgePage(`${label} ${name}`, answer.page, pair.expand, findings);
}

function judgePage(
  name: string,
  { records, rejected }: ListPage,
  expand: readonly string[],
  findings: Findings,
): void {
  const [first] = rejected;
  if (first === undefined) return;
  const text = `${name}: ${countOf(rejected.length, 'object')} of ${groupDigits(records.length + rejected.length)} sampled cannot be taken (${first.reason}${first.path === '' ? '' : ` in ${first.path}`}).`;
  const fix = `Check fieldPrefix${expand.length > 0 ? ' and "children"' : ''}; such objects are listed in the table rejected.`;
  if (records.length === 0) findings.problem('no_record_readable', 2, text, fix);
  else findings.warning('objects_rejected', text, fix);
}

/** Page sizes to try, up to the largest that the configuration accepts. */
const PAGE_SIZES = [10_000, 5000, 2000, 1000, 500, 200, 100, 50, 10] as const;
/** A page may take this part of the largest body that is read. */
const BODY_SHARE = 0.25;

/** The largest page that each generation sends. The regions of V3 have one setting. */
export async function checkPages({ config, api, samples }: RemoteFacts, findings: Findings): Promise<void> {
  const most = config.http.maxBodyBytes * BODY_SHARE;
  const v3: number[] = [];
  for (const endpoint of config.v3.regions) {
    const list = longestOf(samples.v3.get(endpoint.region) ?? []);
    const size =
      list === null
        ? null
        : await probePageSize(labelOf(endpoint), endpoint.pageSize, list, api, most, findings);
    if (size !== null) v3.push(size);
  }
  const wanted = config.v3.regions[0]?.pageSize;
  if (v3.length > 0 && Math.min(...v3) !== wanted) findings.correct(['v3', 'pageSize'], Math.min(...v3));
  const list = longestOf(samples.v4);
  if (list === null) return;
  const size = await probePageSize('V4', config.v4.pageSize, list, api, most, findings);
  if (size !== null && size !== config.v4.pageSize) findings.correct(['v4', 'pageSize'], size);
}

/** Requests pages, the largest first, until one is not refused. Returns the size to set; null if it is unknown. */
async function probePageSize(
  label: string,
  wanted: number,
  list: SampledList,
  api: RemoteFacts['api'],
  mostBytes: number,
  findings: Findings,
): Promise<number | null> {
  const sample = list.answer.kind === 'answers' ? list.answer.page : null;
  const perRecord = sample === null ? 1000 : sample.body.length / Math.max(1, sample.records.length);
  const sizes = PAGE_SIZES.filter((size) => size < wanted || size * perRecord <= mostBytes);
  let refusal: SvcError | null = null;
  for (const size of [...new Set([...sizes, wanted])].sort((a, b) => b - a)) {
    const answer = await askList(api, list, [['limit', String(size)]]);
    if (answer.kind === 'refused') refusal = answer.error;
    if (answer.kind !== 'answers') continue;
    const got = answer.page.records.length + answer.page.rejected.length;
    const says = refusal === null ? '' : ` Larger ones: ${refusal.message}`;
    const isFilled = answer.page.next !== null || got >= size;
    if (!isFilled && refusal === null) {
      findings.ok('page_size', `${label} answers pages of ${groupDigits(size)}; no sampled list fills one.`);
      return null;
    }
    const largest = isFilled ? got : size;
    const text = `${label} sends pages of up to ${countOf(largest, 'record')}.${says}`;
    if (largest >= wanted) findings.ok('page_size', text);
    else
      findings.problem(
        'page_size_refused',
        2,
        `${text} Pages of ${groupDigits(wanted)} are configured.`,
        `Set pageSize to ${largest}.`,
      );
    return largest;
  }
  const text = `${label} refuses every page size that was tried.${refusal === null ? '' : ` ${refusal.message}`}`;
  findings.problem('page_size_refused', 2, text, 'Set pageSize to what the operator allows.');
  return null;
}

/** Smallest clock offset that is reported, ms. */
const CLOCK_OFFSET_MS = 60_000;

export function checkClocks({ api }: RemoteFacts, findings: Findings): void {
  const measured = api
    .endpoints()
    .flatMap(({ region, clockOffsetMs }) =>
      clockOffsetMs === null ? [] : [{ label: labelOf({ region }), offsetMs: clockOffsetMs }],
    );
  const off = measured.filter(({ offsetMs }) => Math.abs(offsetMs) >= CLOCK_OFFSET_MS);
  if (off.length === 0 && measured.length > 0) {
    findings.ok('clock_agrees', 'The clocks of this machine and the services agree within a minute.');
  }
  for (const { label, offsetMs } of off) {
    const side = offsetMs > 0 ? 'ahead of' : 'behind';
    const text = `The clock of ${label} is ${formatDuration(Math.abs(offsetMs))} ${side} this machine's.`;
    findings.warning(
      'clock_off',
      text,
      'Set the clock of this machine (NTP), or ask the operator about theirs.',
    );
  }
}
