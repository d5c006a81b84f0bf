import { groupDigits } from '../../text/numbers.js';
import type { DatabaseFacts, PairPreview } from './facts.js';
import { type Finding, note, ok, warning } from './finding.js';

const SHOWN = 5;

/** How companies pair: from the last remap where there is one, else from samples. */
export function judgePairs(preview: readonly PairPreview[], database: DatabaseFacts): Finding[] {
  if (database.kind === 'usable' && database.pairs !== null) return [judgeStored(database.pairs)];
  return judgePreview(preview);
}

function judgeStored(pairs: NonNullable<Extract<DatabaseFacts, { kind: 'usable' }>['pairs']>): Finding {
  const counts = Object.entries(pairs).filter(([, n]) => n > 0);
  const text = `From the last remap: ${counts.map(([kind, n]) => `${groupDigits(n)} ${kind}`).join(', ')}.`;
  if (pairs.ambiguous === 0) return ok('companies', 'pairs_stored', text);
  return warning(
    'companies',
    'pairs_stored',
    text,
    'Name the ambiguous ones in companies.csv ("companies": {"match": {"file": "companies.csv"}}).',
  );
}

function judgePreview(preview: readonly PairPreview[]): Finding[] {
  if (preview.length === 0) return [];
  const paired = preview.filter(({ v4CompanyId }) => v4CompanyId !== null);
  const open = preview.filter(({ matchedBy }) => matchedBy === 'ambiguous');
  const alone = preview.length - paired.length - open.length;
  const sameId = preview.filter(({ hasSameId }) => hasSameId).length;
  const found = `${groupDigits(paired.length)} of ${groupDigits(preview.length)} V3 companies seen find their V4 company by shared records`;
  const others = [
    ...(open.length > 0 ? [`${groupDigits(open.length)} not beyond doubt`] : []),
    ...(alone > 0 ? [`${groupDigits(alone)} without one`] : []),
  ];
  const text = `Preview from samples, which leave records out: ${[found, ...others].join(', ')}. V4 lists the same id for ${groupDigits(sameId)}.`;
  const lines = preview.slice(0, SHOWN).map((one) => note('companies', 'pair', describe(one)));
  return [note('companies', 'pairs_preview', text), ...lines];
}

function describe({
  region,
  v3CompanyId,
  v4CompanyId,
  matchedBy,
  comparable,
  agreeing,
}: PairPreview): string {
  const company = `V3 company ${v3CompanyId}${region === 'default' ? '' : ` in ${region}`}`;
  if (v4CompanyId === null)
    return `${company}: ${matchedBy === 'ambiguous' ? 'several could be it' : 'no shared record seen'}.`;
  if (matchedBy === 'file') return `${company} is V4 company ${v4CompanyId}: named in the companies file.`;
  return `${company} looks like V4 company ${v4CompanyId}: ${agreeing} of ${comparable} shared records agree.`;
}
