import { mergeEdits, type TextEdit } from '../../text/text-edits.js';
import { childAt, walk } from '../access.js';
import { type Address, positionInFile, type RuleInput } from '../rule-input.js';
import type { ParsedFile } from '../scan-files.js';
import type { FixSettings } from '../scan-settings.js';
import { Lines } from '../source-file.js';
import type { SyntaxNode } from '../syntax.js';
import type { FixReport, UnfixedReason } from './fix-report.js';
import type { RequestForm } from './known-clients.js';
import { KnownRequests } from './known-requests.js';
import { rewriteAddress } from './rewrite-address.js';
import { ValueFlow, type ValueUse } from './value-flow.js';

/** A request with everything that depends on it: patched as a whole (`reason` is null), or not at all. */
export type FixUnit = FixReport['units'][number];

/** The units of a file, and the edits of those that are patched. */
export interface FilePlan {
  readonly units: readonly FixUnit[];
  readonly edits: readonly TextEdit[];
}

/** A unit while it is judged. */
interface Draft {
  readonly place: number;
  readonly address: Address;
  reason: UnfixedReason | null;
  readonly edits: readonly TextEdit[];
  /** Calls that send a request to an address of which this unit rewrites a part. */
  readonly affectedCalls: readonly SyntaxNode[];
}

export interface PlanContext extends Omit<ParsedFile, 'absolute'> {
  readonly settings: FixSettings;
}

/** Decides which requests of a file can be patched. */
export function planUnits(context: PlanContext): FilePlan {
  const { input, file, readers, isNamedElsewhere } = context;
  const requests = new KnownRequests(file, readers.values);
  const flow = new ValueFlow(file, requests, readers.texts, isNamedElsewhere);
  const lines = new Lines(file.source);
  const drafts = listAddresses(input, requests).map(({ address, place }) =>
    draftUnit(address, place, { context, requests, flow, lines }),
  );
  dropShared(drafts);
  const edits = mergeFixed(drafts);
  const units = drafts.map(({ place, address, reason }) => ({
    file: input.path,
    line: lines.at(place),
    reason,
    route: routeOf(address),
  }));
  return { units, edits };
}

function routeOf({ url }: Address): string {
  return `/v4/core/companies/{companyId}/${url.route?.pair?.v4 ?? '{model}'}`;
}

/** The requests of a file, each once: calls that are known to send one, and addresses that none of these calls uses. */
function listAddresses(input: RuleInput, requests: KnownRequests): { address: Address; place: number }[] {
  const found = input.addresses.flatMap((address) => {
    const { route } = address.url;
    if (route === null || address.certainty === null || address.certainty === 'look') return [];
    const place = positionInFile(address, input.path, route.model.from) ?? address.start;
    return [{ address, place }];
  });
  const sent = found.filter(({ address }) => address.call !== null && requests.formOf(address.call) !== null);
  const known = new Set(sent.map(({ place }) => place));
  const isCovered = ({ start, end }: Address) =>
    sent.some(({ address }) => address.start >= start && address.end <= end);
  const others = found.filter(({ address, place }) => {
    if (sent.some((one) => one.address === address)) return false;
    if (known.has(place) || (address.call !== null && isCovered(address))) return false;
    known.add(place);
    return true;
  });
  const calls = new Set<SyntaxNode | null>();
  const once = sent.filter(({ address }) => !calls.has(address.call) && calls.add(address.call));
  return [...once, ...others].sort((a, b) => a.place - b.place);
}

interface PlanTools {
  readonly context: PlanContext;
  readonly requests: KnownRequests;
  readonly flow: ValueFlow;
  readonly lines: Lines;
}

function draftUnit(address: Address, place: number, tools: PlanTools): Draft {
  const { context, lines } = tools;
  const { input, result } = context;
  const refuse = (reason: UnfixedReason): Draft => ({ place, address, reason, edits: [], affectedCalls: [] });
  const ignored = new Set(result.ignored.map(({ line }) => line));
  if (ignored.has(lines.at(place))) return refuse('ignored');
  if (address.certainty !== 'certain') return refuse('likely');
  if (input.source.includes('\uFFFD')) return refuse('encoding');
  const form = address.call === null ? null : tools.requests.formOf(address.call);
  if (address.call === null || form === null) return refuse('request_form');
  const found = rewriteRequest(address, address.call, form, tools);
  if (typeof found === 'string') return refuse(found);
  const isIgnored = found.edits.some(({ start }) => ignored.has(lines.at(start)));
  return isIgnored ? refuse('ignored') : { place, address, reason: null, ...found };
}

function rewriteRequest(
  address: Address,
  call: SyntaxNode,
  form: RequestForm,
  { context, requests, flow }: PlanTools,
): Pick<Draft, 'edits' | 'affectedCalls'> | UnfixedReason {
  const { file, readers, settings } = context;
  const parameters = requests.parametersOf(call, form);
  if (typeof parameters === 'string') return parameters;
  const rewritten = rewriteAddress(
    { file, address, parameters },
    readers.settings,
    settings.companies,
    readers.texts,
  );
  if (typeof rewritten === 'string') return rewritten;
  const addressUses = rewritten.strings.flatMap((string) => flow.usesOf(string, 'url'));
  const responseUses = flow.usesOf(call, form.result);
  const lost = [...addressUses, ...responseUses].find((use) => use.kind === 'lost');
  if (lost?.kind === 'lost') return lost.reason;
  const affectedCalls = addressUses.flatMap((use) => (use.kind === 'request' ? [use.call] : []));
  // If its own request is not among the uses found, the address was not followed completely.
  if (!affectedCalls.includes(call)) return 'address_built';
  const reads = responseUses.map((use) => rewriteRead(use));
  if (reads.some((edit) => edit === null)) return 'response_used';
  return { edits: [...rewritten.edits, ...reads.flatMap((edit) => edit ?? [])], affectedCalls };
}

/** The edits that read a member of the envelope one level deeper; null where that cannot be written. */
function rewriteRead(use: ValueUse): TextEdit[] | null {
  if (use.kind === 'pattern') {
    const { start, end } = use.pattern;
    return [
      { start, end: start, text: '{ data: ' },
      { start: end, end, text: ' }' },
    ];
  }
  if (use.kind !== 'read') return null;
  const { object, access, name } = use;
  const [from, to] = nameRange(name);
  const { source } = object;
  const written = source.slice(object.end, access.end);
  if (/\/\/|#(?!\{)|\/\*/.test(written)) return null;
  const inserted = `${source.slice(object.end, from)}data${source.slice(to, access.end)}`;
  return [{ start: object.end, end: object.end, text: inserted }];
}

/** Where the name of a member is, without quotes or the colon of a symbol. */
function nameRange(name: SyntaxNode): readonly [number, number] {
  const content = walk(name).find(({ kind }) => kind === 'content');
  if (content !== undefined) return [content.start, content.end];
  if (name.kind === 'string') return [name.start + 1, name.end - 1];
  if (name.type === 'simple_symbol') return [name.start + 1, name.end];
  const inner = name.type === 'variable_name' ? childAt(name, 'name') : undefined;
  return inner === undefined ? [name.start, name.end] : [inner.start, inner.end];
}

/** Drops units that share a part of their address with a request that stays as it is, until none is left. */
function dropShared(drafts: readonly Draft[]): void {
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    const fixed = new Set(drafts.flatMap(({ reason, address }) => (reason === null ? [address.call] : [])));
    for (const one of drafts) {
      if (one.reason !== null || one.affectedCalls.every((call) => fixed.has(call))) continue;
      one.reason = 'address_shared';
      isChanged = true;
    }
  }
}

/** The edits of all patched units; where two contradict each other, both units and what shares their address stay. */
function mergeFixed(drafts: readonly Draft[]): TextEdit[] {
  const fixed = drafts.filter(({ reason }) => reason === null);
  const merged = mergeEdits(fixed.flatMap(({ edits }) => edits));
  if (merged !== null) return merged;
  for (const one of fixed)
    if (fixed.some((other) => other !== one && mergeEdits([...one.edits, ...other.edits]) === null))
      one.reason = 'overlapping';
  dropShared(drafts);
  return mergeEdits(drafts.flatMap(({ reason, edits }) => (reason === null ? edits : []))) ?? [];
}
