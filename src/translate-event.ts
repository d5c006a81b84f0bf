import { findValues, type Hit, parseJsonPath } from './json/json-path.js';

/** A translated event, and what is known of each id. */
export interface TranslatedEvent<Event, Found> {
  /** The event with V4 ids, and null in place of ids without a V4 id, so that no V3 id is taken for a V4 id. */
  readonly event: Event;
  /** Every id that was replaced, in the order of the event, with the path that selected it. */
  readonly ids: readonly (Found & { readonly path: string })[];
  /** Paths that selected nothing. */
  readonly missing: readonly string[];
  /** Whether each path selected something and each id has a V4 id. */
  readonly isComplete: boolean;
}

interface Ids {
  readonly v4Id: bigint | null;
}

/** Looks up the id that the path of this index selected; `isNumber`: the event holds it as a number. */
type Find<Found extends Ids> = (id: string, path: number, isNumber: boolean) => Found;

/**
 * Replaces ids in JSON text. Null and everything else stays as it is.
 *
 * @throws RangeError if a path is not a JSON path, or if two paths select one value; SyntaxError if the text is not JSON
 */
export function translateText<Found extends Ids>(
  text: string,
  paths: readonly string[],
  find: Find<Found>,
): TranslatedEvent<string, Found> {
  const bytes = Buffer.from(text);
  const hits = findHits(bytes, paths);
  const parts: string[] = [];
  let at = 0;
  const ids = hits.flatMap(({ path, kind, start, end }, index) => {
    const name = paths[path] ?? '';
    if (hits[index - 1]?.start === start) throw new RangeError(`Two paths select one value: ${name}.`);
    if (kind === 'null') return [];
    const quote = kind === 'string' ? '"' : '';
    const written = bytes.toString('utf8', start + quote.length, end - quote.length);
    const found = find(written, path, kind === 'number');
    const id = found.v4Id === null ? 'null' : `${quote}${found.v4Id}${quote}`;
    parts.push(bytes.toString('utf8', at, start), id);
    at = end;
    return [{ ...found, path: name }];
  });
  const missing = paths.filter((_, path) => !hits.some((hit) => hit.path === path));
  const isComplete = missing.length === 0 && ids.every(({ v4Id }) => v4Id !== null);
  return { event: parts.join('') + bytes.toString('utf8', at), ids, missing, isComplete };
}

/**
 * Replaces ids in a copy of a parsed event.
 *
 * @throws TypeError for numbers beyond 2^53, as old or as new id; as `translateText` does
 */
export function translateParsed<Event extends object, Found extends Ids>(
  event: Event,
  paths: readonly string[],
  find: Find<Found>,
): TranslatedEvent<Event, Found> {
  const exactly: Find<Found> = (id, path, isNumber) => {
    if (isNumber) assertExact(id);
    const found = find(id, path, isNumber);
    if (isNumber && found.v4Id !== null) assertExact(String(found.v4Id));
    return found;
  };
  const { event: text, ...result } = translateText(JSON.stringify(event), paths, exactly);
  const copy: Event = JSON.parse(text);
  return { ...result, event: copy };
}

function assertExact(id: string): void {
  if (Number.isSafeInteger(Number(id))) return;
  throw new TypeError(`${id} is not exact as a number: pass the event as JSON text.`);
}

function findHits(bytes: Uint8Array, paths: readonly string[]): readonly Hit[] {
  const parsed = paths.map((text) => {
    const path = parseJsonPath(text);
    if (path !== null) return path;
    throw new RangeError(`"${text}" is not a JSON path, such as $.invoice.id or $.lines[*].id.`);
  });
  try {
    return findValues(bytes, 0, bytes.length, parsed);
  } catch (cause) {
    throw new SyntaxError('The event is not JSON.', { cause });
  }
}
