import type { ApplyResult } from '../apply/actions.js';
import {
  ledgerRunSchema,
  runVerificationSchema,
  undoResultSchema,
  writeResultSchema,
} from '../apply/context.js';
import { assertTargetKinds, type EmitRequest } from '../apply/emit/layouts.js';
import { blockingNoteSchema, idCountsSchema } from '../apply/judge-plan.js';
import {
  type Plan,
  policySchema,
  readPlan,
  remapSchema,
  renderPlan,
  targetPlanSchema,
} from '../apply/plan.js';
import { proposalSchema } from '../apply/scan/propose.js';
import { columnUnmappedSchema } from '../apply/unmapped.js';
import { type ApplyTarget, applyTargetSchema, filesOf, isTextFile } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { count } from '../report/report-schema.js';
import { runInThread } from '../runtime/threads.js';
import { writeOutput } from '../runtime/write-output.js';
import { addFlags, escapeJson, escapeLines, renderJson, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import * as z from '../zod.js';
import {
  type ApplyAction,
  type ApplyOptions,
  type ApplyRequest,
  assertSomeTargets,
  buildRequest,
  requestOfPlan,
  splitRun,
} from './apply-request.js';
import type { ApplyThread, ApplyThreadInput } from './apply-thread.js';
import { askYesNo, terminalOf } from './ask.js';
import type { plan, sql, write } from './catalogue/apply-commands.js';
import type { Given, GivenTo, Input, Io, RawOptions } from './command.js';
import { printText, writeResult } from './with-outputs.js';

/** What a command asks of the thread. */
interface Call {
  readonly config: Config;
  readonly request: ApplyRequest;
  /** The plan to carry out; null: one that is made now. */
  readonly agreed: Plan | null;
  /** Where the result goes as JSON. */
  readonly json: string | undefined;
}

/**
 * `apply plan`: exits with 0 if nothing blocks the plan, 1 if ids have no V4 id, 4 if the remap is incomplete, 6 if something
 * else blocks the plan.
 */
async function runPlan(given: GivenTo<typeof plan>, io: Io): Promise<number> {
  const { save } = given.options;
  const call = await prepare('plan', given, io);
  const result = await runJob(call, io);
  if (save !== undefined && result.plan !== undefined) await savePlan(save, result.plan, io);
  const isSaved = save !== undefined && result.exitCode === 0;
  const next = isSaved ? shellLine(['svc-migrate', 'apply', 'write', '--plan', save]) : result.next;
  await print({ ...result, next, text: save === '-' ? '' : result.text }, call, io);
  return result.exitCode;
}

async function savePlan(file: string, plan: Plan, io: Io): Promise<void> {
  await writeOutput({ target: file, chunks: () => [escapeJson(renderPlan(plan))] }, io);
}

/** `apply write`: exits as `apply plan`, and with 7 if it stopped part-way. */
async function runWrite(given: GivenTo<typeof write>, io: Io): Promise<number> {
  const { yes, plan: file, json } = given.options;
  const input = yes || json === '-' ? null : terminalOf(given, io);
  if (!yes && input === null)
    throw new SvcError('usage', 'apply write changes your data, and there is no terminal to ask on.', {
      hint: 'Say --yes, after a look at `svc-migrate apply plan`.',
    });
  const call = await prepare('write', given, io, file);
  const agreed = input === null ? call.agreed : await askForPlan(call, input, io);
  if (agreed === 'no') return 0;
  const isBlocked = typeof agreed === 'number';
  if (isBlocked) return agreed;
  return runAndPrint({ ...call, agreed }, io);
}

/** Shows the plan and asks. The plan that was agreed to; `no`; or the exit code of a plan that cannot be carried out. */
async function askForPlan(call: Call, input: Input, io: Io): Promise<Plan | 'no' | number> {
  const { request } = call;
  const planned = await runJob({ ...call, request: { ...request, action: 'plan' } }, io);
  const plan = call.agreed ?? planned.plan;
  if (plan === undefined || planned.isBlocked === true) {
    const { gate: _, targets: __, ...judged } = planned.json;
    const json = { ...judged, action: 'write', written: [] };
    await print({ ...planned, text: `${planned.text}Nothing was written.\n`, json }, call, io);
    return planned.exitCode;
  }
  await printText(escapeLines(planned.text), io);
  const cells = plan.targets.reduce((sum, { changes }) => sum + changes, 0);
  const places = plan.targets.filter(({ changes }) => changes > 0);
  const what = places.some(isTextFile) ? 'target' : 'table';
  const question = `Rewrite ${countOf(cells, 'cell')} in ${countOf(places.length, what)}?`;
  if (cells === 0 || (await askYesNo(question, input, io))) return plan;
  await printText('Nothing was written.\n', io);
  return 'no';
}

/** `apply sql`: exits as `apply plan`. */
async function runSql(given: GivenTo<typeof sql>, io: Io): Promise<number> {
  const { dialect, layout, output: folder, plan } = given.options;
  if (folder === undefined || folder === '-')
    throw new SvcError('usage', 'apply sql writes files: name their folder with --output.', {
      hint: `Such as \`svc-migrate apply sql ${dialect} --output sql\`.`,
    });
  return runAndPrint(await prepare('sql', given, io, plan, { dialect, layout, folder }), io);
}

function runner(action: ApplyAction) {
  return async (given: Given<ApplyOptions>, io: Io): Promise<number> =>
    runAndPrint(await prepare(action, given, io), io);
}

/** What each command of `apply` runs. */
export const runs = {
  plan: runPlan,
  write: runWrite,
  sql: runSql,
  /** Exits with 0 if every stored V3 id has a V4 id, otherwise with 1. */
  check: runner('check'),
  /** Exits with 0 if finished runs left what ledger and remap say, otherwise with 1. */
  verify: runner('verify'),
  find: runner('find'),
  /** Exits with 0 if all of the run was undone, 1 if rows that changed since were skipped, 7 if it stopped part-way. */
  undo: runner('undo'),
  runs: runner('runs'),
};

/** @throws SvcError `usage`, `config`, `bad_input` for a plan that cannot be used */
async function prepare(
  action: ApplyAction,
  { options, config: loadConfig }: Pick<Given<ApplyOptions>, 'options' | 'config'>,
  { env }: Pick<Io, 'env'>,
  planFile?: string,
  emit?: EmitRequest,
): Promise<Call> {
  const config = await loadConfig();
  const asked = buildRequest(action, options, { config, env, ...(emit === undefined ? {} : { emit }) });
  const agreed = planFile === undefined ? null : readPlan(planFile);
  const request = agreed === null ? asked : requestOfPlan(agreed, asked, config);
  assertSomeTargets(request.targets, config, env);
  if (emit !== undefined) assertTargetKinds(request.targets, emit);
  return { config, request, agreed, json: options.json };
}

/** The files of all targets that a command may read or write, however they are named: its outputs must not replace them. */
export function listInputs(raw: RawOptions, config: Config | null): readonly string[] {
  const given = (name: string) => (typeof raw[name] === 'string' ? raw[name] : undefined);
  const typed = Array.isArray(raw['targets']) ? raw['targets'].map(String) : [];
  const { words } = splitRun({ run: given('run'), targets: typed });
  const plan = given('plan');
  const known = [...(config?.apply.targets ?? []), ...(plan === undefined ? [] : targetsOfPlan(plan))];
  return [...words.flatMap((word) => filesOf({ file: word })), ...known.flatMap(filesOf)];
}

/** The targets of a saved plan; none if it cannot be read. */
function targetsOfPlan(file: string): readonly ApplyTarget[] {
  try {
    return readPlan(file).targets.map(({ definition }) => definition);
  } catch (error) {
    if (error instanceof SvcError) return [];
    throw error;
  }
}

async function runAndPrint(call: Call, io: Io): Promise<number> {
  const result = await runJob(call, io);
  await print(result, call, io);
  return result.exitCode;
}

/** Runs the job in a thread: long SQLite statements would keep the main thread from handling signals. */
async function runJob({ config, request, agreed }: Omit<Call, 'json'>, io: Io): Promise<ApplyResult> {
  io.onProgress({ kind: 'stage', name: `apply ${request.action}` });
  const module = new URL('./apply-thread.js', import.meta.url);
  const job: ApplyThreadInput['job'] = { config, request, agreed, isVerbose: io.verbose === true };
  const input = { job, env: { ...io.env }, width: io.width, startMs: io.clock.now() };
  try {
    return await runInThread<ApplyThread>({ name: 'apply', module }, io, input);
  } catch (error) {
    throw withPlace(error, request.source);
  }
}

/** The error with the place that options name added to the commands on runs in its hint. */
function withPlace(error: unknown, { isPlace, words }: ApplyRequest['source']): unknown {
  if (!isPlace || !(error instanceof SvcError) || error.hint === undefined) return error;
  const { code, message, facts, cause } = error;
  const hint = error.hint.replace(
    /`(svc-migrate apply (?:runs|undo \S+))`/g,
    (_, command: string) => `\`${command} ${shellLine(words)}\``,
  );
  return new SvcError(code, message, { hint, facts, cause });
}

async function print(
  { json, text, exitCode, next }: ApplyResult,
  { json: target }: Pick<Call, 'json'>,
  io: Io,
): Promise<void> {
  await writeResult(
    target,
    {
      json: () => renderJson({ ...json, exitCode, next: addFlags(next, io.flags ?? '') }),
      text: () => (text === '' ? '' : escapeLines(`${text}Next: ${next}\n`)),
    },
    io,
  );
}

const texts = z.array(z.string());
const result = {
  exitCode: z.exitCodeSchema,
  next: z.string().describe('The next step, usually a command.'),
};

const judged = {
  remap: remapSchema,
  policy: policySchema,
  ids: idCountsSchema,
  blocks: z.array(blockingNoteSchema).describe('What prevents writing.'),
  left: z.array(columnUnmappedSchema).describe('Values without a V4 id.'),
};
const targets = z.array(targetPlanSchema);

const written = z.array(writeResultSchema);
const place = z.strictObject({
  kind: z.string(),
  file: z.string().optional(),
  urlEnv: z.string().optional(),
  columns: z.array(proposalSchema),
  unseen: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

const action = <A extends string>(name: A) => ({ action: z.literal(name) });

/** The JSON of the commands of `apply`, by their names. */
export const schema = z.union([
  z.strictObject({
    ...action('plan'),
    gate: z
      .strictObject({ outcome: z.enum(['pass', 'fail', 'incomplete', 'not_ready']) })
      .describe('What check says of the remap.'),
    ...judged,
    targets,
    ...result,
  }),
  z.strictObject({ ...action('check'), ...judged, targets, ...result }),
  z.strictObject({
    ...action('write'),
    ...judged,
    runs: texts.optional().describe('Absent if the plan was refused.'),
    written,
    ...result,
  }),
  z.strictObject({
    ...action('verify'),
    verified: z.array(runVerificationSchema),
    unfinished: z.array(ledgerRunSchema),
    ...result,
  }),
  z.strictObject({
    ...action('find'),
    places: z.array(place),
    apply: z
      .strictObject({ targets: z.array(applyTargetSchema) })
      .describe('To paste into the configuration.'),
    ...result,
  }),
  z.strictObject({
    ...action('sql'),
    dialect: z.string(),
    layout: z.string(),
    folder: z.string(),
    run: z.string(),
    files: texts,
    remap: remapSchema,
    policy: policySchema,
    values: count.describe('Values in the SQL, with those that stay.'),
    ...result,
  }),
  z.strictObject({ ...action('sql'), ...judged, written, ...result }).describe('SQL that was refused.'),
  z.strictObject({ ...action('undo'), run: z.string(), undone: z.array(undoResultSchema), ...result }),
  z.strictObject({ ...action('runs'), runs: z.array(ledgerRunSchema), ...result }),
]);
