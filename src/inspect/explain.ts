import { decodeBody } from '../api/body.js';
import { findMembers, findRecordInPage, type RecordMembers } from '../api/pages.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished } from '../domain.js';
import { SvcError } from '../errors.js';
import { describeOutcome } from '../reasons.js';
import { findIncomplete, nameOfStream, readStaleness } from '../store/readiness.js';
import { readRemapRun, toFinding } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import {
  readCompanyPairing,
  readStoredSide,
  readStoryRows,
  type StoryQuestion,
  type StoryRow,
} from '../store/story-rows.js';
import { listStreams, type StreamRow } from '../store/streams.js';
import { must } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import { buildFieldLines, renderFieldLines } from './side-by-side.js';

export type Explanation = ReturnType<typeof explainRecord>;
type Story = ReturnType<typeof buildStory>;

const MAX_STORIES = 20;

/** @throws SvcError `incomplete` if there is no remap, `usage` if several regions have the id and none is named */
export function explainRecord(db: Db, config: Config, question: StoryQuestion) {
  const run = readRemapRun(db);
  if (run === null) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known of any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` if both exports are complete.',
    });
  }
  const rows = readStoryRows(db, question, MAX_STORIES + 1);
  assertOneRegion(rows, question);
  const streams = listStreams(db).filter(({ model }) => model === question.model);
  return {
    schemaVersion: 1,
    model: question.model,
    id: String(question.id),
    remapBuiltAt: run.builtAt,
    stale: readStaleness(db, config).length > 0,
    warnings: findIncomplete(db, config).map(({ text, next }) => `${text} ${next}`),
    more: rows.length > MAX_STORIES,
    unknown: rows.length > 0 ? [] : [describeUnknown(streams)],
    stories: rows.slice(0, MAX_STORIES).map((row) => buildStory(db, config, streams, row)),
  };
}

function assertOneRegion(rows: readonly StoryRow[], { region, id, model }: StoryQuestion): void {
  const regions = new Set(rows.flatMap((row) => (row.v3_svc_id === id ? (row.region ?? []) : [])));
  if (region !== null || regions.size < 2) return;
  throw new SvcError('usage', `V3 id ${id} of ${model} exists in the regions ${[...regions].join(', ')}.`, {
    hint: 'Name one with --region.',
  });
}

function describeUnknown(streams: readonly StreamRow[]): string {
  const open = streams.filter(isUnfinished).length;
  if (open > 0) {
    return `${countOf(open, 'list was', 'lists were')} not read to the end: the record may be there.`;
  }
  return 'Neither export holds it. It may belong to another model, region or company, be newer than the export, or be in the table rejected.';
}

function buildStory(db: Db, config: Config, streams: readonly StreamRow[], row: StoryRow) {
  const { title, meaning, action } = describeOutcome(row.status, row.reason);
  const isOfRow = (stream: StreamRow) => {
    if (stream.generation === 'v4') return stream.companyId === row.v4_company_id;
    const { region, v3_company_id: companyId } = row;
    const isOfCompany = companyId === null || (stream.companyId ?? companyId) === companyId;
    return isOfCompany && (region === null || stream.region === region);
  };
  const members = (generation: Generation) => readMembers(db, config, row, generation);
  return {
    row: toFinding(row),
    title,
    sentence: meaning,
    next: action,
    company: readCompanyPairing(db, row) ?? null,
    parent: row.path === '' ? null : { v3_svc_id: row.parent_v3_svc_id, v4_svc_id: row.parent_v4_svc_id },
    fields: buildFieldLines(members('v3'), members('v4'), config.fieldPrefix),
    lists: streams.filter(isOfRow).map((stream) => {
      const { generation, state, readAt, endReason } = stream;
      return { generation, name: nameOfStream(stream), state, readAt, note: endReason };
    }),
  };
}

/** The members of a stored record or child, or its keys with `payload: "ids"`; null if the row has none. */
function readMembers(db: Db, config: Config, row: StoryRow, generation: Generation): RecordMembers | null {
  const { model, path, region } = row;
  const svcId = row[`${generation}_svc_id`];
  const holder = path === '' ? svcId : row[`parent_${generation}_svc_id`];
  const companyId = row[`${generation}_company_id`];
  if (svcId === null || holder === null || companyId === null) return null;
  const place = generation === 'v3' ? must(region, 'region') : '';
  const stored = readStoredSide(db, { generation, region: place, model, companyId, svcId: holder });
  if (stored === undefined) return null;
  const { body, encoding, platform_id, unique_id, deleted } = stored;
  const idField = `${config.fieldPrefix}id`;
  if (body === null || encoding === null) {
    if (path !== '') return null;
    return { [idField]: svcId, platform_id, platform_unique_id: unique_id, deleted: deleted === 1n };
  }
  const record = findRecordInPage(decodeBody(body, encoding), { generation, ...config }, holder);
  return path === '' || record === null ? record : findMembers(record[path], idField, svcId);
}

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
  const columns = ['list', 'state', 'read at', ''].map((title) => ({ title }));
  const rows = lists.map(({ name, state, readAt, note }) => {
    return [name, state, readAt === null ? '–' : formatTime(readAt), escapeUnseen(note ?? '')];
  });
  return renderTable(columns, rows, width);
}
