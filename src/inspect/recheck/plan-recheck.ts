import type { Config } from '../../config/config.js';
import { type Generation, isUnfinished } from '../../domain.js';
import { type RecheckScope, recheckScope } from '../../reasons.js';
import type { CompanyPairs, OpenRow } from '../../store/open-findings.js';
import type { StreamRow } from '../../store/streams.js';

/** A request for the records of one list with one id or key. */
export interface RecordQuestion {
  readonly stream: StreamRow;
  readonly companyId: bigint;
  readonly by: 'svc_id' | 'platform_id';
  readonly value: string;
}

/** What a recheck requests. */
export interface RecheckPlan {
  readonly questions: readonly RecordQuestion[];
  /** Lists to read again, because single requests would not suffice or would cost more. */
  readonly lists: ReadonlySet<StreamRow>;
  /** Whether V4's list of companies is read again. */
  readonly readsCompanies: boolean;
}

export interface PlanInput {
  /** Open rows of records, and the records in which children are open. */
  readonly findings: Iterable<OpenRow>;
  readonly parents: Iterable<OpenRow>;
  readonly streams: readonly StreamRow[];
  readonly pairs: CompanyPairs;
  readonly config: Config;
}

/** Up to this many single requests per list are sent in any case; more only if it has more pages. */
const FEW = 25;

/** Decides what to request again for the open findings. */
export function planRecheck(input: PlanInput): RecheckPlan {
  const planner = new Planner(input);
  for (const row of input.findings) if (row.path === '') planner.addFinding(row);
  for (const row of input.parents) planner.addIds(row);
  return planner.finish();
}

class Planner {
  readonly #input: PlanInput;
  readonly #questions = new Map<StreamRow, Map<string, RecordQuestion>>();
  readonly #lists = new Set<StreamRow>();
  readonly #streams = new Map<string, StreamRow>();
  /** Scopes whose lists were added already. */
  readonly #added = new Set<RecheckScope>();

  constructor(input: PlanInput) {
    this.#input = input;
    for (const stream of input.streams) {
      const { generation, region, model, companyId } = stream;
      this.#streams.set(nameOf(generation, region, model, companyId), stream);
    }
  }

  addFinding(row: OpenRow): void {
    const scope = recheckScope(row.reason ?? '');
    this.addIds(row);
    this.#addListsOf(scope);
    if (scope !== 'v4_list') {
      this.#addKeys(row);
      return;
    }
    const stream = this.#streams.get(nameOf('v4', '', row.model, row.v4CompanyId));
    if (stream !== undefined) this.#lists.add(stream);
  }

  /** Requests the records of the row by id. */
  addIds({ model, region, v3CompanyId, v3SvcId, v4CompanyId, v4SvcId }: OpenRow): void {
    if (v3SvcId !== null && v3CompanyId !== null && region !== null) {
      this.#ask('v3', region, model, v3CompanyId, 'svc_id', String(v3SvcId));
    }
    if (v4SvcId !== null && v4CompanyId !== null) {
      this.#ask('v4', '', model, v4CompanyId, 'svc_id', String(v4SvcId));
    }
  }

  finish(): RecheckPlan {
    const questions: RecordQuestion[] = [];
    for (const [stream, own] of this.#questions) {
      if (this.#lists.has(stream)) continue;
      if (own.size > Math.max(FEW, this.#pagesOf(stream))) this.#lists.add(stream);
      else questions.push(...own.values());
    }
    return { questions, lists: this.#lists, readsCompanies: [...this.#added].some(readsCompanies) };
  }

  /** Requests the records with the row's key on either side: a twin, or competing records. */
  #addKeys({ model, region, platformId, v3CompanyId, v4CompanyId, status }: OpenRow): void {
    if (platformId === null || v4CompanyId === null) return;
    if (status !== 'v4_only') this.#ask('v4', '', model, v4CompanyId, 'platform_id', platformId);
    const v3 =
      v3CompanyId !== null && region !== null
        ? { region, companyId: v3CompanyId }
        : this.#input.pairs.v3Of.get(v4CompanyId);
    if (status === 'unmatched' || v3 === undefined) return;
    this.#ask('v3', v3.region, model, v3.companyId, 'platform_id', platformId);
  }

  /** Adds the lists that a scope needs whatever the record. */
  #addListsOf(scope: RecheckScope): void {
    if (this.#added.has(scope)) return;
    this.#added.add(scope);
    const lonely = new Set(readsCompanies(scope) ? this.#input.pairs.unpairedV4 : []);
    for (const stream of this.#input.streams) {
      const { generation, companyId } = stream;
      const isWanted =
        (generation === 'v4' && companyId !== null && lonely.has(companyId)) ||
        (generation === 'v3' && scope === 'companies_and_v3') ||
        (scope === 'unread_lists' && isUnfinished(stream));
      if (isWanted) this.#lists.add(stream);
    }
  }

  #ask(
    generation: Generation,
    region: string,
    model: string,
    companyId: bigint,
    by: RecordQuestion['by'],
    value: string,
  ): void {
    const stream =
      this.#streams.get(nameOf(generation, region, model, companyId)) ??
      this.#streams.get(nameOf(generation, region, model, null));
    if (stream === undefined) return;
    if (isUnfinished(stream) || stream.state === 'absent') {
      this.#lists.add(stream);
      return;
    }
    const own = this.#questions.get(stream) ?? new Map<string, RecordQuestion>();
    this.#questions.set(stream, own.set(`${companyId} ${by} ${value}`, { stream, companyId, by, value }));
  }

  #pagesOf({ generation, region, uniqueRecords }: StreamRow): number {
    const { v3, v4 } = this.#input.config;
    const endpoint = generation === 'v4' ? v4 : v3.regions.find((one) => one.region === region);
    return Math.ceil(uniqueRecords / (endpoint?.pageSize ?? 1)) + 1;
  }
}

function readsCompanies(scope: RecheckScope): boolean {
  return scope === 'companies' || scope === 'companies_and_v3';
}

function nameOf(generation: Generation, region: string, model: string, companyId: bigint | null): string {
  return JSON.stringify([generation, region, model, companyId === null ? null : String(companyId)]);
}
