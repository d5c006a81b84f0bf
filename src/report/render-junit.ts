import { isUnfinished, type ReportLimit, type RowUnit } from '../domain.js';
import { escapeMarkup } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { nameOfStream } from './cannot-see.js';
import { describeLimit, scopeSentence } from './document.js';
import { actionFor, titleOfKey } from './next-steps.js';
import type { Report, ReportStream } from './report-schema.js';

interface Case {
  readonly suite: string;
  readonly name: string;
  readonly kind: 'pass' | 'skipped' | 'failure' | 'error';
  readonly type: string;
  readonly message: string;
  readonly text: string;
}

const ALL_MODELS = 'all models';
const PASS = { kind: 'pass', type: '', message: '', text: '' } as const;

/**
 * JUnit XML: one suite for each model and one for all, one case for each limit and list. A case fails if and only if
 * the outcome is not `pass`.
 */
export function* renderJunit(report: Report): Generator<string> {
  const cases = [
    ...blockerCases(report),
    ...report.gate.limits.map((limit) => limitCase(limit, report.windows)),
    ...report.completeness.map((stream) => streamCase(stream, report.next)),
    ...omittedCases(report.omitted.completeness),
  ];
  const time = `timestamp="${report.generatedAt.slice(0, 19)}" hostname="localhost" time="0"`;
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  const suites = [...groupBy(cases, ({ suite }) => suite)];
  for (const [id, [name, rows]] of suites.entries()) {
    const count = (kind: Case['kind']) => rows.filter((row) => row.kind === kind).length;
    const counts = `tests="${rows.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
    yield `<testsuite name="${escapeMarkup(name)}" package="svc-migrate" id="${id}" ${time} ${counts}>\n`;
    const scope = scopeSentence(report).map(
      (text) => `<property name="scope" value="${escapeMarkup(text)}"/>`,
    );
    yield `<properties><property name="outcome" value="${report.outcome}"/>${scope.join('')}</properties>\n`;
    for (const row of rows) yield renderCase(row);
    yield '<system-out/>\n<system-err/>\n</testsuite>\n';
  }
  yield '</testsuites>\n';
}

function blockerCases({ blockers, next }: Report): Case[] {
  const head = { suite: ALL_MODELS, name: 'the data are complete' };
  if (blockers.length === 0) return [{ ...head, ...PASS }];
  return blockers.map(({ code, text }) => ({
    ...head,
    kind: 'error',
    type: code,
    message: text,
    text: `Next: ${next}`,
  }));
}

function limitCase(limit: ReportLimit, windows: Report['windows']): Case {
  const head = { suite: limit.model ?? ALL_MODELS, name: `limit ${limit.name}` };
  if (limit.pass) return { ...head, ...PASS };
  const rows = limit.contributors.map(({ model, key, count, unit }) => {
    const ids = unit === null ? '' : ` ${nameOfUnit(unit)}s`;
    return `${model}: ${groupDigits(count)}${ids}, ${titleOfKey(key)} (${key})`;
  });
  const keys = limit.contributors.length === 0 ? [limit.name] : limit.contributors.map(({ key }) => key);
  const actions = [...new Set(keys.map((key) => actionFor(key, windows, limit.model)))];
  const lines = [...(limit.detail === null ? [] : [limit.detail]), ...rows, ...actions];
  return { ...head, kind: 'failure', type: 'limit', message: describeLimit(limit), text: lines.join('\n') };
}

function omittedCases(count: number): Case[] {
  if (count === 0) return [];
  return [{ suite: ALL_MODELS, name: `${groupDigits(count)} more lists: see the table stream`, ...PASS }];
}

/** `V3 line item` */
function nameOfUnit(unit: RowUnit): string {
  return `${unit.slice(0, 2).toUpperCase()} ${unit.slice(3).replace('_', ' ')}`;
}

function streamCase(stream: ReportStream, next: string): Case {
  const head = { suite: stream.model, name: nameOfStream(stream) };
  if (stream.state === 'absent') return { ...head, ...PASS, kind: 'skipped' };
  if (!isUnfinished(stream)) return { ...head, ...PASS };
  const why = stream.endReason === null ? '' : `: ${stream.endReason}`;
  const message = `${stream.state} after ${stream.pages} pages${why}`;
  return { ...head, kind: 'error', type: 'stream_unfinished', message, text: `Next: ${next}` };
}

function renderCase({ suite, name, kind, type, message, text }: Case): string {
  const head = `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(name)}" time="0"`;
  if (kind === 'pass') return `${head}/>\n`;
  if (kind === 'skipped') return `${head}><skipped/></testcase>\n`;
  const body = text.split('\n').map(escapeMarkup).join('\n');
  return `${head}><${kind} type="${escapeMarkup(type)}" message="${escapeMarkup(message)}">${body}</${kind}></testcase>\n`;
}
