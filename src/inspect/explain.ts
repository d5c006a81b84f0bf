import type { RecordMembers } from '../api/pages.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished } from '../domain.js';
import { SvcError } from '../errors.js';
import { describeOutcome } from '../reasons.js';
import { findIncomplete, nameOfStream, readStaleness } from '../store/readiness.js';
import { readRemapRun, toFinding } from '../store/remap.js';
import {
  type EntryQuestion,
  type RemapEntry,
  readCompanyPairing,
  readEntries,
  readStoredSide,
} from '../store/remap-entries.js';
import type { Db } from '../store/sqlite.js';
import { listStreams, type StreamRow } from '../store/streams.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatTime } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapLines } from '../text/wrap.js';
import { buildFieldLines, type FieldLine, renderFieldLines } from './side-by-side.js';
import { idsInEvidence, readMembers } from './stored-members.js';

export type Explanation = ReturnType<typeof explainRecord>;
type ExplainedEntry = ReturnType<typeof buildEntry>;

const MAX_ENTRIES = 20;

/** @throws SvcError `incomplete` if there is no remap, `usage` if several regions have the id and none is named */
export function explainRecord(db: Db, config: Config, question: EntryQuestion) {
  const run = readRemapRun(db);
  if (run === null) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known of any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` if both exports are complete.',
    });
  }
  const rows = readEntries(db, question, MAX_ENTRIES + 1);
  assertOneRegion(rows, question);
  const streams = listStreams(db).filter(({ model }) => model === question.model);
  return {
    schemaVersion: 1,
    model: question.model,
    id: String(question.id),
    remapBuiltAt: run.builtAt,
    stale: readStaleness(db, config).length > 0,
    warnings: findIncomplete(db, config).map(({ text, next }) => `${text} ${next}`),
    more: rows.length > MAX_ENTRIES,
    unknown: rows.length > 0 ? [] : [describeUnknown(streams)],
    entries: rows.slice(0, MAX_ENTRIES).map((row) => buildEntry(db, config, streams, row)),
  };
}

function assertOneRegion(rows: readonly RemapEntry[], { region, id, model }: EntryQuestion): void {
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

interface EntrySources {
  readonly db: Db;
  readonly config: Config;
  readonly row: RemapEntry;
}

const MAX_CANDIDATES = 5;

function buildEntry(db: Db, config: Config, streams: readonly StreamRow[], found: RemapEntry) {
  const { title, meaning, action } = describeOutcome(found.status, found.reason);
  const company = readCompanyPairing(db, found) ?? null;
  const { region, v3_company_id } = company ?? found;
  // A row of V4 alone names no V3 company, but its candidates are in the one that its company is paired with.
  const row = { ...found, region, v3_company_id };
  const isOfRow = (stream: StreamRow) => {
    if (stream.generation === 'v4') return stream.companyId === row.v4_company_id;
    const isOfCompany = v3_company_id === null || (stream.companyId ?? v3_company_id) === v3_company_id;
    return isOfCompany && (region === null || stream.region === region);
  };
  const sources = { db, config, row };
  const [v3, v4] = [showMembers(sources, 'v3'), showMembers(sources, 'v4')];
  return {
    row: toFinding(found),
    title,
    sentence: meaning,
    next: action,
    company,
    parent: row.path === '' ? null : { v3_svc_id: row.parent_v3_svc_id, v4_svc_id: row.parent_v4_svc_id },
    fields: buildFieldLines(v3, v4, config.fieldPrefix),
    candidates: buildCandidates(sources),
    lists: streams.filter(isOfRow).map((stream) => {
      const { generation, state, readAt, endReason } = stream;
      return { generation, name: nameOfStream(stream), state, readAt, note: endReason };
    }),
  };
}

/** The first records of the other side that the evidence names, each beside the record; none for a pair. */
function buildCandidates(sources: EntrySources) {
  const { config, row } = sources;
  if (row.v3_svc_id !== null && row.v4_svc_id !== null) return [];
  const generation = row.v4_svc_id === null ? 'v4' : 'v3';
  const ids = idsInEvidence(row, generation).slice(0, MAX_CANDIDATES);
  return ids.map((svcId) => {
    const v3 = showMembers(sources, 'v3', row.v3_svc_id ?? svcId);
    const v4 = showMembers(sources, 'v4', row.v4_svc_id ?? svcId);
    return {
      v3_svc_id: String(row.v3_svc_id ?? svcId),
      v4_svc_id: String(row.v4_svc_id ?? svcId),
      fields: buildFieldLines(v3, v4, config.fieldPrefix),
    };
  });
}

/** The members of a stored record or child, or its keys with `payload: "ids"`; null if the row has none. */
function showMembers(
  { db, config, row }: EntrySources,
  generation: Generation,
  svcId = row[`${generation}_svc_id`],
): RecordMembers | null {
  const stored = readStoredSide(db, row, generation, svcId);
  if (stored === undefined) return null;
  const { platform_id, unique_id, deleted, body } = stored;
  if (body !== null) return readMembers(stored, config, generation, row.path);
  const idField = `${config.fieldPrefix}id`;
  return { [idField]: svcId, platform_id, platform_unique_id: unique_id, deleted: deleted === 1n };
}

export function renderExplanation(explanation: Explanation, width: number): string {
  const { model, id, entries, unknown, more, remapBuiltAt, stale } = explanation;
  const rows = entries.length === 0 ? 'in no row' : countOf(entries.length, 'row');
  const lines = [
    `${model} ${id}: ${rows} of the remap of ${formatTime(remapBuiltAt)}${stale ? ', which is stale' : ''}.`,
    ...unknown,
    ...(more ? ['There are more rows: name a --region or a --company.'] : []),
  ];
  const next = entries.slice(0, 1).map((entry) => `Next: ${entry.next}`);
  return [
    wrapLines(lines, width),
    ...entries.map((entry) => renderEntry(entry, id, width)),
    wrapLines(next, width),
  ].join('');
}

function renderEntry(entry: ExplainedEntry, id: string, width: number): string {
  const { row, title, sentence, candidates } = entry;
  const outcome = `${row.status}${row.reason === null ? '' : `/${row.reason}`}`;
  const lines = [
    '',
    `${describeRole(row, id)} (${idsOf(row)}): ${title} (${outcome})`,
    `  ${sentence}`,
    `  platform_id ${escapeUnseen(row.platform_id ?? 'none')}${row.matched_by === null ? '' : `, matched by ${row.matched_by}`}`,
    ...(entry.parent === null ? [] : [`  Its record: ${idsOf(entry.parent)}`]),
    ...describeCompany(entry),
    ...describeEvidence(row.evidence),
  ];
  const compared = candidates.length === 0 ? [{ ...row, fields: entry.fields }] : candidates;
  const tables = [...compared.flatMap((pair) => renderFields(pair, width)), ...renderLists(entry, width)];
  return wrapLines(lines, width) + tables.map((line) => `${line}\n`).join('');
}

/** Numbers repeat between V3 and V4, and between records and line items. */
function describeRole({ path, v3_svc_id, v4_svc_id }: ExplainedEntry['row'], id: string): string {
  const sides = [...(v3_svc_id === id ? ['V3'] : []), ...(v4_svc_id === id ? ['V4'] : [])];
  return `${id} as a ${sides.join(' and ')} ${path === '' ? 'record' : `child in ${path}`}`;
}

function renderFields(pair: IdPair & { readonly fields: readonly FieldLine[] }, width: number): string[] {
  if (pair.fields.length === 0) return [];
  const titles = [`V3 ${pair.v3_svc_id ?? '–'}`, `V4 ${pair.v4_svc_id ?? '–'}`];
  return renderFieldLines(pair.fields, titles, width);
}

interface IdPair {
  readonly v3_svc_id: unknown;
  readonly v4_svc_id: unknown;
}

function idsOf(row: IdPair): string {
  return `V3 ${row.v3_svc_id ?? '–'}, V4 ${row.v4_svc_id ?? '–'}`;
}

function describeCompany({ company }: ExplainedEntry): string[] {
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

function renderLists({ lists }: ExplainedEntry, width: number): string[] {
  const columns = ['list', 'state', 'read at', ''].map((title) => ({ title }));
  const rows = lists.map(({ name, state, readAt, note }) => {
    return [name, state, readAt === null ? '–' : formatTime(readAt), escapeUnseen(note ?? '')];
  });
  return renderTable(columns, rows, width);
}
