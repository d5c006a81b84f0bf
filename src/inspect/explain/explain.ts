import type { Config } from '../../config/config.js';
import { isUnfinished } from '../../domain.js';
import { SvcError } from '../../errors.js';
import type { Db } from '../../store/open.js';
import { readReadiness } from '../../store/read-readiness.js';
import { findIncomplete, isStale } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap.js';
import { assertDigests } from '../../store/remap-digest.js';
import {
  type OutsideRow,
  readExcludedPlaces,
  readRejectedWith,
  readStoryRows,
  type StoryRow,
} from '../../store/story-rows.js';
import { listStreams } from '../../store/streams.js';
import { openVerifiedRemap } from '../../store/verified-remap.js';
import { buildStory } from './build-story.js';
import { readStoryFacts, type StorySource } from './read-story.js';
import type { Explanation, Reading } from './story.js';

/** Which record is asked about. */
export interface ExplainQuestion {
  readonly model: string;
  /** A V3 or a V4 id: the two overlap, so both are looked for. Null where the key is given. */
  readonly id: bigint | null;
  readonly platformId: string | null;
  /** null: records and children alike. */
  readonly path: string | null;
  readonly region: string | null;
  readonly companyId: bigint | null;
}

/** Stories told; several regions, companies and parents may share an id. */
const MOST_STORIES = 20;

/**
 * Tells everything the database knows about an id or a key. Reads only.
 *
 * @throws SvcError `incomplete` where there is no remap yet, `corrupt_database`
 */
export function explainRecord(db: Db, config: Config, question: ExplainQuestion): Explanation {
  const facts = readReadiness(db, config, EVERYTHING);
  if (facts.lastRun === undefined) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known about any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` where both exports are there.',
    });
  }
  assertDigests(db, ['company']);
  const isCurrent = !isStale(facts.lastRun, facts.exportSeq);
  const source: StorySource = {
    db,
    remap: openVerifiedRemap(db),
    isCurrent,
    config,
    streams: listStreams(db),
  };
  const found = findRows(source, question);
  const told = found.slice(0, MOST_STORIES);
  const stories = told.map(({ row, readings }) =>
    buildStory(readStoryFacts(source, row, readings), config.fieldPrefix),
  );
  return {
    model: question.model,
    id: question.id,
    platformId: question.platformId,
    stories,
    isCut: found.length > told.length,
    unknown: stories.length > 0 ? [] : describeUnknown(db, config, question),
    warnings: findIncomplete(facts).map(({ text, next }) => `${text} (${next})`),
    builtAt: facts.lastRun.built_at,
  };
}

interface FoundRow {
  readonly row: StoryRow;
  readonly readings: readonly Reading[];
}

/** Rows by V3 id, then by V4 id; a row that is both is one. */
function findRows({ db, remap }: StorySource, question: ExplainQuestion): FoundRow[] {
  const { id, platformId, ...rest } = question;
  const ask = (by: Reading, value: bigint | string): FoundRow[] =>
    readStoryRows(db, remap, { ...rest, by, value }, MOST_STORIES + 1).map((row) => ({
      row,
      readings: [by],
    }));
  if (id === null) return ask('platform_id', platformId ?? '');
  const asV3 = ask('v3', id);
  const asV4 = ask('v4', id);
  const twice = new Set(asV4.map(({ row }) => row.row));
  const merged = asV3.map(
    (found): FoundRow => (twice.has(found.row.row) ? { ...found, readings: ['v3', 'v4'] } : found),
  );
  const known = new Set(asV3.map(({ row }) => row.row));
  return [...merged, ...asV4.filter(({ row }) => !known.has(row.row))];
}

/** Why nothing is known of an id: what the export left out, and what it did not see. */
function describeUnknown(db: Db, config: Config, { model, id, platformId }: ExplainQuestion): string[] {
  const said: string[] = [];
  if (id !== null) said.push(...readExcludedPlaces(db, model, id).map(describeExcluded));
  const text = id === null ? JSON.stringify(platformId) : String(id);
  said.push(...readRejectedWith(db, model, text, 5).map(describeRejected));
  const open = listStreams(db).filter((stream) => stream.model === model && isUnfinished(stream));
  if (open.length > 0) {
    said.push(`${open.length} lists of ${model} were not read in full: it may be in one of them.`);
  }
  const pair = config.models.find(({ v3 }) => v3 === model);
  if (pair?.v4 === null) said.push(`The configuration says that V4 has no ${model}: only V3 was read.`);
  if (said.length === 0) {
    said.push(
      'Neither export holds it. It may be of another model or region, newer than the export, or vanished before V3 was read.',
    );
  }
  return said;
}

function describeExcluded({ generation, region }: OutsideRow): string {
  const place = region === '' ? '' : ` (${region})`;
  return `${generation.toUpperCase()}${place} shows it for a company that the configuration leaves out: nothing of it was kept.`;
}

function describeRejected({ generation, company_id, reason }: OutsideRow): string {
  const company = company_id === null ? '' : ` of company ${company_id}`;
  return `A ${generation.toUpperCase()} object${company} that holds this value could not be taken as a record (${reason}); see the table rejected.`;
}
