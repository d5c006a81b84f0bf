import type { Config, Endpoint } from '../../config/config.js';
import { isNotFound, type SvcError } from '../../errors.js';
import { isLoopback } from '../../text/addresses.js';
import { countOf, formatDuration, groupDigits } from '../../text/numbers.js';
import {
  type Finding,
  judgeContent,
  judgeFailures,
  note,
  ok,
  problem,
  type RemoteContext,
  warning,
} from './check.js';
import {
  type AskList,
  countRecords,
  hasAnswered,
  type ListContent,
  type SampledHost,
  type SampledList,
  sizeOf,
} from './sample-lists.js';

/** Whether every host answers and accepts its key, and how it is reached. */
export function checkHosts({ config, v3, v4, keyErrors, endpoints }: RemoteContext): Finding[] {
  const states = endpoints();
  return [...v3, v4].flatMap((host): Finding[] => {
    const { label, endpoint, error, answered } = host;
    const { baseUrl, keySource, region } = endpoint;
    const proxy = stateOf(states, host)?.proxy ?? null;
    const { protocol, hostname } = new URL(baseUrl);
    const found: Finding[] = [];
    if (answered) found.push(ok('key_accepted', `${label} at ${baseUrl} takes the key from ${keySource}.`));
    else if (error !== null) found.push(judgeHostError(host, error));
    else if (!keyErrors.has(region)) {
      const text = `${label} at ${baseUrl} answers no list: whether it takes the key is unknown.`;
      found.push(note('key_unknown', text));
    }
    if (protocol === 'http:' && !isLoopback(hostname) && config.http.allowHttp) {
      const text = `${label} is requested over plain http: others on the network can read the key.`;
      found.push(warning('plain_http', text, 'Use https, and remove http.allowHttp.'));
    }
    if (proxy !== null) {
      const text = `${label} is requested through the proxy ${proxy}, inside a tunnel that it cannot read.`;
      found.push(note('proxy', text, 'Name the host in NO_PROXY to reach it directly.'));
    }
    return found;
  });
}

type EndpointState = ReturnType<RemoteContext['endpoints']>[number];

function stateOf(
  states: readonly EndpointState[],
  { generation, endpoint }: SampledHost,
): EndpointState | undefined {
  return states.find((one) => one.generation === generation && one.region === endpoint.region);
}

function judgeHostError({ label, endpoint }: SampledHost, error: SvcError): Finding {
  if (isNotFound(error) && label === 'V4') {
    const text = `V4 is not there: ${endpoint.baseUrl} answers 404 to its company list.`;
    const fix = 'Check v4.baseUrl, or ask the operator whether V4 is switched on for you.';
    return problem('v4_absent', 2, text, fix);
  }
  const { exitCode } = error;
  const isOwn = exitCode === 2 || exitCode === 3 || exitCode === 5 || exitCode === 6;
  // An invalid response after all attempts: another server at that address, or a configuration that does not fit.
  const exit = error.code === 'bad_response' ? 2 : isOwn ? exitCode : 4;
  const about = error.message.includes(label) ? error.message : `${label}: ${error.message}`;
  const code = error.code === 'auth' ? 'key_refused' : `host_${error.code}`;
  return problem(code, exit, about, error.hint ?? 'Check baseUrl and the network.');
}

/** Whether V3 has every model, and any records; tries `/v3` behind addresses that know no model. */
export async function checkV3({ v3, askAt }: Pick<RemoteContext, 'v3' | 'askAt'>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { label, endpoint, lists } of v3) {
    if (lists.some(({ answer }) => answer.kind !== 'absent')) findings.push(...judgeRegion(label, lists));
    else if (lists.length > 0) findings.push(await tryAddress(label, endpoint, lists, askAt));
  }
  return findings;
}

async function tryAddress(
  label: string,
  endpoint: Endpoint,
  lists: readonly SampledList[],
  askAt: RemoteContext['askAt'],
): Promise<Finding> {
  const text = `${label} answers 404 to every model.`;
  const value = `${endpoint.baseUrl}/v3`;
  const kinds = await askAt({ ...endpoint, baseUrl: value }, (ask) =>
    Promise.all(lists.map(async (list) => (await ask(list, 1)).kind)),
  );
  if (!kinds.includes('answers')) {
    const fix = 'Check v3.regions.*.baseUrl: requests go to {baseUrl}/{category}/{model}.';
    return problem('v3_absent', 2, text, fix);
  }
  const path = ['v3', 'regions', endpoint.region, 'baseUrl'];
  const correction = { path, value, text: `${endpoint.baseUrl} → ${value}, which answers` };
  const fix = `Set its baseUrl to ${value}, which answers.`;
  return { ...problem('v3_absent', 2, text, fix), corrections: [correction] };
}

function judgeRegion(label: string, lists: readonly SampledList[]): Finding[] {
  const findings: Finding[] = [];
  const answered = lists.filter(hasAnswered).length;
  const records = countRecords(lists);
  if (records > 0) {
    const counts = `${countOf(records, 'record')} in ${countOf(answered, 'list')}, deleted ones too`;
    findings.push(ok('v3_lists', `${label} counts ${counts}.`));
  } else if (answered > 0) {
    const fix = 'Check that the address and the key are those of your organization.';
    findings.push(warning('v3_empty', `${label} shows no record at all.`, fix));
  }
  findings.push(...judgeFailures('v3_list_failed', lists, ({ pair }) => pair.v3));
  for (const { pair, answer } of lists) {
    findings.push(...judgeContent(`${label} ${pair.v3}`, answer));
    if (answer.kind !== 'absent') continue;
    const fix = 'Remove it from "models" if you do not use it; it counts as absent, not as empty.';
    findings.push(warning('v3_model_absent', `${label} does not have ${pair.v3} (404).`, fix));
  }
  return findings;
}

/** Smallest clock offset that is reported, ms. */
const CLOCK_OFFSET_MS = 60_000;

/** Whether the clocks agree. Sweeps use the service's time; the age of the evidence uses the local clock. */
export function checkClocks({
  v3,
  v4,
  endpoints,
}: Pick<RemoteContext, 'v3' | 'v4' | 'endpoints'>): Finding[] {
  const states = endpoints();
  const known = [...v3, v4].flatMap((host) => {
    const offsetMs = stateOf(states, host)?.clockOffsetMs ?? null;
    return offsetMs === null ? [] : [{ label: host.label, offsetMs }];
  });
  const off = known.filter(({ offsetMs }) => Math.abs(offsetMs) >= CLOCK_OFFSET_MS);
  if (off.length === 0 && known.length > 0) {
    const text = 'The clocks of this machine and the service agree within a minute.';
    return [ok('clock_agrees', text)];
  }
  return off.map(({ label, offsetMs }) => {
    const side = offsetMs > 0 ? 'ahead of' : 'behind';
    const text = `The clock of ${label} is ${formatDuration(Math.abs(offsetMs))} ${side} this machine's.`;
    const fix = 'Set the clock of this machine (NTP), or ask the operator about theirs';
    return warning('clock_off', text, `${fix}: times in the report would be off.`);
  });
}

/** Page sizes to try, up to the largest that the configuration accepts. */
const PAGE_SIZES = [10_000, 5000, 2000, 1000, 500, 200, 100, 50, 10] as const;
/** A larger page may take this part of the largest body that is read. */
const BODY_SHARE = 0.25;

/** Whether pages have the configured size, and which larger ones the hosts send. */
export async function checkPages({ config, ask, v3, v4 }: RemoteContext): Promise<Finding[]> {
  return (await Promise.all([...v3, v4].map((host) => probePages(host, ask, config)))).flat();
}

/** Requests pages of a host's longest list, the largest first, until one is not refused. */
async function probePages(
  { label, endpoint: { pageSize: wanted, region }, lists }: SampledHost,
  ask: AskList,
  config: Config,
): Promise<Finding[]> {
  const [longest] = [...lists].sort((a, b) => sizeOf(b.answer) - sizeOf(a.answer));
  if (longest?.answer.kind !== 'answers' || objectsOf(longest.answer) === 0) return [];
  const bytes = longest.answer.bytes / objectsOf(longest.answer);
  const most = (config.http.maxBodyBytes * BODY_SHARE) / Math.max(1, bytes);
  const setting = label === 'V4' ? 'v4.pageSize' : 'v3.pageSize';
  const path = label === 'V3' || label === 'V4' ? setting.split('.') : ['v3', 'regions', region, 'pageSize'];
  const correct = (finding: Finding, value: number): Finding[] => {
    const text = `${label}: pages of ${wanted} → ${value}, the most it sends`;
    return [{ ...finding, corrections: [{ path, value, text }] }];
  };
  const refused = `${label} refuses pages of ${countOf(wanted, 'record')}.`;
  const sizes = PAGE_SIZES.filter((size) => size < wanted || (size > wanted && size <= most));
  for (const asked of [...sizes, wanted].sort((a, b) => b - a)) {
    const answer = await ask(longest, asked);
    if (answer.kind === 'refused' || (answer.kind !== 'answers' && asked > wanted)) continue;
    if (answer.kind !== 'answers') return [];
    if (asked < wanted) {
      const fix = `Set ${setting} to ${asked}, which it answers.`;
      return correct(problem('page_size_refused', 2, refused, fix), asked);
    }
    const got = objectsOf(answer);
    const sends = `${label} sends pages of ${countOf(got, 'record')}`;
    if (got === wanted) return [ok('page_size', `${sends}, as asked.`)];
    if (got > wanted) {
      const text = `${sends} where ${groupDigits(wanted)} are configured.`;
      return correct(note('page_size_larger', text, `Fewer requests: set ${setting} to ${got}.`), got);
    }
    if (answer.hasMore) {
      const text = `${label} sends at most ${countOf(got, 'record')} a page where ${groupDigits(wanted)} were asked for.`;
      return correct(note('page_size_capped', text), got);
    }
    return [note('page_size_unknown', `${label}: no list asked fills a page of ${groupDigits(wanted)}.`)];
  }
  return [problem('page_size_refused', 2, refused, `Set ${setting} to what the operator allows.`)];
}

function objectsOf({ records, rejected }: ListContent): number {
  return records.length + rejected;
}
