import type { ReportLimit } from '../domain.js';
import { countOf, groupDigits } from '../text/numbers.js';
import * as z from '../zod.js';
import { SEVERAL } from './ids/model-ids.js';
import {
  type Earlier,
  type Note,
  noteSchema,
  type Plan,
  type PlanCount,
  type Policy,
  type TargetPlan,
} from './plan.js';
import { describeUnmapped, listEarlierUnmapped } from './unmapped.js';

export const blockingNoteSchema = z.strictObject({ target: z.string(), note: noteSchema });
export type BlockingNote = Readonly<z.output<typeof blockingNoteSchema>>;

const count = z.int().min(0);

/** Counts of the ids in a plan. */
export const idCountsSchema = z.strictObject({
  stored: count.describe(
    'Distinct ids of each column and outcome: an id of several regions counts for each, and one of several companies for each outcome it has.',
  ),
  mapped: count,
  missing: count,
  unknown: count,
  done: count.describe('Cells that earlier runs rewrote, by the ledger.'),
  left: count.describe('Cells that an unfinished run still has to rewrite.'),
  since: count.describe('Cells without a ledger entry, skipped by a finished run or added since.'),
  changedSince: count.describe(
    'Cells that earlier runs rewrote and that do not hold what ledger and remap say.',
  ),
});
export type IdCounts = Readonly<z.output<typeof idCountsSchema>>;

/** The verdict on a plan. Exit code 0: nothing blocks it; 1: ids do not map; 6: something else blocks it. */
export interface PlanVerdict {
  readonly exitCode: 0 | 1 | 6;
  readonly ids: IdCounts;
  readonly blocks: readonly BlockingNote[];
}

/** Whether a plan can be carried out. */
export function judgePlan(plan: Plan): PlanVerdict {
  return verdictOf(plan, findBlocks(plan));
}

/** Notes on the user and server of this session, which do not block emitted SQL: another user may run it, on another server. */
const ABOUT_THIS_SESSION: ReadonlySet<string> = new Set([
  'privilege',
  'read_only_server',
  'read_only_session',
  'read_only_file',
]);

/** Whether a plan can be written as SQL. */
export function judgeEmit(plan: Plan): PlanVerdict {
  return verdictOf(
    plan,
    findBlocks(plan).filter(({ note }) => !ABOUT_THIS_SESSION.has(note.code)),
  );
}

/** Notes that block writing but not checking; a gate often runs as a user with read access only. */
const ABOUT_WRITING: ReadonlySet<string> = new Set([
  'privilege',
  'read_only_server',
  'read_only_session',
  'read_only_file',
  'replica_identity',
  'no_room',
  'partition',
  'typed_table',
  'output_exists',
  'other_output',
  'same_output',
  'new_column_exists',
  'new_column_gone',
  'new_column_name',
  'no_key',
  'other_key',
  'not_null',
  'collision',
  'foreign_key',
  'rules',
  'inheritance',
  'generated_column',
]);

/** Notes that keep the ledger from identifying the rows of an earlier run. */
const ABOUT_THE_KEY: ReadonlySet<string> = new Set(['no_key', 'other_key']);

/**
 * Decides the gate: whether every stored id maps. Unreadable targets, targets without any id, and ids added after a
 * finished run fail it.
 */
export function judgeCheck(plan: Plan, age: ReportLimit): PlanVerdict {
  const rewritten = new Set(
    plan.targets.filter(({ earlier }) => earlier.run !== null).map(({ name }) => name),
  );
  const blocks = findBlocks(plan).filter(
    ({ target, note: { code } }) =>
      !ABOUT_WRITING.has(code) || (ABOUT_THE_KEY.has(code) && rewritten.has(target)),
  );
  const verdict = verdictOf(plan, blocks);
  const { stored, done, changedSince } = verdict.ids;
  const more: BlockingNote[] = [];
  if (!age.pass) {
    const old = age.detail ?? `the exports are ${age.actual} h old, ${age.allowed} h are allowed (maxAge)`;
    const text = `The remap is too old: ${old}.`;
    more.push({ target: 'remap', note: { level: 'blocks', code: 'max_age', text } });
  }
  for (const { name, earlier } of plan.targets) {
    if (earlier.changedSince > 0 && plan.policy.others === 'fail') {
      const text = `${describeChanged(earlier)}.`;
      more.push({ target: name, note: { level: 'blocks', code: 'changed_since', text } });
    }
    if (earlier.state !== 'unfinished') continue;
    const text = `Run ${earlier.run} is unfinished: ${earlier.left} cells are still to be rewritten.`;
    more.push({ target: name, note: { level: 'blocks', code: 'unfinished', text } });
  }
  for (const one of listEarlierUnmapped(plan)) {
    if (one.isAccepted || one.kind === 'changed_since') continue;
    more.push({ target: one.target, note: { level: 'blocks', code: 'since', text: describeUnmapped(one) } });
  }
  if (stored + done + changedSince === 0 && blocks.length === 0) {
    const text = 'The targets hold no id at all: nothing was proved.';
    more.push({ target: 'all targets', note: { level: 'blocks', code: 'no_ids', text } });
  }
  return more.length === 0 ? verdict : verdictOf(plan, [...blocks, ...more]);
}

/** Notes on the ids themselves, not on where they are stored. */
const ABOUT_IDS: ReadonlySet<string> = new Set([
  'missing',
  'unknown',
  'collision',
  'since',
  'changed_since',
  'no_ids',
  'max_age',
  'unfinished',
]);

function verdictOf(plan: Plan, blocks: readonly BlockingNote[]): PlanVerdict {
  return { exitCode: exitOf(blocks), ids: countIds(plan), blocks };
}

function exitOf(blocks: readonly BlockingNote[]): PlanVerdict['exitCode'] {
  if (blocks.length === 0) return 0;
  return blocks.every(({ note }) => ABOUT_IDS.has(note.code)) ? 1 : 6;
}

function countIds(plan: Plan): IdCounts {
  const counts = plan.targets.flatMap(({ columns }) =>
    columns.flatMap((column) => (column.platformIdOf === undefined ? column.counts : [])),
  );
  const mapped = sum(counts.filter((count) => count.name === 'mapped'));
  const missing = sum(counts.filter(isMissing));
  const unknown = sum(counts.filter(isUnknown));
  const total = (pick: 'done' | 'left' | 'since' | 'changedSince') =>
    plan.targets.reduce((all, { earlier }) => all + earlier[pick], 0);
  const isInPlace = plan.policy.mode === 'in_place';
  return {
    stored: mapped + missing + unknown,
    mapped,
    missing,
    unknown,
    // In new columns and new files these ids are already counted above.
    done: isInPlace ? total('done') : 0,
    left: isInPlace ? total('left') : 0,
    since: total('since'),
    changedSince: total('changedSince'),
  };
}

/** `Changed since: 3 cells do not hold what ledger and remap say (row 4, row 7, row 8)`. */
export function describeChanged(
  { changedSince: count, changedRows: rows }: Earlier,
  unit: 'cell' | 'file' = 'cell',
): string {
  const more = count > rows.length ? `, … and ${groupDigits(count - rows.length)} more` : '';
  const does = count === 1 ? 'does' : 'do';
  return `Changed since: ${countOf(count, unit)} ${does} not hold what ledger and remap say (${rows.join(', ')}${more})`;
}

/** The blocking notes of all targets. */
export function findBlocks(plan: Plan): BlockingNote[] {
  return plan.targets.flatMap((target) =>
    [...target.notes, ...judgeColumns(target, plan.policy)]
      .filter((note) => note.level === 'blocks')
      .map((note) => ({ target: target.name, note })),
  );
}

/** Blocking notes for ids that do not map, under the policy. */
export function judgeColumns(target: Pick<TargetPlan, 'columns'>, policy: Policy): Note[] {
  return target.columns.flatMap(({ column, counts }) => {
    const notes: Note[] = [];
    const missing = sum(counts.filter(isMissing));
    const several = sum(counts.filter(({ name }) => name === SEVERAL));
    const unknown = sum(counts.filter(isUnknown)) - several;
    if (missing > 0 && policy.missing === 'fail') {
      notes.push({ level: 'blocks', code: 'missing', text: describeMissing(column, counts) });
    }
    if (several > 0 && policy.unknown === 'fail') {
      const text = `${column}: ${several} ${several === 1 ? 'value is a V3 id' : 'values are V3 ids'} of several regions or companies (name the column that tells them apart as regionColumn or companyColumn in its entry of ids).`;
      notes.push({ level: 'blocks', code: 'unknown', text });
    }
    if (unknown > 0 && policy.unknown === 'fail') {
      const text = `${column}: ${unknown} ${unknown === 1 ? 'value is not a V3 id' : 'values are not V3 ids'} of this model (--unknown keep allows them).`;
      notes.push({ level: 'blocks', code: 'unknown', text });
    }
    return notes;
  });
}

/** `id: 3 ids have no certain V4 id, 2 are of deleted records …`, and the options that allow them. */
function describeMissing(column: string, counts: readonly PlanCount[]): string {
  const missing = counts.filter(isMissing);
  const deleted = sum(missing.filter(({ name }) => HAS_V4_ID.test(name)));
  const others = sum(missing) - deleted;
  const ofOthers = `${others} ${others === 1 ? 'id has' : 'ids have'} no certain V4 id`;
  const ofDeleted = `${deleted} ${deleted === 1 ? 'id is' : 'ids are'} of deleted records that have a V4 id`;
  const parts = [...(others === 0 ? [] : [ofOthers]), ...(deleted === 0 ? [] : [ofDeleted])];
  const map = deleted === 0 ? '' : '--map-deleted maps those of deleted records; ';
  return `${column}: ${parts.join(', ')} (${map}--missing keep or null allows them).`;
}

/** Categories of deleted records whose V4 id is known. */
const HAS_V4_ID = /^deleted\/(parent_)?deleted_in_(v3|v4|both)$/;

export function isMissing({ name }: PlanCount): boolean {
  return name.includes('/') && !isUnknown({ name });
}

export function isUnknown({ name }: Pick<PlanCount, 'name'>): boolean {
  return name.startsWith('unknown/');
}

/** The total of distinct ids. */
export function sum(counts: readonly PlanCount[]): number {
  return counts.reduce((total, count) => total + count.ids, 0);
}

/** What may differ between two plans of the same data. */
const INCIDENTAL: ReadonlySet<string> = new Set(['tool', 'changes', 'builtAt', 'atLeast', 'samples']);

/** The differences between the agreed plan and a plan made now; empty if there are none. */
export function comparePlans(agreed: Plan, now: Plan): string[] {
  const [before, after] = [new Map(listValues(agreed)), new Map(listValues(now))];
  const show = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => `${path}: was ${show(before.get(path))}, is ${show(after.get(path))}`);
}

/** The values inside a plan with their paths. Items of a list go by their names, so that a path says where it is. */
function* listValues(value: unknown, path: readonly string[] = []): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null) yield [path.join(' › '), value];
  else if (Array.isArray(value)) {
    const names = new Set<string>();
    for (const [at, item] of value.entries()) {
      const { name, column, code } = named.safeParse(item).data ?? {};
      const own = [name, column, code].find((one) => one !== undefined && !names.has(one)) ?? `${at + 1}`;
      names.add(own);
      yield* listValues(item, [...path, own]);
    }
  } else {
    for (const [key, member] of Object.entries(value))
      if (!INCIDENTAL.has(key)) yield* listValues(member, [...path, key]);
  }
}

const named = z.object({ name: z.string(), column: z.string(), code: z.string() }).partial();
