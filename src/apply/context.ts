import { type ApplyTarget, DEFAULT_APPLY } from '../config/apply-targets.js';
import type { Env, OnProgress } from '../domain.js';
import type { Db } from '../store/open.js';
import * as z from '../zod.js';
import type { SqlScript } from './emit/layouts.js';
import type { RemapIds } from './ids/remap-ids.js';
import { type Policy, policySchema, type TargetPlan } from './plan.js';
import type { PlaceSample } from './scan/column-sample.js';
import type { OnUnmapped } from './unmapped.js';

/** The remap that ids are looked up in. */
export interface RemapVersion {
  readonly sha256: string;
  readonly builtAt: string;
}

/** Batch sizes, timeouts and retries for the user's databases. */
export interface Tuning {
  /** Rows changed per transaction. */
  readonly batchRows: number;
  /** Longest wait for a lock. */
  readonly lockTimeoutMs: number;
  /** Time limit of a single statement on a database server; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Most attempts at a transaction that fails with a deadlock, a lock or a lost connection. */
  readonly attempts: number;
}

export const DEFAULT_TUNING: Tuning = { ...DEFAULT_APPLY, attempts: 6 };

/** What every step of an apply depends on. */
export interface ApplyContext {
  /** The svc-migrate database, read only. */
  readonly remap: Db;
  /** Its ids, verified. */
  readonly ids: RemapIds;
  readonly remapVersion: RemapVersion;
  readonly policy: Policy;
  /** Formats the command that undoes a run of these targets. */
  readonly formatUndo: (run: string) => string;
  readonly tool: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  readonly tuning: Tuning;
}

/** One run: a plan being carried out. */
export interface RunFacts {
  readonly run: string;
  /** SHA-256 of the agreed plan's text. */
  readonly planSha256: string;
  /** Whether the data must still be exactly as planned. If not, changes are accepted as long as they do not block the run. */
  readonly isExact: boolean;
}

const count = z.int().min(0);
const texts = z.array(z.string()).readonly();

/** What a run did to one target. */
export const writeResultSchema = z.strictObject({
  target: z.string(),
  /** The run that the changes belong to; an unfinished run keeps its name when it is continued. */
  run: z.string(),
  changed: count.describe('Cells that the run has changed so far, also by earlier writes.'),
  /** Planned cells that another program changed first; they are not touched. The first few, and how many. */
  skipped: texts,
  skippedCount: count,
  /** Whether an earlier run had already done everything. */
  alreadyDone: z.boolean(),
});
export type WriteResult = Readonly<z.output<typeof writeResultSchema>>;

/** What an undo did to one target. */
export const undoResultSchema = z.strictObject({
  target: z.string(),
  restored: count,
  /** Rows that no longer hold what the run wrote; they are not touched. The first few, and how many. */
  changedSince: texts,
  changedSinceCount: count,
});
export type UndoResult = Readonly<z.output<typeof undoResultSchema>>;

/** The result of recomputing one target from ledger and remap. */
export const runVerificationSchema = z.strictObject({
  target: z.string(),
  run: z.string(),
  checked: count,
  /** Rows that contradict ledger and remap: the first few, and how many. */
  wrong: texts,
  wrongCount: count,
  /** Rows that another program changed or removed since: the first few, and how many. */
  changedSince: texts,
  changedSinceCount: count,
  /** Empty cells of new columns whose ids came after the run and map: the next write fills them. */
  cameSince: count,
  /** Why the target could not be recomputed; null if it was. */
  notChecked: z.string().nullable(),
  /** Whether cells were compared with what the run wrote alone, because the remap is another one since. */
  byLedgerAlone: z.boolean(),
});
export type RunVerification = Readonly<z.output<typeof runVerificationSchema>>;

/** A run as recorded in the ledger, one entry per target. In JSON it has no definition. */
export const ledgerRunSchema = z.strictObject({
  run: z.string(),
  target: z.string(),
  /** File or table. */
  place: z.string(),
  mode: policySchema.shape.mode,
  state: z.enum(['working', 'done', 'undoing', 'undone']),
  /** Cells changed so far. */
  changed: count,
  startedAt: z.string(),
  planSha256: z.string(),
});
export interface LedgerRun extends Readonly<z.output<typeof ledgerRunSchema>> {
  /** The target as configured for the run. */
  readonly definition: ApplyTarget;
}

/** Options of a survey. */
export interface SurveyOptions {
  /** The survey follows a run: rows added since then are counted as such even with `again`. */
  readonly isAfterRun?: boolean;
  /** Called for every value that is left without a V4 id. */
  readonly onUnmapped?: OnUnmapped | undefined;
}

/** A file, or the tables of one database, that targets name. */
export interface DataStore {
  /** Every run in its ledger, oldest first. */
  runs(): Promise<readonly LedgerRun[]>;
  /** Plans the targets without changing anything. */
  survey(options?: SurveyOptions): Promise<readonly TargetPlan[]>;
  /** Samples the columns of the place, or of one of its tables. */
  readonly sample: (table: string | null) => Promise<PlaceSample>;
  /** Carries out the agreed plans. */
  write(agreed: readonly TargetPlan[], run: RunFacts): Promise<readonly WriteResult[]>;
  /** Renders the agreed plans as SQL, where the place is a database. */
  readonly emit?: (agreed: readonly TargetPlan[], run: RunFacts) => Promise<SqlScript>;
  /** Undoes a run. Returns an empty list if the run changed nothing here. */
  undo(run: string): Promise<readonly UndoResult[]>;
  /** Verifies a run; null: every finished run. */
  verify(run: string | null): Promise<readonly RunVerification[]>;
  close(): Promise<void>;
}

/** Most changed or skipped rows that are listed by name; the rest are only counted. */
export const MAX_NAMED_ROWS = 20;

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

  /** Counts `rows` rows under one name. */
  add(name: string, rows = 1): void {
    this.merge({ names: [name], count: rows });
  }

  merge({ names, count }: Pick<NamedRows, 'names' | 'count'>): void {
    this.#count += count;
    if (this.#names.length < MAX_NAMED_ROWS)
      this.#names = [...this.#names, ...names].slice(0, MAX_NAMED_ROWS);
  }
}
