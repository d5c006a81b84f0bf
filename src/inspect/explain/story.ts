import type { Generation } from '../../domain.js';
import { findDrift } from '../../match/compare-payloads.js';
import { describeOutcome } from '../../reasons.js';
import { toFinding } from '../../store/finding-rows.js';
import type { PayloadField, StoryRow } from '../../store/story-rows.js';
import {
  describeAgreement,
  describeEvidence,
  isRowEvidence,
  type RowEvidence,
} from '../../text/describe-evidence.js';
import { escapeUnseen, renderJson } from '../../text/escape.js';
import { formatTime } from '../../text/numbers.js';
import { displayWidth, fitText, layOutTable, wrapLines } from '../../text/text-layout.js';

/** An exported record or child, in the form of `--json`. */
export interface ExportedObject {
  readonly generation: Generation;
  readonly region: string;
  readonly company_id: string;
  readonly svc_id: string;
  /** Id of the record that contains a child. */
  readonly parent_svc_id: string | null;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
  readonly deleted: boolean;
  /** ISO 8601. */
  readonly updated: string | null;
  readonly latest: string | null;
  readonly latestFrom: 'platform' | 'service' | null;
  readonly created: string | null;
  /** Not in JSON: single-valued fields as received; empty if no payload is stored. */
  readonly fields: readonly PayloadField[];
}

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

/** One field of both records. */
export interface FieldLine {
  readonly name: string;
  /** Null if the record has no such field, or it is null. */
  readonly v3: string | null;
  readonly v4: string | null;
  /** `own`: a field of the service, not compared; `alone`: there is no other record. */
  readonly verdict: 'same' | 'differs' | 'one_side' | 'own' | 'alone';
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
    next: explainAction ?? action,
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

/**
 * The fields of both records side by side: the service's own fields, then those that identify a record, then the others.
 * Values are compared as for drift.
 *
 * @param prefix of the service's own fields
 */
function buildFieldLines(v3: ExportedObject | null, v4: ExportedObject | null, prefix: string): FieldLine[] {
  const [left, right] = [fieldsOf(v3, prefix), fieldsOf(v4, prefix)];
  const isBoth = v3 !== null && v4 !== null;
  const rank = (name: string): number => {
    if (name.startsWith(prefix)) return 0;
    return name === 'platform_id' || name === 'platform_unique_id' ? 1 : 2;
  };
  const names = [...new Set([...left.keys(), ...right.keys()])].sort((a, b) => rank(a) - rank(b));
  return names.map((name) => {
    const [a, b] = [left.get(name), right.get(name)];
    const compared = isBoth ? compareField(a, b) : 'alone';
    const verdict = name.startsWith(prefix) ? 'own' : compared;
    return { name, v3: a?.text ?? null, v4: b?.text ?? null, verdict };
  });
}

/** The fields as received or, without a payload, those stored for matching. */
function fieldsOf(object: ExportedObject | null, prefix: string): Map<string, PayloadField> {
  if (object === null) return new Map();
  if (object.fields.length > 0) return new Map(object.fields.map((field) => [field.name, field]));
  const kept: [name: string, text: string | null][] = [
    [`${prefix}id`, object.svc_id],
    ['platform_id', object.platform_id],
    ['platform_unique_id', object.platform_unique_id],
    [`${prefix}deleted_at`, object.deleted ? '(deleted)' : null],
  ];
  if (object.parent_svc_id === null) {
    kept.push([`${prefix}company_id`, object.company_id]);
    kept.push([`${prefix}updated_at`, object.updated], ['created_at', object.created]);
  }
  return new Map(kept.map(([name, text]) => [name, { name, kind: 'text', text }]));
}

/** Compares two fields; null and absent are equal. */
function compareField(a: PayloadField | undefined, b: PayloadField | undefined): FieldLine['verdict'] {
  const [left, right] = [jsonOf(a), jsonOf(b)];
  if (left === null && right === null) return 'same';
  if (left === null || right === null) return 'one_side';
  const rules = { fieldPrefix: '\u0000', ignored: new Set<string>() };
  return findDrift({ field: left }, { field: right }, rules).length === 0 ? 'same' : 'differs';
}

function jsonOf(field: PayloadField | undefined): string | number | boolean | null {
  if (field === undefined || field.text === null) return null;
  const { kind, text } = field;
  if (kind === 'boolean') return text === 'true';
  // Numbers that a double cannot hold exactly are compared as text.
  return kind === 'number' && String(Number(text)) === text ? Number(text) : text;
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

/** Columns of the terminal that one value may take. */
const MAX_CELL = 24;
const MIN_CELL = 8;

/**
 * A V3 object and the V4 objects that it may have become, side by side: the fields in which a candidate differs from it, as
 * lines. Where not all candidates fit in `width` columns, several tables follow each other. Candidates are numbered from 1.
 *
 * @param prefix of the service's own fields, which always differ and are left out
 */
export function renderCandidates(
  v3: ExportedObject,
  candidates: readonly ExportedObject[],
  prefix: string,
  width: number,
): string[] {
  const compared = candidates.map((candidate) => {
    const lines = buildFieldLines(v3, candidate, prefix).filter(({ name }) => !name.startsWith(prefix));
    return new Map(lines.map((line) => [line.name, line]));
  });
  const names = [...new Set(compared.flatMap((lines) => [...lines.keys()]))];
  const isDifferent = (name: string) =>
    compared.some((lines) => lines.has(name) && lines.get(name)?.verdict !== 'same');
  const differing = names.filter(isDifferent);
  if (differing.length === 0) return ['  No field differs, but for those of the service.'];
  const room = width - Math.max(...differing.map((name) => name.length)) - 4;
  const perTable = Math.max(1, Math.floor(room / (MAX_CELL + 2)) - 1);
  const inTable = Math.min(perTable, candidates.length);
  const cellWidth = Math.min(MAX_CELL, Math.max(MIN_CELL, Math.floor(room / (inTable + 1)) - 2));
  const show = (text: string | null | undefined) =>
    text == null ? '–' : fitText(escapeUnseen(text), cellWidth);
  const column = (title: string) => ({ title, keep: true });
  const lines: string[] = [];
  for (let from = 0; from < candidates.length; from += perTable) {
    const titles = candidates
      .slice(from, from + perTable)
      .map((one, at) => column(candidateTitle(one, from + at)));
    const rows = differing.map((name) => [
      name,
      show(compared.find((own) => own.has(name))?.get(name)?.v3),
      ...compared.slice(from, from + perTable).map((own) => show(own.get(name)?.v4)),
    ]);
    const columns = [{ title: '' }, column(`V3 ${v3.svc_id}`), ...titles];
    lines.push(...layOutTable(columns, rows, width), '');
  }
  const same = names.length - differing.length;
  if (same > 0)
    lines.push(`  (${same === 1 ? '1 further field is' : `${same} further fields are`} the same in all)`);
  return lines;
}

function candidateTitle({ svc_id: id, deleted }: ExportedObject, at: number): string {
  return `${at + 1}: V4 ${id}${deleted ? ' (deleted)' : ''}`;
}
