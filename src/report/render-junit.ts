import { isUnfinished } from '../domain.js';
import type { ListRow } from '../store/report-rows.js';
import { escapeMarkup } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { nameOfStream } from './cannot-see.js';
import { scopeSentence } from './document.js';
import type { JudgedLimit } from './gate.js';
import type { Report } from './report-schema.js';
import { describeLimit, obstacleItems } from './sections.js';

interface Case {
  readonly suite: string;
  readonly name: string;
  /** Left out: the case passes. */
  readonly problem?: Problem;
  readonly isSkipped?: boolean;
}

interface Problem {
  readonly kind: 'failure' | 'error';
  readonly type: string;
  readonly message: string;
  readonly text: string;
}

const ALL_MODELS = 'all models';

/**
 * JUnit XML: one suite for each model and one for all, one case for each limit and list. A case fails if and only if
 * the outcome is not `pass`.
 */
export function* renderJunit(report: Report): Generator<string> {
  const cases = [
    ...blockerCases(report),
    ...report.gate.limits.map((limit) => limitCase(limit, report)),
    ...report.completeness.map((list) => listCase(list, report)),
    ...omittedCases(report),
  ];
  const time = `timestamp="${report.generatedAt.slice(0, 19)}" hostname="localhost" time="0"`;
  const properties = [['outcome', report.outcome], ...scopeSentence(report).map((text) => ['scope', text])]
    .map(([name = '', value = '']) => `<property name="${name}" value="${escapeMarkup(value)}"/>`)
    .join('');
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  const suites = [...groupBy(cases, ({ suite }) => suite)];
  for (const [id, [name, rows]] of suites.entries()) {
    const count = (kind: Problem['kind']) => rows.filter(({ problem }) => problem?.kind === kind).length;
    const skipped = rows.filter(({ isSkipped }) => isSkipped).length;
    const counts = `tests="${rows.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${skipped}"`;
    yield `<testsuite name="${escapeMarkup(name)}" package="svc-migrate" id="${id}" ${time} ${counts}>\n`;
    yield `<properties>${properties}</properties>\n`;
    for (const row of rows) yield renderCase(row);
    yield '<system-out/>\n<system-err/>\n</testsuite>\n';
  }
  yield '</testsuites>\n';
}

function blockerCases({ blockers, next }: Report): Case[] {
  const head = { suite: ALL_MODELS, name: 'the data are complete' };
  if (blockers.length === 0) return [head];
  const text = `Next: ${next}`;
  return blockers.map(({ code: type, text: message }) => {
    return { ...head, problem: { kind: 'error', type, message, text } };
  });
}

function limitCase(limit: JudgedLimit, { windows }: Report): Case {
  const head = { suite: limit.model ?? ALL_MODELS, name: `limit ${limit.name}` };
  if (limit.pass) return head;
  const lines = obstacleItems([limit], windows).flatMap(({ title, text = '', action = '' }) => [
    `${title}: ${text}`,
    action,
  ]);
  const message = describeLimit(limit);
  return { ...head, problem: { kind: 'failure', type: 'limit', message, text: lines.join('\n') } };
}

function omittedCases({ omitted: { completeness } }: Report): Case[] {
  if (completeness === 0) return [];
  return [{ suite: ALL_MODELS, name: `${groupDigits(completeness)} more lists: see the table stream` }];
}

function listCase(list: ListRow, { next }: Report): Case {
  const head = { suite: list.model, name: nameOfStream(list), isSkipped: list.state === 'absent' };
  if (!isUnfinished(list)) return head;
  const why = list.endReason === null ? '' : `: ${list.endReason}`;
  const message = `${list.state} after ${list.pages} pages${why}`;
  const text = `Next: ${next}`;
  return { ...head, problem: { kind: 'error', type: 'stream_unfinished', message, text } };
}

function renderCase({ suite, name, problem, isSkipped = false }: Case): string {
  const head = `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(name)}" time="0"`;
  if (isSkipped) return `${head}><skipped/></testcase>\n`;
  if (problem === undefined) return `${head}/>\n`;
  const { kind, type, message, text } = problem;
  const body = text.split('\n').map(escapeMarkup).join('\n');
  return `${head}><${kind} type="${escapeMarkup(type)}" message="${escapeMarkup(message)}">${body}</${kind}></testcase>\n`;
}
