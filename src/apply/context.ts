import type { OnProgress } from '../domain.js';
import type { Db } from '../store/open.js';
import type { ModelIds } from './ids/model-ids.js';
import type { Mode, Policy, TargetPlan } from './plan.js';
import type { OnUnmapped } from './unmapped.js';

/** The remap that ids are looked up in. */
export interface RemapFacts {
  readonly sha256: string;
  readonly builtAt: string;
}

/** How patient and how large the steps in other people's databases are. */
export interface Tuning {
  /** Rows changed per transaction. */
  readonly batchRows: number;
  /** Longest wait for a lock. */
  readonly lockTimeoutMs: number;
  /** Longest single statement in PostgreSQL; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Attempts of a transaction that met a deadlock, a lock or a lost connection. */
  readonly attempts: number;
}

export const DEFAULT_TUNING: Tuning = {
  batchRows: 20_000,
  lockTimeoutMs: 10_000,
  statementTimeoutMs: 600_000,
  attempts: 6,
};

/** What every step of an apply may use of the world. */
export interface ApplyContext {
  /** The svc-migrate database, read only. */
  readonly remap: Db;
  /** Ids loaded from it so far. */
  readonly idMaps: Map<string, ModelIds>;
  readonly remapFile: string;
  readonly facts: RemapFacts;
  readonly policy: Policy;
  readonly tool: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  readonly tuning: Tuning;
}

/** One carrying out of a plan. */
export interface RunFacts {
  readonly run: string;
  /** Of the agreed plan's text. */
  readonly planSha256: string;
  /** The data must be exactly as planned; else they may have grown, as long as nothing new stands in the way. */
  readonly isExact: boolean;
}

/** What carrying out did to one target. */
export interface Written {
  readonly target: string;
  /** The run that holds it: an unfinished one is continued under its own name. */
  readonly run: string;
  /** Cells that got another value, by this and earlier parts of the run. */
  readonly changed: number;
  /** Cells planned but changed by someone else meanwhile: left alone. */
  readonly skipped: readonly string[];
  readonly skippedCount: number;
  /** True where an earlier run had done it all. */
  readonly alreadyDone: boolean;
}

/** What taking back did to one target. */
export interface Undone {
  readonly target: string;
  readonly restored: number;
  /** Rows that hold something else than what the run wrote: left alone. */
  readonly changedSince: readonly string[];
  readonly changedSinceCount: number;
}

/** What recomputing from ledger and remap says of one target. */
export interface Verified {
  readonly target: string;
  readonly run: string;
  readonly checked: number;
  /** Rows that do not hold what ledger and remap say. */
  readonly wrong: readonly string[];
  readonly wrongCount: number;
  /** Rows that another program changed or removed since: the first few, and how many. */
  readonly changedSince: readonly string[];
  readonly changedSinceCount: number;
  /** Why nothing could be recomputed; null: it could. */
  readonly notChecked: string | null;
}

/** A run as the ledger of a place has it, one entry per target. */
export interface LedgerRun {
  readonly run: string;
  readonly target: string;
  /** File or table. */
  readonly place: string;
  readonly mode: Mode;
  readonly state: 'working' | 'done' | 'undoing' | 'undone';
  /** Cells changed so far. */
  readonly changed: number;
  readonly startedAt: string;
  readonly planSha256: string;
}

/** How targets are looked at. */
export interface SurveyOptions {
  /** The look after a run: rows that came since it are counted as such, also with `again`. */
  readonly isAfterRun?: boolean;
  /** Told of every value that is left without a V4 id. */
  readonly onUnmapped?: OnUnmapped;
}

/** The context by which a survey judges. */
export function surveyContext(context: ApplyContext, { isAfterRun = false }: SurveyOptions): ApplyContext {
  return isAfterRun ? { ...context, policy: { ...context.policy, again: false } } : context;
}

/** One place that holds targets: a file, or a database with its tables. */
export interface DataStore {
  /** Every run that the ledger there knows, oldest first. */
  runs(): Promise<readonly LedgerRun[]>;
  /** Looks, and changes nothing. */
  survey(options?: SurveyOptions): Promise<readonly TargetPlan[]>;
  /** Carries out what was agreed to, for the targets named in it. */
  write(agreed: readonly TargetPlan[], run: RunFacts): Promise<readonly Written[]>;
  /** Takes a run back; empty where it holds none of it. */
  undo(run: string): Promise<readonly Undone[]>;
  /** Checks a run, or with null every finished one. */
  verify(run: string | null): Promise<readonly Verified[]>;
  close(): Promise<void>;
}

/** How many changed or skipped rows are named; the rest is counted. */
export const NAMED_ROWS = 20;

/** Counts rows and keeps the names of the first few. */
export class NamedRows {
  #names: readonly string[] = [];
  #count = 0;

  get names(): readonly string[] {
    return this.#names;
  }

  get count(): number {
    return this.#count;
  }

  /** `rows` of them go by this name. */
  add(name: string, rows = 1): void {
    this.merge({ names: [name], count: rows });
  }

  merge({ names, count }: Pick<NamedRows, 'names' | 'count'>): void {
    this.#count += count;
    if (this.#names.length < NAMED_ROWS) this.#names = [...this.#names, ...names].slice(0, NAMED_ROWS);
  }
}
