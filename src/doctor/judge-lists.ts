import { countOf } from '../report/numbers.js';
import type { Answer, Answers } from './facts.js';
import { type Finding, problem, warning } from './finding.js';

export function countRecords(answers: readonly Answers[]): number {
  return answers.reduce((sum, { totalCount, records }) => sum + (totalCount ?? records.length), 0);
}

/** A question that was not answered: the export would end there. `lists` names them where they are several. */
export function troubleOf(
  area: 'V3' | 'models',
  code: string,
  { kind, error }: Extract<Answer, { error: unknown }>,
  lists = '',
): Finding {
  const text = `${error.message.replace(/\.$/, '')}${lists}.`;
  if (kind === 'refused') {
    const { answer } = error.facts;
    const said = answer === undefined ? '' : ` It says: ${answer}`;
    const fix = 'Check "expand" of the model in "models", and pageSize.';
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
  if (answer.rejected > 0) {
    findings.push(
      warning(
        area,
        'objects_rejected',
        `${name}: ${countOf(answer.rejected, 'object')} of the sample cannot be taken as records.`,
        'They will be listed as rejected; check fieldPrefix if these are all.',
      ),
    );
  }
  return findings;
}
