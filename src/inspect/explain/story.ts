import type { Generation } from '../../domain.js';
import { describeOutcome } from '../../reasons.js';
import { toFinding } from '../../store/finding-rows.js';
import type { StoryRow } from '../../store/story-rows.js';
import {
  describeAgreement,
  describeEvidence,
  isRowEvidence,
  type RowEvidence,
} from '../../text/describe-evidence.js';
import { escapeUnseen, renderJson } from '../../text/escape.js';
import { formatTime } from '../../text/numbers.js';
import { displayWidth, fitText, wrapLines } from '../../text/text-layout.js';
import { buildFieldLines, type ExportedObject, type FieldLine } from './side-by-side.js';

/** How the list that holds, or would hold, a record was read; `state` is null if it never was. */
export interface ListReading {
  readonly generation: Generation;
  readonly name: string;
  readonly state: string | null;
  readonly readAt: string | null;
  readonly note: string | null;
}

/** How the companies of a row were paired. */
export interface CompanyPairing {
  readonly matchedBy: string;
  readonly v3: string | null;
  readonly v4: string | null;
  readonly sharedKeys: number;
  /** Shared keys whose fields could be compared. */
  readonly comparableKeys: number;
  readonly agreeingKeys: number;
  /** Other companies that share keys, as text. */
  readonly candidates: readonly string[];
}

/** Everything the database knows about one row of the remap, in words and in the form of `--json`. */
export interface Story {
  /** The readings of the id that lead to this row. */
  readonly takenFor: readonly Generation[];
  readonly row: StoryRow;
  /** The status and reason in a few plain words. */
  readonly title: string;
  /** What the status means. */
  readonly sentence: string;
  /** The evidence in words. */
  readonly because: readonly string[];
  readonly next: string;
  readonly v3: ExportedObject | null;
  readonly v4: ExportedObject | null;
  /** Records that the evidence names. */
  readonly named: readonly ExportedObject[];
  readonly fields: readonly FieldLine[];
  /** Whether one of the two in `fields` is only named by the evidence, not paired. */
  readonly fieldsNameCandidate: boolean;
  readonly company: CompanyPairing | null;
  readonly lists: readonly ListReading[];
}

/** The answer to one question. */
export interface Explanation {
  readonly model: string;
  /** The field of children that was asked about; null: records and children. */
  readonly path: string | null;
  readonly id: bigint;
  readonly stories: readonly Story[];
  /** Whether there are more rows. */
  readonly isCut: boolean;
  /** If there is no story: possible reasons. */
  readonly unknown: readonly string[];
  /** Warnings that the data are incomplete. */
  readonly warnings: readonly string[];
  readonly builtAt: string;
  /** Whether the export has changed since. */
  readonly isStale: boolean;
}

const DELETED_ACTION =
  'It is deleted in V3, so it cannot be decided: a count for "ambiguous" in "limits" accepts it.';

/**
 * Describes a row, its reason and its evidence in words.
 *
 * @param parents what became of the records that a child is in, as sentences without their ends
 * @param fieldPrefix of the service's own fields
 */
export function buildStory(
  facts: Pick<Story, 'takenFor' | 'row' | 'v3' | 'v4' | 'named' | 'lists' | 'company'>,
  parents: readonly string[],
  fieldPrefix: string,
): Story {
  const { row, named } = facts;
  const { title, meaning, action, explainAction } = describeOutcome(row.status, row.reason);
  /** The record of the row, otherwise the first record of that side named by the evidence. */
  const shown = (side: Generation) =>
    facts[side] ?? named.find(({ generation }) => generation === side) ?? null;
  const [v3, v4] = [shown('v3'), shown('v4')];
  return {
    ...facts,
    title,
    sentence: row.matched_by === 'decision' ? 'A person decided that the two are the same.' : meaning,
    because: [...parents.map((parent) => `It is in ${parent}.`), ...describeRowEvidence(facts)],
    next:
      row.status === 'ambiguous' && facts.v3?.deleted === true ? DELETED_ACTION : (explainAction ?? action),
    fields: buildFieldLines(v3, v4, fieldPrefix),
    fieldsNameCandidate: v3 !== facts.v3 || v4 !== facts.v4,
  };
}

/** The parsed evidence of a row; empty if it is not a JSON object. */
export function parseRowEvidence(text: string): RowEvidence {
  const value: unknown = JSON.parse(text);
  return isRowEvidence(value) ? value : {};
}

/** The row and its evidence as sentences. */
function describeRowEvidence({ row, named, lists }: Pick<Story, 'row' | 'named' | 'lists'>): string[] {
  const sentences = describeEvidence(parseRowEvidence(row.evidence), row.reason, (id, side) =>
    describeId(id, side, named),
  );
  if (row.unique_id_conflict === 1n) {
    sentences.push(
      'The two have different platform_unique_ids; platform_id is the key, so they stay a pair.',
    );
  }
  if (row.matched_by === 'platform_unique_id') {
    sentences.push('Several records have this platform_id; its platform_unique_id singled out this pair.');
  }
  if (row.reason?.endsWith('scope_incomplete') !== true) return sentences;
  for (const { name, state, note } of lists) {
    if (state === 'complete' || state === 'short' || state === 'absent') continue;
    sentences.push(
      `Not read in full: ${name} (${[state ?? 'not started', ...(note === null ? [] : [note])].join(', ')}).`,
    );
  }
  return sentences;
}

function describeId(id: string, side: Generation, named: readonly ExportedObject[]): string {
  const object = named.find(({ generation, svc_id }) => generation === side && svc_id === id);
  if (object === undefined) return id;
  const { platform_id, platform_unique_id: uniqueId, deleted } = object;
  const unique = uniqueId === null ? 'no platform_unique_id' : `platform_unique_id ${uniqueId}`;
  return `${id} (platform_id ${platform_id ?? 'none'}, ${unique}${deleted ? ', deleted' : ''})`;
}

const NAME_COLUMNS = 26;
const MARKS = { same: ' ', own: ' ', alone: ' ', differs: '≠', one_side: '·' } as const;

const LEGEND = [
  [MARKS.differs, 'the two differ'],
  [MARKS.one_side, 'only one side has it'],
] as const;

/** Renders the answer for people, in at most `width` columns. */
export function renderExplanation(answer: Explanation, width: number): string {
  const head = [
    `${answer.model}${answer.path === null ? '' : `#${answer.path}`} ${answer.id}, as of the remap of ${formatTime(answer.builtAt)}`,
    ...describeCount(answer),
  ];
  const stories = answer.stories.map((story) => renderStory(story, width));
  const more = ['', 'There are more; narrow it down with --region, --company or MODEL#FIELD.'];
  return [wrapLines(head, width), ...stories, wrapLines(answer.isCut ? more : [], width)].join('');
}

function describeCount({ stories, unknown }: Explanation): string[] {
  if (stories.length === 0) return ['Nothing is known of it.', ...unknown.map((text) => `  ${text}`)];
  const sides = new Set(stories.flatMap(({ takenFor }) => takenFor));
  if (sides.has('v3') && sides.has('v4') && stories.length > 1) {
    return ['This id exists on both sides, for different things: V3 ids and V4 ids overlap. Both are shown.'];
  }
  return stories.length > 1 ? [`${stories.length} rows have it; each is shown.`] : [];
}

function renderStory(story: Story, width: number): string {
  const { row, title, sentence, because, next, company, lists } = story;
  const told = [
    '',
    titleOf(story),
    `  ${title}${row.reason === null ? '' : ` (${row.status}/${row.reason})`}: ${sentence}`,
    ...because.map((text) => `  ${text}`),
    `  Next: ${next}`,
    '',
  ];
  const read = [...describeCompany(company), ...lists.map(describeList)];
  return [wrapLines(told, width), layFields(story, width), wrapLines(read, width)].join('');
}

/** `Taken for a V3 svc_id: the child in line_items V3 5 of company 1 (eu)`. */
function titleOf({ row, takenFor }: Story): string {
  const taken = takenFor.map((side) => `${side.toUpperCase()} svc_id`).join(' and a ');
  const v3 = `V3 ${row.v3_svc_id} of company ${row.v3_company_id} (${row.region})`;
  const v4 = `V4 ${row.v4_svc_id} of company ${row.v4_company_id}`;
  const place = [...(row.v3_svc_id === null ? [] : [v3]), ...(row.v4_svc_id === null ? [] : [v4])];
  return `Taken for a ${taken}: the ${row.path === '' ? 'record' : `child in ${row.path}`} ${place.join(', ')}`;
}

function layFields({ v3, v4, fields, fieldsNameCandidate }: Story, width: number): string {
  const room = Math.max(8, Math.floor((width - 4 - NAME_COLUMNS - 4) / 2));
  const lay = (mark: string, cells: readonly string[]) => {
    const [name = '', left = '', right = ''] = cells.map(escapeUnseen);
    const line = `  ${mark} ${cell(name, NAME_COLUMNS)}  ${cell(left, room)}  ${fitText(right, room)}`;
    return `${line.trimEnd()}\n`;
  };
  const title = (name: string, own: ExportedObject | null) =>
    fieldsNameCandidate && own === null ? `${name}, named above` : name;
  const marks = new Set(fields.map(({ verdict }) => MARKS[verdict]));
  const legend = LEGEND.filter(([mark]) => marks.has(mark)).map(([mark, text]) => `${mark} ${text}`);
  return [
    lay(' ', ['field', title('V3', v3), title('V4', v4)]),
    ...fields.map((one) => lay(MARKS[one.verdict], [one.name, one.v3 ?? '–', one.v4 ?? '–'])),
    legend.length === 0 ? '' : `  ${legend.join('    ')}\n`,
    '\n',
  ].join('');
}

function cell(text: string, width: number): string {
  const fitted = fitText(text, width);
  return fitted + ' '.repeat(Math.max(0, width - displayWidth(fitted)));
}

const MATCHED_BY: Readonly<Record<string, string>> = {
  same_id: 'by equal ids',
  overlap: 'by the keys they share',
  file: 'by your companies file',
};

function describeCompany(company: CompanyPairing | null): string[] {
  if (company === null) return [];
  const { matchedBy, v3, v4, comparableKeys, candidates } = company;
  const numbers =
    comparableKeys === 0 ? 'they share no record that can be compared' : describeAgreement(company);
  if (v3 !== null && v4 !== null) {
    return [`  Companies: V3 ${v3} is V4 ${v4}, paired ${MATCHED_BY[matchedBy] ?? matchedBy}; ${numbers}`];
  }
  const who = v3 === null ? `V4 ${v4}` : `V3 ${v3}`;
  const why = matchedBy === 'ambiguous' ? 'could not be paired beyond doubt' : 'has no pair';
  const best = candidates.length === 0 ? 'no company shares a key with it' : candidates.join('; ');
  return [`  Companies: ${who} ${why}; ${best}`];
}

function describeList({ name, state, readAt, note }: ListReading): string {
  const when = readAt === null ? 'not read to its end yet' : `read from ${formatTime(readAt)} on`;
  return `  ${name}: ${[state ?? 'not started', when, ...(note === null ? [] : [note])].join(', ')}`;
}

/** The answer for scripts; ids are digits in text, times ISO 8601. */
export function renderExplanationJson(answer: Explanation): string {
  return renderJson({
    schemaVersion: 1,
    model: answer.model,
    id: answer.id,
    remapBuiltAt: answer.builtAt,
    stale: answer.isStale,
    warnings: answer.warnings,
    more: answer.isCut,
    unknown: answer.unknown,
    stories: answer.stories.map(({ row, v3, v4, named, ...story }) => ({
      ...{ ...story, row: toFinding(row) },
      ...{ v3: withoutFields(v3), v4: withoutFields(v4), named: named.map(withoutFields) },
    })),
  });
}

function withoutFields(object: ExportedObject | null): Omit<ExportedObject, 'fields'> | null {
  if (object === null) return null;
  const { fields: _, ...rest } = object;
  return rest;
}
