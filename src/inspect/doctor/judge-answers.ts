import { countOf, groupDigits } from '../../text/numbers.js';
import { type Finding, problem, warning } from './check.js';
import type { ListAnswer, SampledList } from './sample-lists.js';

const MAX_NAMES = 3;

export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

type FailedAnswer = Extract<ListAnswer, { error: unknown }>;

/** Failed requests, one finding for each kind: an export would fail on them too. */
export function judgeFailures(
  code: string,
  lists: readonly SampledList[],
  nameOf: (list: SampledList) => string,
): Finding[] {
  const byKind = new Map<string, { readonly answer: FailedAnswer; readonly names: string[] }>();
  for (const list of lists) {
    const { answer } = list;
    if (answer.kind === 'answers' || answer.kind === 'absent') continue;
    const kind = `${answer.kind} ${answer.error.code}`;
    const group = byKind.get(kind) ?? { answer, names: [] };
    group.names.push(nameOf(list));
    byKind.set(kind, group);
  }
  return [...byKind.values()].map(({ answer: { kind, error }, names }) => {
    const where = `${countOf(names.length, 'list')}: ${listNames([...new Set(names)])}`;
    const text = `${error.message.replace(/\.$/, '')}${names.length > 1 ? ` (${where})` : ''}.`;
    const { answer, request_id: id } = error.facts;
    if (kind === 'refused') {
      const fix = 'Check fieldPrefix, "expand" of the model in "models", and pageSize.';
      return problem(code, 2, answer === undefined ? text : `${text} It says: ${answer}`, fix);
    }
    if (error.exitCode === 2 || error.exitCode === 3) {
      return problem(code, error.exitCode, text, error.hint ?? 'Check the key.');
    }
    const report = id === undefined ? '' : `; if it persists, give the operator the request_id ${id}`;
    return problem(code, 4, text, `Run doctor again${report}.`);
  });
}

/** What is odd in the records of a list. */
export function judgeContent(name: string, answer: ListAnswer): Finding[] {
  if (answer.kind !== 'answers') return [];
  const { missing, rejected, records } = answer;
  const findings: Finding[] = [];
  if (missing.length > 0) {
    const sample =
      records.length === 1
        ? 'the one record sampled does not carry'
        : `none of the ${groupDigits(records.length)} records sampled carries`;
    const text = `${name}: ${sample} ${missing.join(', ')}, though "expand" asks for it; others may.`;
    const fix = 'Children in it cannot be mapped: check "expand" and "children" in "models".';
    findings.push(warning('expand_ignored', text, fix));
  }
  if (rejected > 0 && records.length === 0) {
    const text = `${name}: no object of the sample can be taken as a record.`;
    const fix = 'Check fieldPrefix: ids are read from {fieldPrefix}id and {fieldPrefix}company_id.';
    findings.push(problem('no_record_readable', 2, text, fix));
  } else if (rejected > 0) {
    const are = rejected === 1 ? 'a record' : 'records';
    const text = `${name}: ${countOf(rejected, 'object')} of the sample cannot be taken as ${are}.`;
    findings.push(
      warning('objects_rejected', text, `${rejected === 1 ? 'It' : 'They'} will be listed as rejected.`),
    );
  }
  return findings;
}
