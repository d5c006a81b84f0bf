import { isUnfinished } from '../domain.js';
import { nameOfStream } from '../store/readiness.js';
import type { ListGroup } from '../store/report-rows.js';
import { escapeMarkup } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { describeLimit, obstacleItems, scopeSentence } from './document.js';
import type { JudgedLimit } from './gate.js';
import type { Report } from './report-schema.js';

interface Case {
  readonly suite: string;
  readonly name: string;
  /** XML inside the case; left out: the case passes. */
  readonly result?: string;
}

const ALL_MODELS = 'all models';

/**
 * JUnit XML: one suite for each model and one for all; one case for each limit, and for the lists that ended in the same
 * way. A case fails if and only if the outcome is not `pass`.
 */
export function* renderJunit(report: Report): Generator<string> {
  const cases = [
    ...blockerCases(report),
    ...report.gate.limits.map((limit) => limitCase(limit, report)),
    ...report.lists.map((group) => listCase(group, report)),
  ];
  const time = `timestamp="${report.generatedAt.slice(0, 19)}" hostname="localhost" time="0"`;
  const properties = [['outcome', report.outcome], ...scopeSentence(report).map((text) => ['scope', text])]
    .map(([name = '', value = '']) => `<property name="${name}" value="${escapeMarkup(value)}"/>`)
    .join('');
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  const suites = [...groupBy(cases, ({ suite }) => suite)];
  for (const [id, [name, rows]] of suites.entries()) {
    const count = (kind: string) => rows.filter(({ result }) => result?.startsWith(`<${kind}`)).length;
    const counts = `tests="${rows.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
    yield `<testsuite name="${escapeMarkup(name)}" package="svc-migrate" id="${id}" ${time} ${counts}>\n`;
    yield `<properties>${properties}</properties>\n`;
    for (const { suite, name: title, result = '' } of rows) {
      yield `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(title)}" time="0">${result}</testcase>\n`;
    }
    yield '<system-out/>\n<system-err/>\n</testsuite>\n';
  }
  yield '</testsuites>\n';
}

function blockerCases({ blockers, next }: Report): Case[] {
  const head = { suite: ALL_MODELS, name: 'the data are complete' };
  if (blockers.length === 0) return [head];
  return blockers.map(({ code, text }) => ({
    ...head,
    result: problem('error', code, text, [`Next: ${next}`]),
  }));
}

function limitCase(limit: JudgedLimit, report: Report): Case {
  const head = { suite: limit.model ?? ALL_MODELS, name: `limit ${limit.name}` };
  if (limit.pass) return head;
  const items = obstacleItems([limit], report);
  const lines = items.flatMap(({ title, text = '', action = '' }) => [`${title}: ${text}`, action]);
  return { ...head, result: problem('failure', 'limit', describeLimit(limit), lines) };
}

function listCase(group: ListGroup, { next }: Report): Case {
  const { state, endReason, pages } = group;
  const head = { suite: group.model, name: `${nameOfStream(group)}, ${state}` };
  if (state === 'absent') return { ...head, result: '<skipped/>' };
  if (!isUnfinished(group)) return head;
  const message = `${state} after ${countOf(pages, 'page')}${endReason === null ? '' : `: ${endReason}`}`;
  return { ...head, result: problem('error', 'stream_unfinished', message, [`Next: ${next}`]) };
}

function problem(kind: 'failure' | 'error', type: string, message: string, lines: readonly string[]): string {
  const text = lines.map(escapeMarkup).join('\n');
  return `<${kind} type="${escapeMarkup(type)}" message="${escapeMarkup(message)}">${text}</${kind}>`;
}
