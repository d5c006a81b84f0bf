import { countOf } from '../../text/numbers.js';
import type { V3ListFacts } from './facts.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { countRecords, judgeAnswer, judgeTroubles } from './judge-lists.js';

/** Does V3 have every model, and anything at all? */
export function judgeV3Lists(lists: readonly V3ListFacts[]): Finding[] {
  const regions = [...new Set(lists.map(({ region }) => region))];
  return regions.flatMap((region) => {
    const own = lists.filter((one) => one.region === region);
    return judgeRegion(region === 'default' ? 'V3' : `V3 ${region}`, own);
  });
}

function judgeRegion(name: string, lists: readonly V3ListFacts[]): Finding[] {
  if (lists.every(({ answer }) => answer.kind === 'absent')) {
    const fix = 'Check v3.regions.*.baseUrl: requests go to {baseUrl}/{category}/{model}.';
    return [problem('V3', 'v3_absent', 2, `${name} answers 404 to every model.`, fix)];
  }
  const named = lists.map(({ pair, answer }) => ({ name: pair.v3, answer }));
  return [
    ...describeRecords(name, lists),
    ...judgeTroubles('V3', 'v3_list_failed', named),
    ...lists.flatMap((list) => judgeV3List(name, list)),
  ];
}

function describeRecords(name: string, lists: readonly V3ListFacts[]): Finding[] {
  const answered = lists.flatMap(({ answer }) => (answer.kind === 'answers' ? [answer] : []));
  if (answered.length === 0) return [];
  const records = countRecords(answered);
  const text = `${name} answers for ${countOf(answered.length, 'list')}: ${countOf(records, 'record')} by its counts.`;
  if (records > 0) return [ok('V3', 'v3_lists', text)];
  const fix = 'Check that the address and the key are those of your organization.';
  return [warning('V3', 'v3_empty', `${name} shows no record at all.`, fix)];
}

function judgeV3List(name: string, { pair, answer }: V3ListFacts): Finding[] {
  if (answer.kind === 'answers') return judgeAnswer('V3', `${name} ${pair.v3}`, answer);
  if (answer.kind !== 'absent') return [];
  const fix = 'Take it out of "models" if you do not use it; it counts as absent, not as empty.';
  return [warning('V3', 'v3_model_absent', `${name} does not have ${pair.v3} (404).`, fix)];
}
