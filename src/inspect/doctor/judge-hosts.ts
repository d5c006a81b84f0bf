import type { Config } from '../../config/config.js';
import { isLoopback } from '../../config/values.js';
import type { SvcError } from '../../errors.js';
import { formatDuration } from '../../text/numbers.js';
import type { HostFacts, RemoteFacts } from './facts.js';
import { type Finding, note, ok, type ProblemCode, problem, warning } from './finding.js';

/** Is every key there, and does every host take it? */
export function judgeHosts(hosts: readonly HostFacts[], config: Config): Finding[] {
  return hosts.flatMap((host) => [...judgeHost(host), ...judgeTransport(host, config), ...tellProxy(host)]);
}

function tellProxy({ label, proxy }: HostFacts): Finding[] {
  if (proxy === null) return [];
  const text = `${label} is asked through the proxy ${proxy}, inside a tunnel that it cannot read.`;
  return [note('keys', 'proxy', text, 'Name the host in NO_PROXY to reach it directly.')];
}

function judgeHost({ label, baseUrl, keySource, keyError, error, answered }: HostFacts): Finding[] {
  if (keyError !== null) {
    return [problem('keys', 'key_unusable', 2, keyError.message, keyError.hint ?? 'Set the key.')];
  }
  if (answered)
    return [ok('keys', 'key_accepted', `${label} at ${baseUrl} takes the key from ${keySource}.`)];
  if (error === null) return [];
  if (error.facts['status'] === 404 && label === 'V4') {
    const text = `V4 is not there: ${baseUrl} answers 404 to its company list.`;
    return [
      problem(
        'V4',
        'v4_absent',
        5,
        text,
        'Check v4.baseUrl, or ask the operator whether V4 is switched on for you.',
      ),
    ];
  }
  const code = error.code === 'auth' ? 'key_refused' : `host_${error.code}`;
  const area = error.code === 'auth' ? 'keys' : label === 'V4' ? 'V4' : 'V3';
  const about = error.message.includes(label) ? error.message : `${label}: ${error.message}`;
  return [problem(area, code, exitOf(error), about, error.hint ?? 'Check baseUrl and the network.')];
}

/** An answer that stays wrong is not the API at that address, or not of the shape that is configured. */
function exitOf({ code, exitCode }: SvcError): ProblemCode {
  if (code === 'bad_response') return 2;
  return exitCode === 2 || exitCode === 3 || exitCode === 5 || exitCode === 6 ? exitCode : 4;
}

function judgeTransport({ label, baseUrl }: HostFacts, { http }: Config): Finding[] {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== 'http:' || isLoopback(hostname) || !http.allowHttp) return [];
  return [
    warning(
      'keys',
      'plain_http',
      `${label} is asked over plain http: the key crosses the network readable.`,
      'Use https, and take http.allowHttp out.',
    ),
  ];
}

/** Beyond this a clock is worth a word, ms. */
const NOTABLE_MS = 60_000;

/** Do the clocks agree? Sweeps go by the service's own time; the age of the evidence goes by the local clock. */
export function judgeClocks(hosts: readonly HostFacts[]): Finding[] {
  const told = hosts.filter(({ clockOffsetMs }) => clockOffsetMs !== null);
  const off = told.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs ?? 0) >= NOTABLE_MS);
  if (off.length === 0) {
    return told.length === 0
      ? []
      : [ok('clock', 'clock_agrees', 'The clocks of this machine and the service agree within a minute.')];
  }
  return off.map((host) => judgeClock(host));
}

function judgeClock({ label, clockOffsetMs }: HostFacts): Finding {
  const offset = clockOffsetMs ?? 0;
  const side = offset > 0 ? 'ahead of' : 'behind';
  const text = `The clock of ${label} is ${formatDuration(Math.abs(offset))} ${side} this machine's.`;
  const fix = 'Set the clock of this machine (NTP), or ask the operator about theirs';
  return warning('clock', 'clock_off', text, `${fix}: times in the report would be off.`);
}

/** What else the probe says of itself. */
export function judgeEffort({ requests }: RemoteFacts): Finding[] {
  return requests === 0
    ? []
    : [note('program', 'requests', `${requests} questions were asked, all GETs; nothing was written.`)];
}
