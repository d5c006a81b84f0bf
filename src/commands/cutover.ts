import { existsSync } from 'node:fs';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { judgeAge, readAge } from '../report/gate.js';
import { writeText } from '../runtime/write-output.js';
import { type CutoverStep, readCutover } from '../store/cutover.js';
import type { Db } from '../store/open.js';
import { findOpenLists, isRemapStale, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap.js';
import { listStreams } from '../store/streams.js';
import { escapeJson, escapeLines } from '../text/escape.js';
import { wrapLines } from '../text/text-layout.js';
import { type CutoverScene, type CutoverStanding, carryOut } from './carry-out-cutover.js';
import type { Given, Io } from './command.js';
import { isOwnFlag } from './cutover-flip.js';
import { type CutoverOptions, parseCutoverOptions, resumeCommand } from './cutover-options.js';
import { applyNow, assertApplied, findAfterwards, findWayBack, verifiedPairs } from './cutover-steps.js';
import { readDatabase } from './database.js';
import { configWithMaxWait } from './option-values.js';
import { type CutoverFacts, isToDo, planCutover } from './plan-cutover.js';
import {
  type CutoverResult,
  describeBegin,
  describeKept,
  renderCutoverEnd,
  renderCutoverJson,
} from './render-cutover.js';
import { withJson, writeResult } from './with-outputs.js';

/**
 * `cutover`: shows the steps of a cutover, or with `--yes` carries them out from the first that is not done. Exits with
 * 0 if all are done, otherwise with the code of the step that stopped it.
 *
 * @throws SvcError `usage`, `config`, `bad_input`, `locked` (another cutover runs), and as `readDatabase` does
 */
export async function runCutover(given: Given, io: Io): Promise<number> {
  return withJson(given, io, async (_, target, within) => {
    const config = await configWithMaxWait(given);
    const options = await parseCutoverOptions(given, config, within);
    const say: CutoverScene['say'] = async (lines) => {
      if (target !== '-') await writeText(within.stdout, [wrapLines(lines, within.width)]);
      else for (const text of lines) within.onProgress({ kind: 'note', level: 'info', text });
    };
    const scene: CutoverScene = { given, config, options, io: within, say };
    const result = await (options.yes ? carryOut(scene, () => readStanding(scene)) : showPlan(scene));
    // A signal that stopped a step must not stop its result as well.
    await writeResult(
      target,
      {
        json: () => escapeJson(renderCutoverJson(result)),
        text: () => renderCutoverEnd(result, within),
      },
      { ...within, signal: new AbortController().signal },
    );
    return result.exitCode;
  });
}

async function readStanding(scene: CutoverScene): Promise<CutoverStanding> {
  const { config, options, io } = scene;
  const { flip, word, restart } = options;
  const skipped: CutoverFacts['skipped'] = {
    ...(config.apply.targets.length > 0 ? {} : { apply: NO_TARGETS, verify_targets: NO_TARGETS }),
    ...(options.sample === null ? { verify_pairs: 'it was not asked for (--sample)' } : {}),
  };
  const empty = { cutover: null, outdated: {} };
  const { cutover, outdated } = existsSync(config.database)
    ? await readDatabase(config, async (db) => readOutdated(db, config, options, io.clock.now()))
    : empty;
  const file = options.flipPlace;
  const isSameFlag = flip === 'flag' && cutover?.flag === file;
  const plan = planCutover({ steps: cutover?.steps ?? {}, skipped, outdated, isSameFlag, word, restart });
  if (plan.refusal !== null) throw new SvcError('usage', plan.refusal.sentence, { hint: plan.refusal.hint });
  const flipAction = plan.steps.find(({ name }) => name === 'flip')?.action;
  // A flag of this cutover whose flip was not begun is newer than the database, which was restored.
  const isOwn = () => flipAction === 'again' && isOwnFlag(file, cutover?.id ?? '');
  if (flip === 'flag' && (flipAction === 'run' || flipAction === 'again') && existsSync(file) && !isOwn())
    throw new SvcError('usage', `${file} exists already: the application may be flipped.`, {
      hint: 'Remove it, or name another file.',
    });
  if (cutover !== null && (flipAction === 'again' || flipAction === 'settle'))
    await assertApplied(scene, cutover);
  return { cutover, plan };
}

const NO_TARGETS = 'no targets are configured';

/** Which steps that were done no longer hold, and why. */
function readOutdated(db: Db, config: Config, { settings, report, sample }: CutoverOptions, nowMs: number) {
  const cutover = readCutover(db);
  const facts = readReadiness(db, config, EVERYTHING);
  const isOld = !judgeAge(readAge(listStreams(db), nowMs).ms, config.maxAgeMs).pass;
  const open = findOpenLists(facts);
  const sha256 = facts.lastRun?.sha256 ?? '';
  const changes: readonly (readonly [CutoverStep, boolean, string])[] = [
    [
      'export_v3',
      isOld || open.some(({ next }) => next.endsWith('v3')),
      'its data are incomplete or too old',
    ],
    [
      'export_v4',
      isOld || open.some(({ next }) => next.endsWith('v4')),
      'its data are incomplete or too old',
    ],
    ['remap', sha256 === '' || isRemapStale(facts), 'the exported data or its input files changed'],
    ['check', cutover?.judged?.remap !== sha256, 'another remap was built'],
    ['check', cutover?.judged?.settings !== settings, 'the limits or the baseline changed'],
    ['check', cutover?.report !== report || !existsSync(report), 'its report is not there'],
    ['apply', true, 'rows may have come since'],
    ['verify_pairs', cutover?.verified !== verifiedPairs(sha256, sample), 'other pairs are to be read'],
  ];
  const outdated: Partial<Record<CutoverStep, string>> = {};
  for (const [step, isChanged, why] of changes) if (isChanged) outdated[step] ??= why;
  return { cutover, outdated };
}

async function showPlan(scene: CutoverScene): Promise<CutoverResult> {
  const { given, options, say } = scene;
  const { cutover, plan } = await readStanding(scene);
  let planned: Pick<CutoverResult, 'exitCode' | 'applyPlan'> & { readonly next: string | null } = {
    exitCode: 0,
    next: null,
    applyPlan: null,
  };
  for (const step of plan.steps) {
    await say(isToDo(step) ? [describeBegin(step, options)] : describeKept(step, cutover));
    if (step.name !== 'apply' || !isToDo(step)) continue;
    const { lines, ...outcome } = await planApply(scene);
    await say(lines);
    planned = outcome;
  }
  const word = options.word === null ? [] : ['--flip', options.word];
  const resume = resumeCommand(given, '--yes', ...word, ...(options.restart ? ['--restart'] : []));
  const asks = plan.steps.some(({ action }) => action === 'ask');
  const isFinished = !plan.steps.some(isToDo);
  const ask = resumeCommand(given, '--flip', 'done');
  const ready = isFinished ? await findAfterwards(scene) : asks ? ask : resume;
  const undo = await findWayBack(scene, cutover);
  return { plan, options, cutover, stop: null, undo, ...planned, next: planned.next ?? ready, resume };
}

async function planApply(scene: CutoverScene) {
  try {
    const { text, json, exitCode, next } = await applyNow(scene, { yes: false, again: true });
    const lines = escapeLines(text).trimEnd().split('\n');
    const shown = lines.map((line) => (line === '' ? '' : `     ${line}`));
    return { lines: shown, exitCode, next: exitCode === 0 ? null : next, applyPlan: json };
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'interrupted' || error.code === 'internal')
      throw error;
    // Exports and remap are steps before it.
    const isEarly = error.code === 'incomplete' || !existsSync(scene.config.database);
    const lines = [`     its plan is not known yet: ${error.message}`];
    return { lines, exitCode: isEarly ? 0 : error.exitCode, next: null, applyPlan: null };
  }
}
