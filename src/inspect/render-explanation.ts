import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import type { Explanation, Story } from './explain.js';
import { renderFieldLines } from './side-by-side.js';

export function renderExplanation(explanation: Explanation, width: number): string {
  const { model, id, stories, unknown, more, remapBuiltAt, stale } = explanation;
  const rows = stories.length === 0 ? 'in no row' : countOf(stories.length, 'row');
  const lines = [
    `${model} ${id}: ${rows} of the remap of ${formatTime(remapBuiltAt)}${stale ? ', which is stale' : ''}.`,
    ...unknown,
    ...(more ? ['There are more rows: name a --region or a --company.'] : []),
  ];
  const next = stories.slice(0, 1).map((story) => `Next: ${story.next}`);
  return [
    wrapLines(lines, width),
    ...stories.map((story) => renderStory(story, width)),
    wrapLines(next, width),
  ].join('');
}

function renderStory(story: Story, width: number): string {
  const { row, title, sentence, fields } = story;
  const outcome = `${row.status}${row.reason === null ? '' : `/${row.reason}`}`;
  const lines = [
    '',
    `${row.model}${row.path === '' ? '' : ` ${row.path}`}, ${idsOf(row)}: ${title} (${outcome})`,
    `  ${sentence}`,
    `  platform_id ${escapeUnseen(row.platform_id ?? 'none')}${row.matched_by === null ? '' : `, matched by ${row.matched_by}`}`,
    ...(story.parent === null ? [] : [`  Its record: ${idsOf(story.parent)}`]),
    ...describeCompany(story),
    ...describeEvidence(row.evidence),
  ];
  const tables = [
    ...(fields.length === 0 ? [] : renderFieldLines(fields, width)),
    ...renderLists(story, width),
  ];
  return wrapLines(lines, width) + tables.map((line) => `${line}\n`).join('');
}

function idsOf(row: { readonly v3_svc_id: unknown; readonly v4_svc_id: unknown }): string {
  return `V3 ${row.v3_svc_id ?? '–'}, V4 ${row.v4_svc_id ?? '–'}`;
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

function renderLists({ lists }: Story, width: number): string[] {
  const rows = lists.map(({ name, state, readAt, note }) => [
    name,
    state,
    readAt === null ? '–' : formatTime(readAt),
    escapeUnseen(note ?? ''),
  ]);
  return renderTable(
    [{ title: 'list' }, { title: 'state' }, { title: 'read at' }, { title: '' }],
    rows,
    width,
  );
}
