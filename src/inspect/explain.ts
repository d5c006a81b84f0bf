import { decodeBody } from '../api/body.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage, type RecordMembers } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished } from '../domain.js';
import { SvcError } from '../errors.js';
import { describeOutcome } from '../reasons.js';
import { toFinding } from '../store/findings.js';
import { findIncomplete, nameOfList, readStaleness } from '../store/readiness.js';
import { readRemapRun } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import {
  type CompanyPairing,
  readCompanyPairing,
  readRejectedWith,
  readStoredSide,
  readStoryRows,
  type StoryQuestion,
  type StoryRow,
} from '../store/story-rows.js';
import { listStreams, type StreamRow } from '../store/streams.js';
import { must } from '../text/at.js';
import { countOf } from '../text/numbers.js';
import { buildFieldLines, type FieldLine, findMembers } from './side-by-side.js';

export interface Story {
  readonly row: ReturnType<typeof toFinding>;
  readonly title: string;
  readonly sentence: string;
  readonly next: string;
  readonly company: CompanyPairing | null;
  readonly parent: { readonly v3_svc_id: bigint | null; readonly v4_svc_id: bigint | null } | null;
  readonly fields: readonly FieldLine[];
  readonly lists: readonly ListReading[];
}

export interface ListReading {
  readonly generation: Generation;
  readonly name: string;
  readonly state: StreamRow['state'];
  readonly readAt: string | null;
  readonly note: string | null;
}

export interface Explanation {
  readonly schemaVersion: 1;
  readonly model: string;
  readonly id: string;
  readonly remapBuiltAt: string;
  readonly stale: boolean;
  readonly warnings: readonly string[];
  readonly more: boolean;
  readonly unknown: readonly string[];
  readonly stories: readonly Story[];
}

const MAX_STORIES = 20;

/**
 * Describes everything that the database knows of an id. Reads only.
 *
 * @throws SvcError `incomplete` if there is no remap, `usage` if several regions have the id and none is named
 */
export function explainRecord(db: Db, config: Config, question: StoryQuestion): Explanation {
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
    warnings: findIncomplete(db, config).map(({ text, next }) => `${text} (\`${next}\`)`),
    more: rows.length > MAX_STORIES,
    unknown: rows.length > 0 ? [] : describeUnknown(db, streams, question),
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

function describeUnknown(db: Db, streams: readonly StreamRow[], { model, id }: StoryQuestion): string[] {
  const rejected = readRejectedWith(db, model, String(id), 5).map(({ generation, reason }) => {
    const object = `${generation.toUpperCase()} object`;
    return `A ${object} that holds this value could not be taken as a record (${reason}): see the table rejected.`;
  });
  if (rejected.length > 0) return rejected;
  const open = streams.filter(isUnfinished).length;
  if (open > 0) {
    return [`${countOf(open, 'list was', 'lists were')} not read to the end: the record may be there.`];
  }
  return [
    'Neither export holds it. It may belong to another model, region or company, or be newer than the export.',
  ];
}

function buildStory(db: Db, config: Config, streams: readonly StreamRow[], row: StoryRow): Story {
  const { title, meaning, action } = describeOutcome(row.status, row.reason);
  const company = readCompanyPairing(db, row) ?? null;
  const region = row.region ?? company?.region ?? null;
  const v3Company = row.v3_company_id ?? company?.v3_company_id ?? null;
  const isOfRow = (stream: StreamRow) =>
    stream.generation === 'v4'
      ? stream.companyId === row.v4_company_id
      : (region === null || stream.region === region) &&
        (v3Company === null || stream.companyId === null || stream.companyId === v3Company);
  return {
    row: toFinding(row),
    title,
    sentence: meaning,
    next: action,
    company,
    parent: row.path === '' ? null : { v3_svc_id: row.parent_v3_svc_id, v4_svc_id: row.parent_v4_svc_id },
    fields: buildFieldLines(
      readMembers(db, config, row, 'v3'),
      readMembers(db, config, row, 'v4'),
      config.fieldPrefix,
    ),
    lists: streams.filter(isOfRow).map((stream) => ({
      generation: stream.generation,
      name: `${stream.generation.toUpperCase()} ${nameOfList(stream)}`,
      state: stream.state,
      readAt: stream.readAt,
      note: stream.endReason,
    })),
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
  if (body === null || encoding === null) {
    if (path !== '') return null;
    const idField = `${config.fieldPrefix}id`;
    return { [idField]: svcId, platform_id, platform_unique_id: unique_id, deleted: deleted === 1n };
  }
  const pair = must(
    config.models.find(({ v3 }) => v3 === model),
    `model ${model}`,
  );
  const record = findRecordInPage(decodeBody(body, encoding), pageFormat(config, generation, pair), holder);
  return record === null || path === '' ? record : findMembers(record[path], config.fieldPrefix, svcId);
}
