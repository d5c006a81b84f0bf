import type { Config } from '../../config/config.js';
import { isUnfinished } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { openVerifiedRemap } from '../../store/lookup.js';
import type { Db } from '../../store/open.js';
import { findIncomplete, isRemapStale, isStale, readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap.js';
import { assertDigests } from '../../store/remap-digest.js';
import {
  readExcludedPlaces,
  readRejectedWith,
  readStoryRows,
  type StoryRow,
} from '../../store/story-rows.js';
import { listStreams } from '../../store/streams.js';
import { countOf } from '../../text/numbers.js';
import { readStoryFacts, type StorySource } from './read-story.js';
import { buildStory, type Explanation, type Reading } from './story.js';

/** The record to explain. */
export interface ExplainQuestion {
  readonly model: string;
  /** A V3 or V4 id; they overlap, so both are looked up. Null if a key is given. */
  readonly id: bigint | null;
  readonly platformId: string | null;
  /** Null: records and children. */
  readonly path: string | null;
  readonly region: string | null;
  readonly companyId: bigint | null;
}

const MOST_STORIES = 20;

/**
 * Describes everything the database knows about an id or a key. Reads only.
 *
 * @throws SvcError `incomplete` if there is no remap yet, `corrupt_database`
 */
export function explainRecord(db: Db, config: Config, question: ExplainQuestion): Explanation {
  const facts = readReadiness(db, config, EVERYTHING);
  if (facts.lastRun === undefined) {
    throw new SvcError('incomplete', 'There is no remap yet: nothing is known about any record.', {
      hint: 'Run `svc-migrate run`, or `svc-migrate remap` if both exports are complete.',
    });
  }
  assertDigests(db, ['company']);
  const source: StorySource = {
    db,
    remap: openVerifiedRemap(db),
    isCurrent: !isStale(facts.lastRun, facts.exportSeq),
    config,
    streams: listStreams(db),
  };
  const { model, id, platformId } = question;
  const found = findRows(source, question);
  const stories = found
    .slice(0, MOST_STORIES)
    .map(({ row, readings }) => buildStory(readStoryFacts(source, row, readings), config.fieldPrefix));
  return {
    model,
    id,
    platformId,
    stories,
    isCut: found.length > stories.length,
    unknown: stories.length > 0 ? [] : describeUnknown(source, question),
    warnings: findIncomplete(facts).map(({ text, next }) => `${text} (${next})`),
    builtAt: facts.lastRun.built_at,
    isStale: isRemapStale(facts),
  };
}

interface FoundRow {
  readonly row: StoryRow;
  readonly readings: readonly Reading[];
}

/** Rows by V3 id, then by V4 id, without duplicates. */
function findRows({ db, remap }: StorySource, { id, platformId, ...rest }: ExplainQuestion): FoundRow[] {
  const find = (by: Reading, value: bigint | string): FoundRow[] =>
    readStoryRows(db, remap, { ...rest, by, value }, MOST_STORIES + 1).map((row) => ({
      row,
      readings: [by],
    }));
  if (id === null) return find('platform_id', platformId ?? '');
  const found = new Map<bigint, FoundRow>();
  for (const { row, readings } of [...find('v3', id), ...find('v4', id)]) {
    found.set(row.row, { row, readings: [...(found.get(row.row)?.readings ?? []), ...readings] });
  }
  return [...found.values()];
}

/** Why nothing may be known of an id: it was excluded, rejected, not read, or not in the lists. */
function describeUnknown(
  { db, config, streams }: StorySource,
  { model, id, platformId }: ExplainQuestion,
): string[] {
  const sentences: string[] = [];
  for (const { generation, region } of id === null ? [] : readExcludedPlaces(db, model, id)) {
    const side = `${generation.toUpperCase()}${region === '' ? '' : ` (${region})`}`;
    sentences.push(`${side} has it for a company that the configuration excludes: nothing of it was stored.`);
  }
  const text = id === null ? JSON.stringify(platformId) : String(id);
  for (const { generation, company_id, reason } of readRejectedWith(db, model, text, 5)) {
    const object = `${generation.toUpperCase()} object${company_id === null ? '' : ` of company ${company_id}`}`;
    sentences.push(
      `A ${object} that holds this value could not be taken as a record (${reason}); see the table rejected.`,
    );
  }
  const open = streams.filter((stream) => stream.model === model && isUnfinished(stream)).length;
  if (open > 0) {
    const lists = countOf(open, `list of ${model} was`, `lists of ${model} were`);
    sentences.push(`${lists} not read in full: it may be in ${open === 1 ? 'that one' : 'one of them'}.`);
  }
  if (config.models.find(({ v3 }) => v3 === model)?.v4 === null) {
    sentences.push(`The configuration says that V4 has no ${model}: only V3 was read.`);
  }
  if (sentences.length === 0) {
    sentences.push(
      'Neither export holds it. It may be of another model or region, newer than the export, or vanished before V3 was read.',
    );
  }
  return sentences;
}
