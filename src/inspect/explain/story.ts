import type { Generation } from '../../domain.js';
import { findDrift } from '../../match/compare-payloads.js';
import { describeOutcome } from '../../reasons.js';
import type { PayloadField, StoryRow } from '../../store/story-rows.js';
import { describeEvidence, isRowEvidence, type RowEvidence } from '../../text/describe-evidence.js';

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
  /** How the companies were paired, as a sentence without its end. */
  readonly company: string | null;
  readonly lists: readonly ListReading[];
}

/** The answer to one question. */
export interface Explanation {
  readonly model: string;
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
export function buildFieldLines(
  v3: ExportedObject | null,
  v4: ExportedObject | null,
  prefix: string,
): FieldLine[] {
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
