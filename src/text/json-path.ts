/** A step of a JSON path: a member's name, the number of an item, or null for every member or item. */
export type JsonStep = string | number | null;
export type JsonPath = readonly JsonStep[];

const STEP =
  /\.(?<name>[\p{L}_$][\p{L}\p{N}_$-]*)|\.(?<star>\*)|\[(?<at>\d{1,9})\]|\[(?<all>\*)\]|\['(?<single>[^']*)'\]|\["(?<double>[^"]*)"\]/uy;

/** Parses `$.invoice.id`, `$.lines[*].item_id` or `$['odd key'][0]`. The leading `$.` is optional. Null if it is invalid. */
export function parseJsonPath(text: string): JsonPath | null {
  const body = text.startsWith('$') ? text.slice(1) : text.startsWith('[') ? text : `.${text}`;
  const steps: JsonStep[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < body.length) {
    const groups = STEP.exec(body)?.groups;
    if (groups === undefined) return null;
    steps.push(stepOf(groups));
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): JsonStep {
  if (groups['star'] !== undefined || groups['all'] !== undefined) return null;
  if (groups['at'] !== undefined) return Number(groups['at']);
  return groups['name'] ?? groups['single'] ?? groups['double'] ?? null;
}

export function pathsOverlap(a: JsonPath, b: JsonPath): boolean {
  return a.length === b.length && a.every((step, at) => step === null || b[at] === null || step === b[at]);
}
