import { countOf } from '../text/numbers.js';
import type { ScanReport } from './scan-report.js';

/** Without a host, the default `--fail-on certain` passes whatever the code does. */
const NO_HOST =
  'But no V3 host is known, and without one no use can be certain: name it with --v3-host, or in a configuration (svc-migrate init).';

/** What was found, how much was read, and the verdict: the same words in every format. */
export function describeUses({ summary, outcome, failOn, hosts }: ScanReport): string {
  if (summary.filesRead === 0) {
    return `Failed: no file was read, ${summary.filesSkipped} not read, so nothing is known about uses of V3.`;
  }
  const { certain, likely, look } = summary.places;
  const uses = countOf(certain + likely + look, 'use');
  const kinds =
    certain + likely + look === 0 ? '' : ` (${certain} certain, ${likely} likely, ${look} to look at)`;
  const read = `in ${countOf(summary.filesRead, 'file')} read, ${summary.filesSkipped} not read`;
  const verdict = outcome === 'pass' ? 'passed' : 'failed';
  const limit =
    failOn === 'certain' ? 'no certain use may remain' : `no use may remain that is ${failOn} or surer`;
  const found = `${uses} of V3${kinds} ${read}: ${verdict}, as ${limit}.`;
  return hosts.length > 0 ? found : `${found} ${NO_HOST}`;
}

/** Why files were not read, with their number, most frequent first. */
export function countSkipped({ files }: ScanReport): (readonly [why: string, count: number])[] {
  const found = new Map<string, number>();
  for (const { why } of files.skipped) found.set(why, (found.get(why) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]);
}

/** What the traffic adds; routes that no code was found for come first. */
export function describeTraffic({ traffic }: ScanReport): string[] {
  if (traffic === null) return [];
  const { routes, notInCode, requests, unread } = traffic;
  const head =
    notInCode.length === 0
      ? `Every V3 route that was requested is in the code (${countOf(routes.length, 'route')}, ${countOf(requests, 'request')} read, ${countOf(unread, 'line')} not).`
      : `REQUESTED, BUT NOT FOUND IN THE CODE: ${notInCode.join(', ')} (${countOf(requests, 'request')} read, ${countOf(unread, 'line')} not).`;
  const lines = routes.map(({ route, requests: times, callers, parameters }) => {
    const from = callers.length === 0 ? '' : ` from ${callers.join('; ')}`;
    return `${route}: ${countOf(times, 'request')}${from}${parameters.length === 0 ? '' : ` with ${parameters.join(', ')}`}`;
  });
  return [head, ...lines];
}

/** What the scan cannot tell, which every format repeats. */
export const SCAN_LIMITS =
  'Not seen: addresses put together at run time, clients passed in from elsewhere, code that is not in these files.';
