import { isUnfinished, type ReportLimit } from '../domain.js';
import { escapeMarkup } from '../text/escape.js';
import { describeLimit } from './build-verdict.js';
import { describeKey } from './describe.js';
import type { Report, ReportStream } from './report-schema.js';

interface Case {
  readonly name: string;
  readonly result:
    | { readonly kind: 'pass' }
    | { readonly kind: 'skipped' }
    | {
        readonly kind: 'failure' | 'error';
        readonly type: string;
        readonly message: string;
        readonly text: string;
      };
}

/**
 * JUnit XML: one suite for each model and one for all, one case for each limit and list. A case fails if and only if
 * the outcome is not `pass`.
 */
export function* renderJunit(report: Report): Generator<string> {
  const suites = new Map<string, Suite>();
  const suiteOf = (name: string) => {
    const suite = suites.get(name) ?? new Suite(name, limitCases(report, name));
    suites.set(name, suite);
    return suite;
  };
  for (const { model } of report.models) suiteOf(model);
  for (const stream of report.completeness) suiteOf(stream.model).add(streamCase(stream));
  const all = new Suite('all models', [...blockerCases(report), ...limitCases(report, null)]);
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  for (const [id, suite] of [all, ...suites.values()].entries()) yield* suite.render(id, report);
  yield '</testsuites>\n';
}

/** Cases that are joined into one text: there can be hundreds of thousands of lists. */
const JOINED = 1000;

/** The cases of a model as text, and how many there are of each kind. */
class Suite {
  readonly #name: string;
  readonly #counts = { pass: 0, skipped: 0, failure: 0, error: 0 };
  readonly #texts: string[] = [];
  #last: string[] = [];

  constructor(name: string, cases: readonly Case[]) {
    this.#name = name;
    for (const one of cases) this.add(one);
  }

  add(one: Case): void {
    this.#counts[one.result.kind] += 1;
    this.#last.push(renderCase(this.#name, one));
    if (this.#last.length < JOINED) return;
    this.#texts.push(this.#last.join(''));
    this.#last = [];
  }

  *render(id: number, report: Report): Generator<string> {
    const { pass, failure, error, skipped } = this.#counts;
    const attributes = {
      name: this.#name,
      package: 'svc-migrate',
      id,
      timestamp: report.generatedAt.slice(0, 19),
      hostname: 'localhost',
      tests: pass + failure + error + skipped,
      failures: failure,
      errors: error,
      skipped,
      time: 0,
    };
    const texts = Object.entries(attributes).map(([key, value]) => `${key}="${escapeMarkup(String(value))}"`);
    yield `<testsuite ${texts.join(' ')}>\n`;
    yield `<properties><property name="outcome" value="${report.outcome}"/></properties>\n`;
    yield* this.#texts;
    yield* this.#last;
    yield '<system-out/>\n<system-err/>\n</testsuite>\n';
  }
}

function blockerCases({ blockers }: Report): Case[] {
  if (blockers.length === 0) return [{ name: 'the data are complete', result: { kind: 'pass' } }];
  return blockers.map(({ code, text, next }) => ({
    name: 'the data are complete',
    result: { kind: 'error', type: code, message: text, text: `Next: ${next}` },
  }));
}

function limitCases({ gate }: Report, model: string | null): Case[] {
  return gate.limits.filter((limit) => limit.model === model).map(limitCase);
}

function limitCase(limit: ReportLimit): Case {
  const name = `limit ${limit.name}`;
  if (limit.pass) return { name, result: { kind: 'pass' } };
  const lines = limit.contributors.map(({ model, key, count }) => `${model}: ${count} ${key}`);
  const { meaning, action } = describeKey(limit.name);
  const text = [limit.detail, ...lines, meaning, action].filter((line) => line !== null && line !== '');
  const message =
    limit.unit === 'hours'
      ? `${limit.actual ?? 'unknown'} hours old, ${limit.allowed} allowed`
      : describeLimit(limit);
  return { name, result: { kind: 'failure', type: 'limit', message, text: text.join('\n') } };
}

function streamCase(stream: ReportStream): Case {
  const company = stream.companyId === null ? '' : `, company ${stream.companyId}`;
  const region = stream.region === '' ? '' : ` in ${stream.region}`;
  const name = `${stream.generation.toUpperCase()} list${region}${company}`;
  if (stream.state === 'absent') return { name, result: { kind: 'skipped' } };
  if (!isUnfinished(stream)) return { name, result: { kind: 'pass' } };
  const message = `${stream.state} after ${stream.pages} pages${stream.endReason === null ? '' : `: ${stream.endReason}`}`;
  const text = `Run svc-migrate export ${stream.generation} again: it continues where it stopped.`;
  return { name, result: { kind: 'error', type: 'stream_unfinished', message, text } };
}

function renderCase(suite: string, { name, result }: Case): string {
  const head = `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(name)}" time="0"`;
  if (result.kind === 'pass') return `${head}/>\n`;
  if (result.kind === 'skipped') return `${head}><skipped/></testcase>\n`;
  const text = result.text.split('\n').map(escapeMarkup).join('\n');
  return `${head}><${result.kind} type="${result.type}" message="${escapeMarkup(result.message)}">${text}</${result.kind}></testcase>\n`;
}
