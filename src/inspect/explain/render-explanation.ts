import { toFinding } from '../../store/finding-rows.js';
import { escapeUnseen, renderJson } from '../../text/escape.js';
import { formatTime } from '../../text/numbers.js';
import { clipText, displayWidth, fitText, layOutTable, wrapLines } from '../../text/text-layout.js';
import {
  buildFieldLines,
  type Explanation,
  type ExportedObject,
  type ListReading,
  type Story,
} from './story.js';

const NAME_COLUMNS = 26;
const MARKS = { same: ' ', own: ' ', alone: ' ', differs: '≠', one_side: '·' } as const;

const LEGEND = [
  [MARKS.differs, 'the two differ'],
  [MARKS.one_side, 'only one side has it'],
] as const;

/** Renders the answer for people, in at most `width` columns. */
export function renderExplanation(answer: Explanation, width: number): string {
  const head = [
    `${answer.model} ${answer.id}, as of the remap of ${formatTime(answer.builtAt)}`,
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
  const read = [...(company === null ? [] : [`  Companies: ${company}`]), ...lists.map(describeList)];
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
    text == null ? '–' : clipText(escapeUnseen(text), cellWidth);
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
