import type { Config } from '../../config/config.js';
import { groupDigits } from '../../text/numbers.js';
import type { PageFacts, Switches, Verdict } from './facts.js';
import { type Finding, note, ok, problem, warning } from './finding.js';

const MEANINGS: Readonly<Record<Verdict, string>> = {
  honoured: 'is honoured',
  ignored: 'is ignored',
  refused: 'is refused',
  always: 'makes no difference: V4 does it unasked',
  unknown: 'is unknown: the records at hand cannot tell',
};

/** What V4 does with parameters, and what follows from it. */
export function judgeSwitches(switches: Switches, config: Config): Finding[] {
  return [
    judgeDeleted(switches, config),
    judgeFilter(
      '{field}[eq]',
      switches.eq,
      'recheck and verify then read whole lists where they could ask for one record.',
    ),
    judgeFilter('{field}[gte]', switches.gte, 'only V3 needs it: V4 is always read anew.'),
    judgeFilter('sort', switches.sort, 'nothing depends on it: V4 is read in its own order.'),
    judgeHash(switches, config),
  ];
}

function judgeDeleted(
  { include_deleted_records: verdict, refusesDeletedByName }: Switches,
  config: Config,
): Finding {
  const text = `V4 include_deleted_records ${MEANINGS[verdict]}`;
  const { includeDeleted } = config.v4;
  if (verdict === 'refused' && includeDeleted === true) {
    return problem(
      'parameters',
      'deleted_refused',
      2,
      `${text}, and v4.includeDeleted is true.`,
      'Set v4.includeDeleted to "auto" or false.',
    );
  }
  if (verdict === 'refused' && includeDeleted === 'auto' && !refusesDeletedByName) {
    const why = 'without naming it, so an export would take that for an error';
    return problem('parameters', 'deleted_refused', 2, `${text} ${why}.`, 'Set v4.includeDeleted to false.');
  }
  if (verdict === 'refused' || verdict === 'ignored') {
    const fix = includeDeleted === false ? '' : ' What was deleted in V4 will count as missing.';
    return note('parameters', 'include_deleted_records', `${text}.${fix}`);
  }
  if (verdict === 'honoured' && includeDeleted === false) {
    return warning(
      'parameters',
      'include_deleted_records',
      `${text}, and v4.includeDeleted is false: what was deleted in V4 will count as missing.`,
      'Set v4.includeDeleted to "auto".',
    );
  }
  return (verdict === 'unknown' ? note : ok)('parameters', 'include_deleted_records', `${text}.`);
}

function judgeFilter(name: string, verdict: Verdict, without: string): Finding {
  const code = name.replace(/^.*\[|\]$/g, '');
  const text = `V4 ${name} ${MEANINGS[verdict]}`;
  return verdict === 'honoured'
    ? ok('parameters', code, `${text}.`)
    : note('parameters', code, `${text}; ${without}`);
}

function judgeHash({ select, selectInV3 }: Switches, { drift }: Config): Finding {
  const offers = (verdict: Verdict): boolean => verdict === 'honoured' || verdict === 'always';
  if (offers(select) && offers(selectInV3)) {
    return ok('parameters', 'select', 'select=data_hash is honoured on both sides.');
  }
  const inV3 = MEANINGS[selectInV3].replace('V4 does', 'V3 does');
  const text = `select=data_hash: in V3 it ${inV3}, in V4 it ${MEANINGS[select]}.`;
  if (!drift.trustDataHash) return note('parameters', 'select', text);
  if (select === 'refused' || selectInV3 === 'refused') {
    const fix = 'Take drift.trustDataHash out: exports would be refused.';
    return problem('parameters', 'select_refused', 2, text, fix);
  }
  return warning('parameters', 'select', text, 'drift.trustDataHash saves nothing: every field is compared.');
}

/** Do pages come in the configured size? */
export function judgePages(pages: readonly PageFacts[]): Finding[] {
  return pages.map(({ label, asked, got, hasMore, smaller }) => {
    const where = label === 'V4' ? 'v4.pageSize' : 'v3.pageSize';
    if (got === null) {
      const fix =
        smaller === null
          ? `Set ${where} to what the operator allows.`
          : `Set ${where} to ${smaller}, which it answers.`;
      return problem('pages', 'page_size_refused', 2, `${label} refuses pages of ${asked} records.`, fix);
    }
    if (got >= asked)
      return ok('pages', 'page_size', `${label} sends pages of ${groupDigits(got)} records, as asked.`);
    if (hasMore) {
      return note(
        'pages',
        'page_size_capped',
        `${label} sends at most ${groupDigits(got)} records a page where ${groupDigits(asked)} were asked for.`,
        'Pages are taken as they come; an export needs more requests.',
      );
    }
    return note(
      'pages',
      'page_size_unknown',
      `${label}: no list asked is longer than a page of ${groupDigits(asked)}, so a cap would not show.`,
    );
  });
}
