import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { FileTarget } from '../../config/apply-targets.js';
import { blocks } from '../column-work.js';
import type { Mode, Note } from '../plan.js';
import { readSideCar } from './side-car.js';

/** What stands against rewriting a file whatever it holds. */
export function fileNotes(target: FileTarget, mode: Mode): Note[] {
  return [...namedTwice(target), ...linkNotes(target, mode), ...lostSideCar(target)];
}

/** A cell would get both results, one after the other. In NDJSON the reader sees where paths meet. */
function namedTwice({ kind, ids }: FileTarget): Note[] {
  const columns = ids.map(({ column }) => column);
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (kind !== 'csv' || twice === undefined) return [];
  return [blocks('named_twice', `${twice} is named twice: name it once.`)];
}

/** A file put in the place of a link would leave the one behind it as it was. */
function linkNotes({ file }: FileTarget, mode: Mode): Note[] {
  if (mode === 'new' || !lstatSync(file).isSymbolicLink()) return [];
  return [blocks('symbolic_link', `${file} is a symbolic link: name the file it leads to.`)];
}

const RUN_OF_BACKUP = /^\.(\d{8}-\d{6}-[0-9a-f]{4})\.v3$/;

/** An original beside a file that nothing tells of any more: the file may hold V4 ids. */
function lostSideCar({ file }: FileTarget): Note[] {
  if (readSideCar(file) !== null) return [];
  const name = basename(file);
  const found = readdirSync(dirname(file)).find(
    (one) => one.startsWith(name) && RUN_OF_BACKUP.test(one.slice(name.length)),
  );
  if (found === undefined) return [];
  const text = `${found} beside it is the original that a run kept, but ${name}.svc-migrate.json is gone: it may hold V4 ids. Bring that back, or move the original away.`;
  return [blocks('lost_side_car', text)];
}
