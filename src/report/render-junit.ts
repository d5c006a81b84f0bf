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
  const { models, completeness } = report;
  const names = new Set([...models, ...completeness].map(({ model }) => model));
  const suites: [string, Case[]][] = [
    ['all models', [...blockerCases(report), ...limitCases(report, null)]],
    ...[...names].map((name): [string, Case[]] => {
      const streams = completeness.filter(({ model }) => model === name);
      return [name, [...limitCases(report, name), ...streams.map(streamCase)]];
    }),
  ];
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  for (const [id, [name, cases]] of suites.entries()) yield* renderSuite(name, cases, id, report);
  yield '</testsuites>\n';
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

function* renderSuite(name: string, cases: readonly Case[], id: number, report: Report): Generator<string> {
  const of = (kind: Case['result']['kind']) => cases.filter(({ result }) => result.kind === kind).length;
  const attributes = {
    name,
    package: 'svc-migrate',
    id,
    timestamp: report.generatedAt.slice(0, 19),
    hostname: 'localhost',
    tests: cases.length,
    failures: of('failure'),
    errors: of('error'),
    skipped: of('skipped'),
    time: 0,
  };
  const texts = Object.entries(attributes).map(([key, value]) => `${key}="${escapeMarkup(String(value))}"`);
  yield `<testsuite ${texts.join(' ')}>\n`;
  yield `<properties><property name="outcome" value="${report.outcome}"/></properties>\n`;
  for (const one of cases) yield renderCase(name, one);
  yield '<system-out/>\n<system-err/>\n</testsuite>\n';
}

function renderCase(suite: string, { name, result }: Case): string {
  const head = `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(name)}" time="0"`;
  if (result.kind === 'pass') return `${head}/>\n`;
  if (result.kind === 'skipped') return `${head}><skipped/></testcase>\n`;
  const text = result.text.split('\n').map(escapeMarkup).join('\n');
  return `${head}><${result.kind} type="${result.type}" message="${escapeMarkup(result.message)}">${text}</${result.kind}></testcase>\n`;
}
