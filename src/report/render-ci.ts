import { isUnfinished, type ReportLimit, type RowUnit } from '../domain.js';
import { addFlags, escapeMarkup, escapeUnseen } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { bareKey } from '../text/reason-counts.js';
import { buildVerdict, describeKey, describeLimit } from './build-verdict.js';
import type { Report, ReportStream } from './report-schema.js';

type Case =
  | { readonly kind: 'pass' | 'skipped'; readonly name: string }
  | {
      readonly kind: 'failure' | 'error';
      readonly name: string;
      readonly type: string;
      readonly message: string;
      readonly text: string;
    };

interface Suite {
  readonly counts: Record<Case['kind'], number>;
  readonly cases: string[];
}

const ALL_MODELS = 'all models';

/**
 * JUnit XML: one suite for each model and one for all, one case for each limit and list. A case fails if and only if
 * the outcome is not `pass`. `flags`: options to add to the commands to run next.
 */
export function* renderJunit(report: Report, flags = ''): Generator<string> {
  const suites = new Map<string, Suite>();
  const add = (name: string, cases: readonly Case[]) => {
    const suite = suites.get(name) ?? { counts: { pass: 0, skipped: 0, failure: 0, error: 0 }, cases: [] };
    suites.set(name, suite);
    for (const one of cases) {
      suite.counts[one.kind] += 1;
      suite.cases.push(renderCase(name, one));
    }
  };
  add(ALL_MODELS, [...blockerCases(report, flags), ...limitCases(report, null)]);
  for (const { model } of report.models) add(model, limitCases(report, model));
  const next = addFlags(buildVerdict(report).next, flags);
  for (const stream of report.completeness) add(stream.model, [streamCase(stream, next)]);
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  let id = 0;
  for (const [name, { counts, cases }] of suites) {
    const tests = `tests="${cases.length}" failures="${counts.failure}" errors="${counts.error}" skipped="${counts.skipped}"`;
    const time = `timestamp="${report.generatedAt.slice(0, 19)}" hostname="localhost"`;
    yield `<testsuite name="${escapeMarkup(name)}" package="svc-migrate" id="${id}" ${time} ${tests} time="0">\n`;
    yield `<properties><property name="outcome" value="${report.outcome}"/></properties>\n`;
    yield* cases;
    yield '<system-out/>\n<system-err/>\n</testsuite>\n';
    id += 1;
  }
  yield '</testsuites>\n';
}

function blockerCases({ blockers }: Report, flags: string): Case[] {
  const name = 'the data are complete';
  if (blockers.length === 0) return [{ kind: 'pass', name }];
  return blockers.map(({ code: type, text: message, next }) => {
    return { kind: 'error', name, type, message, text: `Next: ${addFlags(next, flags)}` };
  });
}

function limitCases({ gate }: Report, model: string | null): Case[] {
  return gate.limits.filter((limit) => limit.model === model).map(limitCase);
}

function limitCase(limit: ReportLimit): Case {
  const name = `limit ${limit.name}`;
  if (limit.pass) return { kind: 'pass', name };
  const lines = limit.contributors.map(
    ({ model, key, count, unit }) =>
      `${model}: ${unit === null ? count : countOf(count, nameOfUnit(unit))} ${key}`,
  );
  const keys = lines.length === 0 ? [limit.name] : limit.contributors.map(({ key }) => bareKey(key));
  const texts = [...new Set(keys)].flatMap((key) => {
    const { title, meaning, action } = describeKey(key, limit.model);
    return [title === '' ? '' : `${title} (${key})`, meaning, action];
  });
  const text = [limit.detail, ...lines, ...texts].filter((line) => line !== null && line !== '');
  const message =
    limit.unit === 'hours'
      ? `${limit.actual ?? 'unknown'} hours old, ${limit.allowed} allowed`
      : describeLimit(limit);
  return { kind: 'failure', name, type: 'limit', message, text: text.join('\n') };
}

/** `V3 line item` */
function nameOfUnit(unit: RowUnit): string {
  return `${unit.slice(0, 2).toUpperCase()} ${unit.slice(3).replace('_', ' ')}`;
}

function streamCase(stream: ReportStream, next: string): Case {
  const company = stream.companyId === null ? '' : `, company ${stream.companyId}`;
  const region = stream.region === '' ? '' : ` in ${stream.region}`;
  const name = `${stream.generation.toUpperCase()} list${region}${company}`;
  if (stream.state === 'absent') return { kind: 'skipped', name };
  if (!isUnfinished(stream)) return { kind: 'pass', name };
  const message = `${stream.state} after ${stream.pages} pages${stream.endReason === null ? '' : `: ${stream.endReason}`}`;
  return { kind: 'error', name, type: 'stream_unfinished', message, text: `Next: ${next}` };
}

function renderCase(suite: string, one: Case): string {
  const head = `<testcase classname="${escapeMarkup(suite)}" name="${escapeMarkup(one.name)}" time="0"`;
  if (!('type' in one)) return one.kind === 'pass' ? `${head}/>\n` : `${head}><skipped/></testcase>\n`;
  const { kind, type, message, text } = one;
  return `${head}><${kind} type="${type}" message="${escapeMarkup(message)}">${text.split('\n').map(escapeMarkup).join('\n')}</${kind}></testcase>\n`;
}

/** GitHub shows at most ten annotations of a step and kind. */
const MAX_ANNOTATIONS = 10;
const LEVELS = { pass: 'notice', fail: 'error', incomplete: 'warning', not_ready: 'warning' } as const;

/** The verdict and the first obstacles as annotations of GitHub Actions, one line each. `flags`: options to add to the command. */
export function renderAnnotations(report: Report, flags = ''): string {
  const { title, sentence, obstacles, next } = buildVerdict(report);
  const level = LEVELS[report.outcome];
  const lines = obstacles
    .slice(0, MAX_ANNOTATIONS - 1)
    .map(({ title: name, code, numbers, meaning, action }) =>
      renderAnnotation(
        level,
        code === null ? name : `${name} (${code})`,
        asSentences([numbers, meaning, action]),
      ),
    );
  return [renderAnnotation(level, title, `${sentence} Next: ${addFlags(next, flags)}`), ...lines].join('');
}

function asSentences(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text) => text.replace(/\.?$/, '.'))
    .join(' ');
}

/** One annotation; nothing in the texts can begin another command of the runner. */
export function renderAnnotation(
  level: 'notice' | 'warning' | 'error',
  title: string,
  message: string,
): string {
  return `::${level} title=${escapeProperty(title)}::${escapeMessage(message)}\n`;
}

function escapeMessage(text: string): string {
  return escapeUnseen(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
