import type { Api } from '../../api/client.js';
import type { Config, Endpoint } from '../../config/config.js';
import {
  type CompanyMatch,
  type Generation,
  type ModelPair,
  type ParsedPage,
  type ParsedRecord,
  REFUSED_STATUSES,
} from '../../domain.js';
import { SvcError } from '../../errors.js';
import type { AmbiguousCompany } from '../../text/describe-evidence.js';
import * as z from '../../zod.js';

/** The fields of a record that doctor needs. */
export interface SampledRecord
  extends Pick<ParsedRecord, 'svcId' | 'companyId' | 'platformId' | 'deleted' | 'fieldDigests'> {
  /** When the service stored the record; null if unknown. */
  readonly createdMs: number | null;
  /** `data_hash`; null if the record has none. */
  readonly dataHash: string | null;
}

/** The response to one request for a list. */
export type ListAnswer =
  | {
      readonly kind: 'answers';
      readonly records: readonly SampledRecord[];
      /** Objects that cannot be read as records. */
      readonly rejected: number;
      readonly totalCount: number | null;
      readonly hasMore: boolean;
      /** Bytes of the records. */
      readonly bytes: number;
      /** Fields that were requested with `expand` and that no record has. */
      readonly missing: readonly string[];
    }
  /** 404. */
  | { readonly kind: 'absent' }
  /** 400 or similar: the server rejects the parameters. */
  | { readonly kind: 'refused'; readonly error: SvcError }
  | { readonly kind: 'failed'; readonly error: SvcError };

export type ListContent = Extract<ListAnswer, { kind: 'answers' }>;

/** A V3 list, or the V4 list of one company. */
export interface ListRef {
  /** '' for V4. */
  readonly region: string;
  /** Null for V3. */
  readonly companyId: bigint | null;
  readonly pair: ModelPair;
}

export interface ProbedList extends ListRef {
  readonly answer: ListAnswer;
}

/** Whether a parameter does what its name says; `always`: also without the parameter. */
export type ParameterEffect = 'honoured' | 'ignored' | 'refused' | 'always' | 'unknown';

/** How V4 treats parameters. */
export interface ParameterEffects {
  readonly include_deleted_records: ParameterEffect;
  /** Whether it is refused with a 400 that names the parameter: only then an export continues without it. */
  readonly refusesDeletedByName: boolean;
  readonly eq: ParameterEffect;
  readonly gte: ParameterEffect;
  readonly sort: ParameterEffect;
  readonly select: ParameterEffect;
  /** `select=data_hash` in V3. */
  readonly selectInV3: ParameterEffect;
}

/** One configured address with its key. */
export interface ProbedHost extends Pick<Endpoint, 'region' | 'baseUrl' | 'keySource'> {
  /** `V3`, `V3 eu` or `V4`. */
  readonly label: string;
  readonly generation: Generation;
  /** Why the key cannot be used at all. */
  readonly keyError: SvcError | null;
  /** Why the first request failed. */
  readonly error: SvcError | null;
  readonly answered: boolean;
  /** The server's clock minus the local one; null if the server does not send its time. */
  readonly clockOffsetMs: number | null;
  /** Name and port of the proxy. */
  readonly proxy: string | null;
}

/** The page size of one host, seen at its longest list. */
export interface ProbedPage {
  readonly label: string;
  readonly asked: number;
  /** Objects on the page; null if the limit was refused. */
  readonly got: number | null;
  readonly hasMore: boolean;
  /** The largest page that the host was seen to send, or the limit that it accepted; null if unknown. */
  readonly largest: number | null;
}

/** A V3 company with the V4 company that it would be paired with. */
export interface PairPreview {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch;
  /** Shared keys that could be compared, and those that agree; 0 without a pair. */
  readonly comparable: number;
  readonly agreeing: number;
  /** V4 companies that an ambiguous one may be, likeliest first. */
  readonly candidates: AmbiguousCompany['candidates'];
  /** Whether V4 lists a company of the same id. */
  readonly hasSameId: boolean;
}

export interface ProbedV4 {
  /** Companies that V4 lists. */
  readonly companies: readonly bigint[];
  /** Companies whose lists were requested. */
  readonly asked: readonly bigint[];
  readonly lists: readonly ProbedList[];
  /** Whether V4 answers to a model that cannot exist. */
  readonly answersAnything: boolean;
  /** Names that V4 answers to, by the V3 path of the models that it did not find. */
  readonly suggestions: ReadonlyMap<string, readonly string[]>;
  readonly parameters: ParameterEffects;
}

/** Everything that was learned over the network. */
export interface RemoteFacts {
  readonly hosts: readonly ProbedHost[];
  readonly v3: readonly ProbedList[];
  readonly v4: ProbedV4 | null;
  readonly pages: readonly ProbedPage[];
  readonly preview: readonly PairPreview[];
  readonly requests: number;
  /** For V3 regions whose configured address answers 404 to every model: another address, which answers. */
  readonly v3Addresses?: ReadonlyMap<string, string>;
}

/** Facts about this machine. */
export interface LocalFacts {
  readonly node: string;
  /** Null if SQLite cannot be loaded. */
  readonly sqlite: string | null;
  /** Free bytes on the disk of the database; null if unknown. */
  readonly freeBytes: number | null;
  readonly databaseBytes: number;
  readonly database: DatabaseFacts;
  /** Why `companies.csv` or `decisions.csv` cannot be used, by the code of the finding. */
  readonly fileErrors: readonly (readonly [code: string, error: SvcError])[];
  /** Targets of `apply`. `missing`: the file or setting that is missing on this machine. */
  readonly targets: readonly { readonly name: string; readonly missing: string | null }[];
}

export type DatabaseFacts =
  | { readonly kind: 'none' | 'interrupted' }
  | { readonly kind: 'unusable'; readonly error: SvcError }
  | {
      readonly kind: 'usable';
      readonly v3Records: number;
      readonly v4Records: number;
      /** Unfinished work and the next command, one sentence each. */
      readonly open: readonly string[];
      /** Companies to pair by hand. */
      readonly ambiguous?: readonly AmbiguousCompany[];
      /** Pairs of companies by how they were found; null without a remap. */
      readonly pairs: Readonly<Record<CompanyMatch, number>> | null;
    };

export interface DoctorFacts {
  readonly config: Config;
  readonly nowMs: number;
  readonly local: LocalFacts;
  readonly remote: RemoteFacts;
}

type Parameter = readonly [name: string, value: string];

/** Requests the first page of a list. Only interrupts are thrown. */
export type AskList = (list: ListRef, limit: number, more?: readonly Parameter[]) => Promise<ListAnswer>;

/** Returns a function that requests the first page of a list and summarises it. */
export function prepareAskList(api: Pick<Api, 'fetchRawList'>, fieldPrefix: string): AskList {
  return async (list, limit, more = []) => {
    const { region, companyId, pair } = list;
    const generation = companyId === null ? 'v3' : 'v4';
    const stream = { generation, region, model: pair.v3, companyId } as const;
    const parameters = [...buildParameters(list, limit, fieldPrefix), ...more];
    try {
      const page = await api.fetchRawList({ stream, pair, parameters });
      return summarise(page, pair.expand, fieldPrefix);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
      const status = error.code === 'http_status' ? error.facts['status'] : null;
      if (status === 404) return { kind: 'absent' };
      return { kind: REFUSED_STATUSES.includes(status) ? 'refused' : 'failed', error };
    }
  };
}

/** V3 is requested as by an export, except that the latest records come first. */
function buildParameters({ companyId, pair }: ListRef, limit: number, fieldPrefix: string): Parameter[] {
  const parameters: Parameter[] = [['limit', String(limit)]];
  if (companyId === null) {
    parameters.push(['include_deleted_records', 'true'], ['return_count', 'true']);
    parameters.push([`sort[${fieldPrefix}updated_at]`, 'DESC']);
  }
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  return parameters;
}

const bodySchema = z.record(z.string(), z.unknown());
type Body = z.output<typeof bodySchema>;

function summarise(page: ParsedPage, expand: readonly string[], fieldPrefix: string): ListAnswer {
  const bodies: Body[] = [];
  const records = page.records.map((record) => {
    const { raw } = record;
    const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
    const body = bodySchema.parse(JSON.parse(text));
    bodies.push(body);
    return sampleOf(record, body, fieldPrefix);
  });
  const isMissing = (field: string): boolean => !bodies.some((body) => Object.hasOwn(body, field));
  return {
    kind: 'answers',
    records,
    rejected: page.rejected.length,
    totalCount: page.totalCount,
    hasMore: page.next !== null,
    bytes: page.records.reduce((sum, { raw }) => sum + raw.length, 0),
    missing: records.length === 0 ? [] : expand.filter(isMissing),
  };
}

function sampleOf(record: ParsedRecord, body: Body, fieldPrefix: string): SampledRecord {
  const { svcId, companyId, platformId, deleted, fieldDigests } = record;
  const created = Date.parse(String(body[`${fieldPrefix}created_at`]));
  const createdMs = Number.isNaN(created) ? null : created;
  const hash = body['data_hash'];
  const dataHash = typeof hash === 'string' && hash !== '' ? hash : null;
  return { svcId, companyId, platformId, deleted, createdMs, fieldDigests, dataHash };
}

/** The number of records in a list: its `total_count` or, without one, of the records received. */
export function sizeOf(answer: ListAnswer): number {
  return answer.kind === 'answers' ? (answer.totalCount ?? answer.records.length) : 0;
}
