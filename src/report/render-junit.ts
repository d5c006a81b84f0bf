import { isUnfinished, type ReportLimit } from '../domain.js';
import { escapeMarkup } from '../text/escape.js';
import { describeKey } from './describe-key.js';
import type { Report, ReportStream } from './schema.js';
import { describeLimit } from './verdict.js';

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

interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
}

/**
 * JUnit XML: a suite per model and one for the whole, a case per limit and per list. Red exactly where the
 * outcome is not `pass`.
 */
export function* renderJunit(report: Report): Generator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  for (const [id, suite] of listSuites(report).entries()) yield* renderSuite(suite, id, report);
  yield '</testsuites>\n';
}

function listSuites(report: Report): Suite[] {
  const whole = { name: 'all models', cases: [...blockerCases(report), ...limitCases(report, null)] };
  const names = [
    ...new Set([
      ...report.models.map(({ model }) => model),
      ...report.completeness.map(({ model }) => model),
    ]),
  ];
  const models = names.map((model) => ({
    name: model,
    cases: [
      ...limitCases(report, model),
      ...report.completeness.filter((stream) => stream.model === model).map(streamCase),
    ],
  }));
  return [whole, ...models];
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

function* renderSuite({ name, cases }: Suite, id: number, report: Report): Generator<string> {
  const of = (kind: Case['result']['kind']) => cases.filter(({ result }) => result.kind === kind).length;
  const attributes = [
    ['name', name],
    ['package', 'svc-migrate'],
    ['id', String(id)],
    ['timestamp', report.generatedAt.slice(0, 19)],
    ['hostname', 'localhost'],
    ['tests', String(cases.length)],
    ['failures', String(of('failure'))],
    ['errors', String(of('error'))],
    ['skipped', String(of('skipped'))],
    ['time', '0'],
  ];
  yield `<testsuite ${attributes.map(([key, value]) => `${key}="${escapeMarkup(value ?? '')}"`).join(' ')}>\n`;
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
