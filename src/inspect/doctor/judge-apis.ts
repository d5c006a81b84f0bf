import type { Config } from '../../config/config.js';
import { isNotFound, type SvcError } from '../../errors.js';
import { isLoopback } from '../../text/addresses.js';
import { type AmbiguousCompany, prepareDescribeAmbiguous } from '../../text/describe-evidence.js';
import { countOf, formatDuration, groupDigits } from '../../text/numbers.js';
import { type Finding, note, ok, problem, warning } from './doctor-finding.js';
import type {
  DatabaseFacts,
  PairPreview,
  ParameterEffect,
  ParameterEffects,
  ProbedHost,
  ProbedPage,
  RemoteFacts,
} from './probe-results.js';

/** Whether every key is set, every host accepts it, and how hosts are reached. */
export function* judgeHosts({ hosts, requests }: RemoteFacts, { http }: Config): Generator<Finding> {
  if (requests > 0) {
    const text = `${countOf(requests, 'request')} sent, all GETs; nothing was written.`;
    yield note('program', 'requests', text);
  }
  for (const host of hosts) {
    const { label, baseUrl, keySource, keyError, error, answered, proxy } = host;
    const isRepeated = hosts.find((one) => one.keyError?.message === keyError?.message) !== host;
    if (keyError !== null) {
      // Regions may share a key: the message names all of them, so it is shown once.
      const fix = keyError.hint ?? 'Set the key.';
      if (!isRepeated) yield problem('keys', 'key_unusable', 2, keyError.message, fix);
    } else if (answered) {
      yield ok('keys', 'key_accepted', `${label} at ${baseUrl} takes the key from ${keySource}.`);
    } else if (error !== null) {
      yield judgeHostError(host, error);
    } else {
      const text = `${label} at ${baseUrl} answers 404 to every list: whether it takes the key is unknown.`;
      yield note('keys', 'key_unknown', text);
    }
    const { protocol, hostname } = new URL(baseUrl);
    if (protocol === 'http:' && !isLoopback(hostname) && http.allowHttp) {
      const text = `${label} is requested over plain http: others on the network can read the key.`;
      yield warning('keys', 'plain_http', text, 'Use https, and remove http.allowHttp.');
    }
    if (proxy !== null) {
      const text = `${label} is requested through the proxy ${proxy}, inside a tunnel that it cannot read.`;
      yield note('keys', 'proxy', text, 'Name the host in NO_PROXY to reach it directly.');
    }
  }
}

function judgeHostError({ label, baseUrl }: ProbedHost, error: SvcError): Finding {
  if (isNotFound(error) && label === 'V4') {
    const text = `V4 is not there: ${baseUrl} answers 404 to its company list.`;
    const fix = 'Check v4.baseUrl, or ask the operator whether V4 is switched on for you.';
    return problem('V4', 'v4_absent', 5, text, fix);
  }
  const isKey = error.code === 'auth';
  const area = isKey ? 'keys' : label === 'V4' ? 'V4' : 'V3';
  const { exitCode } = error;
  const isOwn = exitCode === 2 || exitCode === 3 || exitCode === 5 || exitCode === 6;
  // An invalid response after all attempts: another server at that address, or a configuration that does not fit.
  const exit = error.code === 'bad_response' ? 2 : isOwn ? exitCode : 4;
  const about = error.message.includes(label) ? error.message : `${label}: ${error.message}`;
  const fix = error.hint ?? 'Check baseUrl and the network.';
  return problem(area, isKey ? 'key_refused' : `host_${error.code}`, exit, about, fix);
}

/** Smallest clock offset that is reported, ms. */
const CLOCK_OFFSET_MS = 60_000;

/** Whether the clocks agree. Sweeps use the service's time; the age of the evidence uses the local clock. */
export function judgeClocks(hosts: readonly ProbedHost[]): Finding[] {
  const known = hosts.flatMap(({ label, clockOffsetMs }) =>
    clockOffsetMs === null ? [] : [{ label, offsetMs: clockOffsetMs }],
  );
  const off = known.filter(({ offsetMs }) => Math.abs(offsetMs) >= CLOCK_OFFSET_MS);
  if (off.length === 0 && known.length > 0) {
    const text = 'The clocks of this machine and the service agree within a minute.';
    return [ok('clock', 'clock_agrees', text)];
  }
  return off.map(({ label, offsetMs }) => {
    const side = offsetMs > 0 ? 'ahead of' : 'behind';
    const text = `The clock of ${label} is ${formatDuration(Math.abs(offsetMs))} ${side} this machine's.`;
    const fix = 'Set the clock of this machine (NTP), or ask the operator about theirs';
    return warning('clock', 'clock_off', text, `${fix}: times in the report would be off.`);
  });
}

const MEANINGS: Readonly<Record<ParameterEffect, string>> = {
  honoured: 'is honoured',
  ignored: 'is ignored',
  refused: 'is refused',
  always: 'makes no difference: V4 always does it',
  unknown: 'is unknown: the sampled records do not show it',
};

/** How V4 treats parameters, and what follows from it. */
export function* judgeParameters(effects: ParameterEffects, config: Config): Generator<Finding> {
  yield judgeDeletedParameter(effects, config);
  const filters = [
    ['eq', '{field}[eq]', 'recheck and verify then read whole lists instead of single records.'],
    ['gte', '{field}[gte]', 'only V3 needs it: V4 is always read again in full.'],
    ['sort', 'sort', 'nothing depends on it: V4 is read in its own order.'],
  ] as const;
  for (const [code, name, consequence] of filters) {
    const text = `V4 ${name} ${MEANINGS[effects[code]]}`;
    const isHonoured = effects[code] === 'honoured';
    yield isHonoured
      ? ok('parameters', code, `${text}.`)
      : note('parameters', code, `${text}; ${consequence}`);
  }
  yield judgeHashParameter(effects, config);
}

function judgeDeletedParameter(effects: ParameterEffects, { v4: { includeDeleted } }: Config): Finding {
  const { include_deleted_records: effect, refusesDeletedByName } = effects;
  const code = 'include_deleted_records';
  const text = `V4 include_deleted_records ${MEANINGS[effect]}`;
  if (effect === 'refused' && includeDeleted === true) {
    const fix = 'Set v4.includeDeleted to "auto" or false.';
    return problem('parameters', 'deleted_refused', 2, `${text}, and v4.includeDeleted is true.`, fix);
  }
  if (effect === 'refused' && includeDeleted === 'auto' && !refusesDeletedByName) {
    const why = 'without naming it, so an export would treat that as an error';
    return problem('parameters', 'deleted_refused', 2, `${text} ${why}.`, 'Set v4.includeDeleted to false.');
  }
  if (effect === 'refused' || effect === 'ignored') {
    const result = includeDeleted === false ? '' : ' What was deleted in V4 will count as missing.';
    return note('parameters', code, `${text}.${result}`);
  }
  if (effect === 'honoured' && includeDeleted === false) {
    const all = `${text}, and v4.includeDeleted is false: what was deleted in V4 will count as missing.`;
    return warning('parameters', code, all, 'Set v4.includeDeleted to "auto".');
  }
  return (effect === 'unknown' ? note : ok)('parameters', code, `${text}.`);
}

function judgeHashParameter({ select, selectInV3 }: ParameterEffects, { drift }: Config): Finding {
  if ([select, selectInV3].every((effect) => effect === 'honoured' || effect === 'always')) {
    return ok('parameters', 'select', 'select=data_hash is honoured on both sides.');
  }
  const inV3 = MEANINGS[selectInV3].replace('V4 does', 'V3 does');
  const text = `select=data_hash: in V3 it ${inV3}, in V4 it ${MEANINGS[select]}.`;
  if (!drift.trustDataHash) return note('parameters', 'select', text);
  if (select === 'refused' || selectInV3 === 'refused') {
    const fix = 'Remove drift.trustDataHash: exports would be refused.';
    return problem('parameters', 'select_refused', 2, text, fix);
  }
  return warning('parameters', 'select', text, 'drift.trustDataHash saves nothing: every field is compared.');
}

/** Whether pages have the configured size. */
export function judgePages(pages: readonly ProbedPage[]): Finding[] {
  return pages.map(({ label, asked, got, hasMore, largest }) => {
    const wanted = groupDigits(asked);
    const setting = label === 'V4' ? 'v4.pageSize' : 'v3.pageSize';
    if (got === null) {
      const size = largest === null ? 'what the operator allows' : `${largest}, which it answers`;
      const fix = `Set ${setting} to ${size}.`;
      const text = `${label} refuses pages of ${countOf(asked, 'record')}.`;
      return problem('pages', 'page_size_refused', 2, text, fix);
    }
    if (largest !== null && largest > asked) {
      const text = `${label} sends pages of ${countOf(largest, 'record')} where ${wanted} are configured.`;
      return note('pages', 'page_size_larger', text, `Fewer requests: set ${setting} to ${largest}.`);
    }
    if (got >= asked) {
      return ok('pages', 'page_size', `${label} sends pages of ${countOf(got, 'record')}, as asked.`);
    }
    if (hasMore) {
      const text = `${label} sends at most ${countOf(got, 'record')} a page where ${wanted} were asked for.`;
      const fix = 'Pages are taken as they come; an export needs more requests.';
      return note('pages', 'page_size_capped', text, fix);
    }
    const text = `${label}: no list asked is longer than a page of ${wanted}, so a cap would not show.`;
    return note('pages', 'page_size_unknown', text);
  });
}

const MAX_PAIRS = 5;

/** How companies pair: from the last remap if there is one, otherwise from samples. */
export function judgePairs(preview: readonly PairPreview[], database: DatabaseFacts): Finding[] {
  if (database.kind === 'usable' && database.pairs !== null) {
    const counts = Object.entries(database.pairs).filter(([, n]) => n > 0);
    const text = `From the last remap: ${counts.map(([kind, n]) => `${groupDigits(n)} ${kind}`).join(', ')}.`;
    if (database.pairs.ambiguous === 0) return [ok('companies', 'pairs_stored', text)];
    const setting = '"companies": {"match": {"file": "companies.csv"}}';
    const fix = `Name the ambiguous ones in companies.csv (${setting}); \`svc-migrate findings --write-companies FILE\` drafts it.`;
    const ambiguous = database.ambiguous ?? [];
    const described = ambiguous.slice(0, MAX_PAIRS).map(prepareDescribeAmbiguous(ambiguous));
    const lines = described.map((line) => note('companies', 'pair', `${line}.`));
    return [warning('companies', 'pairs_stored', text, fix), ...lines];
  }
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
  const pairs = shown.map((one) => note('companies', 'pair', describePair(one, describe)));
  return [note('companies', 'pairs_preview', text), ...pairs];
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
