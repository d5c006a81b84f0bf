import { SvcError } from '../errors.js';
import * as z from '../zod.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

/** The steps of a cutover, in their order. `verify_targets` checks tables and files, `verify_pairs` reads both APIs. */
export const CUTOVER_STEPS = [
  'export_v3',
  'export_v4',
  'remap',
  'check',
  'apply',
  'verify_targets',
  'verify_pairs',
  'flip',
  'recheck',
] as const;
export type CutoverStep = (typeof CUTOVER_STEPS)[number];

/** The command whose work a step does, for people. */
export const STEP_TITLES: Readonly<Record<CutoverStep, string>> = {
  export_v3: 'export v3',
  export_v4: 'export v4',
  remap: 'remap',
  check: 'check',
  apply: 'apply --again',
  verify_targets: 'apply --verify',
  verify_pairs: 'verify',
  flip: 'flip',
  recheck: 'recheck',
};

const stepSchema = z.object({
  /** `running`: started, and not known to have ended. */
  state: z.enum(['running', 'done', 'failed']),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  exitCode: z.int().nullable(),
  /** The result, as a sentence. */
  note: z.string(),
});
export type CutoverStepState = Readonly<z.output<typeof stepSchema>>;

const cutoverSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  startedAt: z.string(),
  steps: z.partialRecord(z.enum(CUTOVER_STEPS), stepSchema),
  /** What `check` judged: the digests of the remap and of the settings. */
  judged: z.object({ remap: z.string(), settings: z.string() }).nullable(),
  /** The digest of the remap whose pairs `verify_pairs` read, and the size of the sample. */
  verified: z.string().nullable(),
  /** Absolute path of the report that `check` wrote. */
  report: z.string().nullable(),
  /** The file of `--flag` that the flip was started with; null with another way to flip. */
  flag: z.string().nullable().default(null),
  /** Runs of `apply` that changed something, oldest first. */
  runs: z.array(z.string()).readonly(),
});
/** The stored state of a cutover. */
export type Cutover = Readonly<z.output<typeof cutoverSchema>>;

const KEY = 'cutover';

/**
 * The last cutover that was started; null if none was.
 *
 * @throws SvcError `newer_database`, `corrupt_database`
 */
export function readCutover(db: Db): Cutover | null {
  const text = readMeta(db, KEY);
  if (text === null) return null;
  const parsed = cutoverSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const sentence = 'The database holds a cutover that was started by another version of svc-migrate.';
  throw new SvcError('newer_database', sentence, {
    hint: 'Finish it with that version.',
    cause: parsed.error,
  });
}

/** Saves a cutover in a transaction of its own. */
export function saveCutover(db: Db, cutover: Cutover): void {
  db.transaction(() => writeMeta(db, KEY, JSON.stringify(cutover))).immediate();
}

/** The last step that was started, and whether the cutover is finished. */
export function progressOf({ steps }: Cutover) {
  const step = CUTOVER_STEPS.findLast((name) => steps[name] !== undefined) ?? null;
  const state = (step === null ? null : steps[step]?.state) ?? null;
  return { step, state, isFinished: step === 'recheck' && state === 'done' };
}

/** Whether the application already reads V4 ids; `unknown` from the start of the flip until it has succeeded. */
export function flippedState(cutover: Cutover | null): 'no' | 'unknown' | 'yes' {
  const state = cutover?.steps.flip?.state;
  return state === undefined ? 'no' : state === 'done' ? 'yes' : 'unknown';
}
