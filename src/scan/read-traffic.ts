import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { describeFileError, SvcError } from '../errors.js';
import * as z from '../zod.js';
import { parseUrl } from './parse-url.js';
import type { ScanSettings } from './rules/rule.js';
import type { SeenTraffic } from './scan-report.js';

/** One request of a log. */
interface LoggedRequest {
  readonly url: string;
  readonly caller: string;
}

/** Maximum length of a HAR file: it is one JSON value, so it is parsed as a whole. */
const MAX_HAR_CHARS = 64 * 1024 * 1024;
const MAX_CALLERS = 5;

/** The common and combined log formats of web servers. */
const COMBINED = /^\S+ \S+ \S+ \[[^\]]*\] "(?:[A-Z]+) (\S+)[^"]*" \d{3} \S+(?: "[^"]*" "([^"]*)")?/;

const text = z.string().optional().catch(undefined);
const jsonLine = z.looseObject({
  url: text,
  request_uri: text,
  path: text,
  uri: text,
  host: text,
  user_agent: text,
  userAgent: text,
  http_user_agent: text,
});
const har = z.object({
  log: z.object({
    entries: z.array(
      z.object({
        request: z.object({
          url: z.string(),
          headers: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
        }),
      }),
    ),
  }),
});

/**
 * Reads an access log (common, combined, JSON lines) or a HAR file.
 *
 * @throws SvcError `bad_input`
 */
export async function readTraffic(file: string, settings: ScanSettings): Promise<SeenTraffic> {
  const tally = new TrafficTally(settings);
  try {
    if (file.endsWith('.har')) {
      const parts: string[] = [];
      let length = 0;
      for await (const chunk of createReadStream(file, 'utf8')) {
        length += chunk.length;
        if (length > MAX_HAR_CHARS) throw new SvcError('bad_input', `${file} is larger than 64 MiB.`);
        parts.push(chunk);
      }
      for (const request of requestsOfHar(parts.join(''))) tally.add(request);
    } else {
      const lines = createInterface({
        input: createReadStream(file, 'utf8'),
        crlfDelay: Number.POSITIVE_INFINITY,
      });
      for await (const line of lines) if (line.trim() !== '') tally.add(requestOfLine(line));
    }
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    const hint = 'Give an access log (common, combined, JSON lines) or a HAR file.';
    throw new SvcError('bad_input', `Cannot read ${file}: ${describeFileError(cause)}.`, { hint, cause });
  }
  return tally.result();
}

function requestsOfHar(json: string): LoggedRequest[] {
  const parsed = har.safeParse(parseJson(json));
  if (!parsed.success) throw new SvcError('bad_input', 'The HAR file has no log with entries.');
  return parsed.data.log.entries.map(({ request }) => ({
    url: request.url,
    caller: request.headers.find(({ name }) => /^user-agent$/i.test(name))?.value ?? '',
  }));
}

function requestOfLine(line: string): LoggedRequest | null {
  if (line.trimStart().startsWith('{')) {
    const parsed = jsonLine.safeParse(parseJson(line));
    const { url, request_uri, path, uri, host, user_agent, userAgent, http_user_agent } = parsed.data ?? {};
    const address = url ?? request_uri ?? uri ?? path;
    if (address === undefined) return null;
    const whole = host === undefined || !address.startsWith('/') ? address : `https://${host}${address}`;
    return { url: whole, caller: user_agent ?? userAgent ?? http_user_agent ?? '' };
  }
  const [, url, caller = ''] = COMBINED.exec(line.slice(0, 10_000)) ?? [];
  return url === undefined ? null : { url, caller };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

interface RouteTally {
  requests: number;
  readonly parameters: Set<string>;
  readonly callers: Map<string, number>;
}

/** Maximum number of distinct callers, and of parameters, that are counted for a route: clients choose both freely. */
const MAX_COUNTED = 1000;

class TrafficTally {
  readonly #settings: ScanSettings;
  readonly #routes = new Map<string, RouteTally>();
  #requests = 0;
  #unread = 0;

  constructor(settings: ScanSettings) {
    this.#settings = settings;
  }

  add(request: LoggedRequest | null): void {
    if (request === null) {
      this.#unread += 1;
      return;
    }
    this.#requests += 1;
    const { route, query, kind } = parseUrl(request.url, this.#settings);
    if (route?.pair == null || kind === 'v4' || kind === 'other') return;
    const known = this.#routes.get(route.pair.v3);
    const tally = known ?? { requests: 0, parameters: new Set<string>(), callers: new Map<string, number>() };
    if (known === undefined) this.#routes.set(route.pair.v3, tally);
    tally.requests += 1;
    for (const { name } of query.slice(0, 50))
      if (tally.parameters.size < MAX_COUNTED) tally.parameters.add(name);
    const { caller } = request;
    if (caller === '' || caller === '-' || (!tally.callers.has(caller) && tally.callers.size >= MAX_COUNTED))
      return;
    tally.callers.set(caller, (tally.callers.get(caller) ?? 0) + 1);
  }

  result(): SeenTraffic {
    const routes = [...this.#routes].map(([route, { requests, parameters, callers }]) => ({
      route,
      requests,
      parameters: [...parameters].sort(),
      callers: [...callers]
        .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .slice(0, MAX_CALLERS)
        .map(([caller]) => caller),
    }));
    const ordered = routes.sort((a, b) => b.requests - a.requests || (a.route < b.route ? -1 : 1));
    return { requests: this.#requests, unread: this.#unread, routes: ordered };
  }
}
