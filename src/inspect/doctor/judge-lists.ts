import { countOf } from '../../text/numbers.js';
import type { Answer, Answers } from './facts.js';
import { type Finding, problem, warning } from './finding.js';

export function countRecords(answers: readonly Answers[]): number {
  return answers.reduce((sum, { totalCount, records }) => sum + (totalCount ?? records.length), 0);
}

/** A list by its name, with what it answered. */
interface NamedAnswer {
  readonly name: string;
  readonly answer: Answer;
}

type Trouble = Extract<Answer, { error: unknown }>;

/** Questions that were not answered, one finding for each kind: an export would end there. */
export function judgeTroubles(area: 'V3' | 'models', code: string, lists: readonly NamedAnswer[]): Finding[] {
  const byKind = new Map<string, { readonly answer: Trouble; readonly names: string[] }>();
  for (const { name, answer } of lists) {
    if (answer.kind === 'answers' || answer.kind === 'absent') continue;
    const kind = `${answer.kind} ${answer.error.code}`;
    const group = byKind.get(kind) ?? { answer, names: [] };
    byKind.set(kind, { ...group, names: [...group.names, name] });
  }
  return [...byKind.values()].map(({ answer, names }) => {
    const all = [...new Set(names)];
    const where = names.length > 1 ? ` (${countOf(names.length, 'list')}: ${firstFew(all)})` : '';
    return troubleOf(area, code, answer, where);
  });
}

function troubleOf(area: 'V3' | 'models', code: string, { kind, error }: Trouble, lists: string): Finding {
  const text = `${error.message.replace(/\.$/, '')}${lists}.`;
  if (kind === 'refused') {
    const { answer } = error.facts;
    const said = answer === undefined ? '' : ` It says: ${answer}`;
    const fix = 'Check fieldPrefix, "expand" of the model in "models", and pageSize.';
    return problem(area, code, 2, text + said, fix);
  }
  if (error.exitCode === 2 || error.exitCode === 3) {
    return problem(area, code, error.exitCode, text, error.hint ?? 'Check the key.');
  }
  const { request_id: id } = error.facts;
  const whom = id === undefined ? '' : `; if it persists, give the operator the request_id ${id}`;
  return problem(area, code, 4, text, `Run doctor again${whom}.`);
}

/** What is odd about records that came. */
export function judgeAnswer(area: 'V3' | 'models', name: string, answer: Answer): Finding[] {
  if (answer.kind !== 'answers') return [];
  const findings: Finding[] = [];
  if (answer.missing.length > 0) {
    const fields = answer.missing.join(', ');
    findings.push(
      warning(
        area,
        'expand_ignored',
        `${name}: no record carries ${fields}, though "expand" asks for it.`,
        'Children in it cannot be mapped: check "expand" and "children" in "models".',
      ),
    );
  }
  if (answer.rejected > 0 && answer.records.length === 0) {
    const fix = 'Check fieldPrefix: ids are read from {fieldPrefix}id and {fieldPrefix}company_id.';
    return [
      problem(
        area,
        'no_record_readable',
        2,
        `${name}: no object of the sample can be taken as a record.`,
        fix,
      ),
    ];
  }
  if (answer.rejected > 0) {
    findings.push(
      warning(
        area,
        'objects_rejected',
        `${name}: ${countOf(answer.rejected, 'object')} of the sample cannot be taken as records.`,
        'They will be listed as rejected.',
      ),
    );
  }
  return findings;
}

const NAMED = 3;

export function firstFew(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).join(', ');
  return names.length > NAMED ? `${shown} and ${names.length - NAMED} more` : shown;
}
