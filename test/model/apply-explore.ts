import { campaign } from '../support/campaign.js';
import { type Played, playSession, type Session, type Subject } from './apply-model.js';
import { type Disk, initialDisk, keyOfDisk, type World } from './apply-state.js';

/** Sessions that follow each other, at most. */
const MAX_SESSIONS = campaign({ small: 3, full: 4 });

/** A session that begins from a state, with what the model says of it. */
export interface Edge {
  /** Sessions before it. */
  readonly depth: number;
  readonly from: string;
  readonly session: Session;
  readonly played: Played;
  /** The state it ends in. */
  readonly to: string;
}

export interface Explored {
  readonly start: string;
  readonly states: ReadonlyMap<string, Disk>;
  /** Every session from every state; those that lead to a state first come before those that begin there. */
  readonly edges: readonly Edge[];
  /** What breaks a promise, with the session that does. */
  readonly violations: readonly string[];
}

interface Place {
  readonly disk: Disk;
  readonly isDisturbed: boolean;
}

/**
 * Walks through every state that can be reached, breadth first. Another program writes at most once. With a planted
 * fault it stops where the fault is found.
 */
export function explore(subject: Subject, world: World): Explored {
  const keyOf = ({ disk, isDisturbed }: Place) => `${isDisturbed} ${keyOfDisk(disk)}`;
  const first = { disk: initialDisk(world), isDisturbed: false };
  const states = new Map<string, Disk>([[keyOf(first), first.disk]]);
  const edges: Edge[] = [];
  const violations: string[] = [];
  let places: Place[] = [first];
  for (let depth = 0; depth < MAX_SESSIONS && places.length > 0; depth += 1) {
    const next: Place[] = [];
    for (const place of places) {
      const from = keyOf(place);
      if (subject.fault !== null && violations.length > 0) break;
      for (const session of sessionsFrom(subject, world, place)) {
        const played = playSession(subject, place.disk, session);
        const reached = {
          disk: played.trace.at(-1) ?? place.disk,
          isDisturbed: place.isDisturbed || session.foreign !== null,
        };
        const to = keyOf(reached);
        edges.push({ depth, from, session, played, to });
        violations.push(...findViolations(world, session, played).map((text) => `${text} (${from})`));
        if (states.has(to)) continue;
        states.set(to, reached.disk);
        next.push(reached);
      }
    }
    places = next;
  }
  return { start: keyOf(first), states, edges, violations };
}

/** Every session that can begin: each command, dying before each of its transactions, disturbed before each. */
function sessionsFrom(subject: Subject, world: World, { disk, isDisturbed }: Place): Session[] {
  const run = `run-${disk.units.length + 1}`;
  const undone = disk.units.filter(({ state }) => state !== 'undone');
  const commands = [
    { command: 'apply', run } as const,
    // Without an earlier run it is what `apply` is.
    ...(undone.length === 0 ? [] : [{ command: 'again', run } as const]),
    ...undone.map((unit) => ({ command: 'undo', run: unit.run }) as const),
  ];
  const writes = isDisturbed ? [] : world.foreign;
  return commands.flatMap((command): Session[] => {
    const calm = { ...command, dieBefore: null, foreign: null };
    const count = playSession(subject, disk, calm).trace.length - 1;
    return [null, ...range(1, count)].flatMap((dieBefore): Session[] => {
      const moments = range(0, dieBefore === null ? count : dieBefore + 1);
      const disturbed = writes.flatMap((write) =>
        moments.map((before) => ({ ...command, dieBefore, foreign: { before, write } })),
      );
      return [{ ...command, dieBefore, foreign: null }, ...disturbed];
    });
  });
}

/** `from` up to `until`, without it. */
function range(from: number, until: number): number[] {
  return Array.from({ length: Math.max(0, until - from) }, (_, at) => from + at);
}

/** The promises that a session breaks. */
function findViolations(world: World, session: Session, { trace, isComplete }: Played): string[] {
  const end = trace.at(-1);
  const says = (text: string) => `${world.name}, ${session.command} ${session.run}: ${text}`;
  const all = trace.flatMap((disk) => [...mappedOnce(world, disk), ...canBeUndone(disk)]);
  if (isComplete && end !== undefined) {
    if (end.units.every(({ state }) => state === 'undone')) all.push(...isRestored(end));
    const before = trace[0]?.units ?? [];
    const takesAll =
      session.command === 'again'
        ? before.every(({ state }) => state === 'done' || state === 'undone')
        : before.every(({ state }) => state === 'undone');
    if (session.command !== 'undo' && takesAll && session.foreign === null)
      all.push(...isExhaustive(world, end));
  }
  return [...new Set(all)].map(says);
}

/** Each cell holds what its owner or another program put there, or what that maps to: never a second image. */
function mappedOnce({ remap }: World, { cells }: Disk): string[] {
  return [...cells].flatMap(([key, { value, base, mapped }]) => {
    const expected = mapped === 0 ? base : mapped === 1 ? remap.get(base) : undefined;
    return value === expected ? [] : [`row ${key} holds ${value}, mapped ${mapped} times from ${base}`];
  });
}

/** The ledger knows every cell that was rewritten. */
function canBeUndone({ cells, units }: Disk): string[] {
  const known = units.flatMap(({ entries, done }) => entries.filter(({ id }) => id <= done));
  return [...cells]
    .filter(
      ([key, { mapped, value }]) => mapped > 0 && !known.some((one) => one.key === key && one.new === value),
    )
    .map(([key]) => `row ${key} was rewritten and no entry says so`);
}

/** Nothing is left of runs that were taken back. */
function isRestored({ cells }: Disk): string[] {
  return [...cells].filter(([, { mapped }]) => mapped !== 0).map(([key]) => `row ${key} was not restored`);
}

/** A run that takes all there is leaves no id that maps and that no run has entered. */
function isExhaustive({ remap }: World, { cells, units }: Disk): string[] {
  const entered = new Set(units.flatMap(({ entries }) => entries.map(({ key }) => key)));
  return [...cells]
    .filter(([key, { value, mapped }]) => mapped === 0 && remap.has(value) && !entered.has(key))
    .map(([key]) => `row ${key} still holds an id that maps`);
}
