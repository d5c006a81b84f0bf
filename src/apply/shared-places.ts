import { lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { blocks } from './column-work.js';
import type { Note, TargetPlan } from './plan.js';

/** A file's identity however its name is spelled: what it is on disk, or where it would be. */
export function fileIdentity(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats !== undefined) return `${stats.dev}:${stats.ino}`;
  const isLink = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  const folder = dirname(file);
  if (isLink || statSync(folder, { throwIfNoEntry: false }) === undefined) return file;
  return join(realpathSync(folder), basename(file));
}

interface Place {
  readonly target: TargetPlan;
  readonly input: string;
  /** What is written. */
  readonly output: string;
}

/**
 * Plans with what keeps them apart: two targets never write one file or table, nor one what another reads, however
 * their names are spelled. `storeOf`: targets of one store were compared there.
 */
export function refuseSharedPlaces(
  plans: readonly TargetPlan[],
  storeOf: ReadonlyMap<string, number>,
): TargetPlan[] {
  const places = plans.map((target): Place => {
    const { definition, output, place } = target;
    const input = definition.kind === 'postgres' ? place : fileIdentity(definition.file);
    return { target, input, output: output === null ? input : fileIdentity(output) };
  });
  return places.map((one) => {
    const notes = places
      .slice(0, places.indexOf(one))
      .filter((other) => storeOf.get(other.target.name) !== storeOf.get(one.target.name))
      .flatMap((other) => sharedNotes(one, other));
    return notes.length === 0 ? one.target : { ...one.target, notes: [...one.target.notes, ...notes] };
  });
}

function sharedNotes(one: Place, other: Place): Note[] {
  const { name } = other.target;
  if (one.input === other.input)
    return [blocks('same_file', `It is what target ${name} names too: name all its columns there.`)];
  if (one.output === other.output)
    return [blocks('same_output', `${one.target.output} is the output of target ${name} too: name another.`)];
  if (one.output === other.input || one.input === other.output)
    return [
      blocks('same_output', `The output of one is the input of the other, ${name}: name another output.`),
    ];
  return [];
}
