import type { Config } from '../../config/config.js';
import type { CompanyMatch, Generation, ModelPair } from '../../domain.js';
import type { SvcError } from '../../errors.js';

/** A record of a sample, as far as anything is made of it. */
export interface SampledRecord {
  readonly svcId: bigint;
  readonly companyId: bigint;
  readonly platformId: string | null;
  readonly deleted: boolean;
  readonly updatedMs: number | null;
  /** When the service stored it; null where it does not say. */
  readonly createdMs: number | null;
  readonly facts: string;
  /** `data_hash`, where it came along. */
  readonly dataHash: string | null;
}

/** What one list answered to one question. */
export type Answer =
  | {
      readonly kind: 'answers';
      readonly records: readonly SampledRecord[];
      /** Objects that are no records. */
      readonly rejected: number;
      readonly totalCount: number | null;
      readonly hasMore: boolean;
      /** Bytes of the records. */
      readonly bytes: number;
      /** Fields that were asked for with `expand` and that no record carries. */
      readonly missing: readonly string[];
    }
  /** 404. */
  | { readonly kind: 'absent' }
  /** 400 and its kin: the question is not taken. */
  | { readonly kind: 'refused'; readonly error: SvcError }
  | { readonly kind: 'failed'; readonly error: SvcError };

export type Answers = Extract<Answer, { kind: 'answers' }>;

/** Whether a parameter does what its name says; `always`: also where it is not asked for. */
export type Verdict = 'honoured' | 'ignored' | 'refused' | 'always' | 'unknown';

/** One configured address with its key. */
export interface HostFacts {
  /** `V3`, `V3 eu` or `V4`. */
  readonly label: string;
  readonly generation: Generation;
  readonly region: string;
  readonly baseUrl: string;
  readonly keySource: string;
  /** What is wrong with the key before it is sent. */
  readonly keyError: SvcError | null;
  /** What the first question came to; null where it was not asked, or where it was answered. */
  readonly error: SvcError | null;
  readonly answered: boolean;
  /** The server's clock minus ours, ms; null where it does not tell. */
  readonly clockOffsetMs: number | null;
  /** Name and port of the proxy it is asked through. */
  readonly proxy: string | null;
}

export interface V3ListFacts {
  readonly region: string;
  readonly pair: ModelPair;
  readonly answer: Answer;
}

/** One V4 model in one company. */
export interface V4ListFacts {
  readonly companyId: bigint;
  readonly pair: ModelPair;
  readonly answer: Answer;
}

/** Page sizes of one host, seen at its longest list. */
export interface PageFacts {
  readonly label: string;
  readonly asked: number;
  /** Objects of the page; null where the limit was refused. */
  readonly got: number | null;
  readonly hasMore: boolean;
  /** A smaller limit that was answered after a refusal. */
  readonly smaller: number | null;
}

/** A V3 company and what speaks for its V4 twin. */
export interface PairPreview {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch;
  /** Shared keys that could be compared, and those that agree; 0 without a pair. */
  readonly comparable: number;
  readonly agreeing: number;
  /** V4 lists a company of the same id. */
  readonly hasSameId: boolean;
}

export interface V4Facts {
  /** null where the list could not be read. */
  readonly companies: readonly bigint[] | null;
  /** Companies that were asked for their lists. */
  readonly asked: readonly bigint[];
  readonly lists: readonly V4ListFacts[];
  /** Whether V4 answers to a model that cannot exist. */
  readonly answersAnything: boolean;
  /** Names that V4 answers to, by the V3 path of models that it did not find. */
  readonly suggestions: ReadonlyMap<string, readonly string[]>;
  readonly switches: Switches | null;
}

/** What V4 does with parameters. */
export interface Switches {
  readonly include_deleted_records: Verdict;
  /** Refused with a 400 that names the parameter: only then an export goes on without it. */
  readonly refusesDeletedByName: boolean;
  readonly eq: Verdict;
  readonly gte: Verdict;
  readonly sort: Verdict;
  readonly select: Verdict;
  /** `select=data_hash` in V3. */
  readonly selectInV3: Verdict;
}

/** Everything that was found out over the network. */
export interface RemoteFacts {
  readonly hosts: readonly HostFacts[];
  readonly v3: readonly V3ListFacts[];
  readonly v4: V4Facts | null;
  readonly pages: readonly PageFacts[];
  readonly preview: readonly PairPreview[];
  readonly requests: number;
}

/** What this machine tells. */
export interface LocalFacts {
  readonly node: string;
  /** null where it cannot be loaded. */
  readonly sqlite: string | null;
  /** Bytes free where the database is or will be; null where nothing tells. */
  readonly freeBytes: number | null;
  readonly databaseBytes: number;
  readonly database: DatabaseFacts;
  /** What is wrong with the companies file. */
  readonly companiesError: SvcError | null;
}

/** What is at the database's place. */
export type DatabaseFacts =
  | { readonly kind: 'none' }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'unusable'; readonly error: SvcError }
  | {
      readonly kind: 'usable';
      readonly v3Records: number;
      readonly v4Records: number;
      /** What the next run does, as `status` says it. */
      readonly open: readonly string[];
      /** Pairs of companies by how they were found, where there is a remap. */
      readonly pairs: Readonly<Record<CompanyMatch, number>> | null;
    };

export interface DoctorFacts {
  readonly config: Config;
  readonly nowMs: number;
  readonly local: LocalFacts;
  readonly remote: RemoteFacts;
}
