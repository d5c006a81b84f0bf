import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import type { Explanation, ListReading, NamedRecord, Story } from './explain.js';
import { renderFieldLines } from './side-by-side.js';

export function renderExplanation(explanation: Explanation, width: number): string {
  const { model, id, stories, unknown, more, remapBuiltAt, stale } = explanation;
  const lines = [
    `${model} ${id}: ${stories.length === 0 ? 'in no row' : countOf(stories.length, 'row')} of the remap of ${formatTime(remapBuiltAt)}${stale ? ', which is stale' : ''}.`,
    ...unknown,
    ...(more ? ['There are more rows: name a --region or a --company.'] : []),
  ];
  const [first] = stories;
  const next = first === undefined ? [] : [`Next: ${first.next}`];
  return [
    wrapLines(lines, width),
    ...stories.map((story) => renderStory(story, width)),
    wrapLines(next, width),
  ].join('');
}

function renderStory(story: Story, width: number): string {
  const { row, title, sentence, fields, lists } = story;
  const ids = `V3 ${row.v3_svc_id ?? '–'}, V4 ${row.v4_svc_id ?? '–'}`;
  const outcome = `${row.status}${row.reason === null ? '' : `/${row.reason}`}`;
  const lines = [
    '',
    `${row.model}${row.path === '' ? '' : ` ${row.path}`}, ${ids}: ${title} (${outcome})`,
    `  ${sentence}`,
    `  platform_id ${row.platform_id === null ? 'none' : escapeUnseen(row.platform_id)}${row.matched_by === null ? '' : `, matched by ${row.matched_by}`}`,
    ...describeParent(story),
    ...describeCompany(story),
    ...describeEvidence(row.evidence),
  ];
  return (
    wrapLines(lines, width) +
    sectionsOf(fields.length === 0 ? [] : renderFieldLines(fields, width)) +
    sectionsOf(renderNamed(story.named, width)) +
    sectionsOf(renderLists(lists, width))
  );
}

function sectionsOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function describeParent({ parent }: Story): string[] {
  return parent === null
    ? []
    : [`  Its record: V3 ${parent.v3_svc_id ?? '–'}, V4 ${parent.v4_svc_id ?? '–'}`];
}

function describeCompany({ company }: Story): string[] {
  if (company === null) return [];
  const { region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys } = company;
  const v3 = v3_company_id === null ? 'no V3 company' : `V3 company ${v3_company_id} (${region})`;
  const v4 = v4_company_id === null ? 'no V4 company' : `V4 company ${v4_company_id}`;
  return [`  ${v3}, ${v4}: ${matched_by}, ${agreeing_keys} of ${shared_keys} shared keys agree`];
}

function describeEvidence(evidence: unknown): string[] {
  if (typeof evidence !== 'object' || evidence === null) return [];
  return Object.entries(evidence).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `  ${name}: ${escapeUnseen(text)}`;
  });
}

const MAX_CELL = 40;

/** The keys of other records that the evidence names, and their first other members. */
function renderNamed(named: readonly NamedRecord[], width: number): string[] {
  if (named.length === 0) return [];
  const rows = named.map(({ generation, svc_id, members }) => {
    const cells = Object.entries(members)
      .filter(([, value]) => value !== null && typeof value !== 'object')
      .map(([name, value]) => `${name} ${String(value).slice(0, MAX_CELL)}`);
    return [`${generation.toUpperCase()} ${svc_id}`, escapeUnseen(cells.join(', '))];
  });
  return renderTable([{ title: 'evidence names' }, { title: '', keep: true }], rows, width);
}

function renderLists(lists: readonly ListReading[], width: number): string[] {
  const rows = lists.map(({ name, state, readAt, note }) => [
    name,
    state ?? 'not requested',
    readAt === null ? '–' : formatTime(readAt),
    escapeUnseen(note ?? ''),
  ]);
  return renderTable(
    [{ title: 'list' }, { title: 'state' }, { title: 'read at' }, { title: '' }],
    rows,
    width,
  );
}
