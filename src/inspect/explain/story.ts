import type { PayloadField, StoryRow } from '../../store/story-rows.js';

/** How the question was understood: as an id of either side, or as a key. */
export type Reading = 'v3' | 'v4' | 'platform_id';

/** A record or child as the export holds it, in the form of `--json`. */
export interface ExportedObject {
  readonly generation: 'v3' | 'v4';
  readonly region: string;
  readonly company_id: string;
  readonly svc_id: string;
  /** Of the record that a child is in. */
  readonly parent_svc_id: string | null;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
  readonly deleted: boolean;
  /** ISO 8601. */
  readonly updated: string | null;
  readonly latest: string | null;
  readonly latestFrom: 'platform' | 'service' | null;
  readonly created: string | null;
  /** Not in JSON: single-valued fields as received; empty where no payload is kept. */
  readonly fields: readonly PayloadField[];
}

/** How the list that holds, or would hold, a record was read; null state where it never was. */
export interface ListReading {
  readonly generation: 'v3' | 'v4';
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
  readonly agreeingKeys: number;
  /** Other companies that share keys, as text. */
  readonly candidates: readonly string[];
}

/** Everything the database knows about one row of the remap. */
export interface StoryFacts {
  readonly row: StoryRow;
  /** Each way in which the question leads to this row. */
  readonly readings: readonly Reading[];
  readonly v3: ExportedObject | null;
  readonly v4: ExportedObject | null;
  /** Records that the evidence names. */
  readonly named: readonly ExportedObject[];
  readonly lists: readonly ListReading[];
  readonly company: CompanyPairing | null;
  /** Rows of the record that a child is in: `V3 5: matched with V4 9`. */
  readonly parents: readonly string[];
}

/** One field of both records. */
export interface FieldLine {
  readonly name: string;
  /** null where the record has no such field, or holds null. */
  readonly v3: string | null;
  readonly v4: string | null;
  /** `own`: each generation has its own, so not compared; `alone`: there is no other record. */
  readonly verdict: 'same' | 'differs' | 'one_side' | 'own' | 'alone';
}

/** The story of one record or child, in words. */
export interface Story {
  readonly facts: StoryFacts;
  readonly fields: readonly FieldLine[];
  /** Whether one of the two in `fields` is only named by the evidence, not paired. */
  readonly isCandidate: boolean;
  /** The status and reason in a few plain words. */
  readonly title: string;
  /** What the status means. */
  readonly sentence: string;
  /** The evidence in words. */
  readonly because: readonly string[];
  readonly wouldChange: string;
  readonly next: string;
}

/** The answer to one question. */
export interface Explanation {
  readonly model: string;
  readonly id: bigint | null;
  readonly platformId: string | null;
  readonly stories: readonly Story[];
  /** Whether there are more rows. */
  readonly isCut: boolean;
  /** Where there is no story: what is known about why. */
  readonly unknown: readonly string[];
  /** What makes all of it less certain. */
  readonly warnings: readonly string[];
  readonly builtAt: string;
}
