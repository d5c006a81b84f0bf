import { findDrift } from '../../match/compare-fields.js';
import type { PayloadField } from '../../store/story-rows.js';
import type { FieldLine, SeenObject } from './story.js';

/** Fields that tell most about identity come first. */
const FIRST = ['platform_id', 'platform_unique_id'];

/**
 * The fields of both records side by side: those that the service gives, then the platform's. Values
 * are compared as what they are, as for drift.
 *
 * @param prefix of the service's own fields
 */
export function compareFields(v3: SeenObject | null, v4: SeenObject | null, prefix: string): FieldLine[] {
  const left = fieldsOf(v3, prefix);
  const right = fieldsOf(v4, prefix);
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const isBoth = v3 !== null && v4 !== null;
  return sortNames(names, prefix).map((name) => {
    const [a, b] = [left.get(name), right.get(name)];
    return { name, v3: a?.text ?? null, v4: b?.text ?? null, verdict: judge(name, a, b, prefix, isBoth) };
  });
}

/** As received, or what matching kept where no payload is. */
function fieldsOf(seen: SeenObject | null, prefix: string): Map<string, PayloadField> {
  if (seen === null) return new Map();
  const fields = seen.fields.length > 0 ? seen.fields : keptFields(seen, prefix);
  return new Map(fields.map((field) => [field.name, field]));
}

function keptFields(seen: SeenObject, prefix: string): PayloadField[] {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  const field = (name: string, text: string | null): PayloadField => ({ name, kind: 'text', text });
  const identity = [
    field(`${prefix}id`, String(seen.svcId)),
    field('platform_id', seen.platformId),
    field('platform_unique_id', seen.platformUniqueId),
    field(`${prefix}deleted_at`, seen.deleted ? '(deleted)' : null),
  ];
  if (seen.parentSvcId !== null) return identity;
  return [
    ...identity,
    field(`${prefix}company_id`, String(seen.companyId)),
    field(`${prefix}updated_at`, time(seen.updatedMs)),
    field('created_at', time(seen.createdMs)),
  ];
}

function sortNames(names: readonly string[], prefix: string): string[] {
  const rank = (name: string): number => {
    if (name.startsWith(prefix)) return 0;
    return FIRST.includes(name) ? 1 : 2;
  };
  return names
    .map((name, at) => ({ name, at }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.at - b.at)
    .map(({ name }) => name);
}

function judge(
  name: string,
  a: PayloadField | undefined,
  b: PayloadField | undefined,
  prefix: string,
  isBoth: boolean,
): FieldLine['verdict'] {
  if (name.startsWith(prefix)) return 'own';
  if (!isBoth) return 'alone';
  const [left, right] = [a?.text ?? null, b?.text ?? null];
  // Null and absent say the same.
  if (left === null && right === null) return 'same';
  if (a === undefined || b === undefined || left === null || right === null) return 'one_side';
  return isEqual(a, b) ? 'same' : 'differs';
}

/** One field, compared as the report compares the fields of pairs. */
function isEqual(a: PayloadField, b: PayloadField): boolean {
  const rules = { fieldPrefix: '\u0000', ignored: new Set<string>(), trustsHash: false };
  return findDrift({ field: jsonOf(a) }, { field: jsonOf(b) }, rules).length === 0;
}

function jsonOf({ kind, text }: PayloadField): string | number | boolean | null {
  if (text === null) return null;
  if (kind === 'boolean') return text === 'true';
  // Digits beyond a double are compared as text.
  return kind === 'number' && String(Number(text)) === text ? Number(text) : text;
}
