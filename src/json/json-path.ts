/** A step of a JSON path. */
export type Step =
  | { readonly kind: 'key'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: 'index'; readonly at: number }
  /** Every member or item. */
  | { readonly kind: 'any' }
  /** Any number of levels, also none. */
  | { readonly kind: 'descend' };

/** A path as steps; at most 30, so that the places reached fit into one integer. */
export interface JsonPath {
  readonly text: string;
  readonly steps: readonly Step[];
}

const MAX_STEPS = 30;
const STEP =
  /\.\.(?<deep>[\p{L}_$][\p{L}\p{N}_$-]*)|\.(?<name>[\p{L}_$][\p{L}\p{N}_$-]*)|\.(?<star>\*)|\[(?<at>\d{1,9})\]|\[(?<all>\*)\]|\['(?<single>[^']*)'\]|\["(?<double>[^"]*)"\]/uy;

/**
 * Takes a JSON path apart: `$.invoice.id`, `$.lines[*].item_id`, `$['odd key'][0]`, `$..invoice_id`. The
 * leading `$.` may be left out. Null where it is none.
 */
export function parseJsonPath(text: string): JsonPath | null {
  const body = text.startsWith('$') ? text.slice(1) : text.startsWith('[') ? text : `.${text}`;
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < body.length) {
    const groups = STEP.exec(body)?.groups;
    if (groups === undefined) return null;
    if (groups['deep'] !== undefined) steps.push({ kind: 'descend' });
    steps.push(stepOf(groups));
  }
  return steps.length > MAX_STEPS ? null : { text, steps };
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): Step {
  if (groups['star'] !== undefined || groups['all'] !== undefined) return { kind: 'any' };
  if (groups['at'] !== undefined) return { kind: 'index', at: Number(groups['at']) };
  const name = groups['deep'] ?? groups['name'] ?? groups['single'] ?? groups['double'] ?? '';
  return { kind: 'key', name, bytes: new TextEncoder().encode(name) };
}

/** The places a path is at before its first step, as bits: bit n means n steps are taken. */
export function startPlaces(path: JsonPath): number {
  return closure(path, 1);
}

/** Whether a value reached with `places` is what the path points at. */
export function isAtEnd(path: JsonPath, places: number): boolean {
  return (places & (1 << path.steps.length)) !== 0;
}

/** The places after going into a member or item; `matches` says whether a step fits it. */
export function advance(path: JsonPath, places: number, matches: (step: Step) => boolean): number {
  let next = 0;
  for (let at = 0; at < path.steps.length; at += 1) {
    if ((places & (1 << at)) === 0) continue;
    const step = path.steps[at];
    if (step === undefined) break;
    if (step.kind === 'descend') next |= 1 << at;
    else if (matches(step)) next |= 1 << (at + 1);
  }
  return closure(path, next);
}

/** `descend` may also take no level at all. */
function closure(path: JsonPath, places: number): number {
  let all = places;
  for (let at = 0; at < path.steps.length; at += 1) {
    if ((all & (1 << at)) !== 0 && path.steps[at]?.kind === 'descend') all |= 1 << (at + 1);
  }
  return all;
}

/** Whether two paths can point at the same value. */
export function mayMeet(a: JsonPath, b: JsonPath): boolean {
  const known = new Map<number, boolean>();
  const meet = (i: number, j: number): boolean => {
    const key = i * (MAX_STEPS + 1) + j;
    let result = known.get(key);
    if (result === undefined) {
      result = meetFrom(i, j);
      known.set(key, result);
    }
    return result;
  };
  const meetFrom = (i: number, j: number): boolean => {
    const [one, two] = [a.steps[i], b.steps[j]];
    if (one === undefined && two === undefined) return true;
    if (one?.kind === 'descend' && (meet(i + 1, j) || (two !== undefined && meet(i, j + 1)))) return true;
    if (two?.kind === 'descend' && (meet(i, j + 1) || (one !== undefined && meet(i + 1, j)))) return true;
    if (one === undefined || two === undefined) return false;
    return one.kind !== 'descend' && two.kind !== 'descend' && mayMatch(one, two) && meet(i + 1, j + 1);
  };
  return meet(0, 0);
}

function mayMatch(a: Step, b: Step): boolean {
  if (a.kind === 'any' || b.kind === 'any') return true;
  if (a.kind === 'key') return b.kind === 'key' && a.name === b.name;
  return a.kind === 'index' && b.kind === 'index' && a.at === b.at;
}
