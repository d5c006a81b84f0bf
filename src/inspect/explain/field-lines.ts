import { findDrift } from '../../match/compare-fields.js';
import type { PayloadField } from '../../store/story-rows.js';
import type { ExportedObject, FieldLine } from './story.js';

/**
 * The fields of both records side by side: those that the service gives, then those that identify a record, then the
 * others. Values are compared as the report compares the fields of pairs.
 *
 * @param prefix of the service's own fields
 */
export function buildFieldLines(
  v3: ExportedObject | null,
  v4: ExportedObject | null,
  prefix: string,
): FieldLine[] {
  const [left, right] = [fieldsOf(v3, prefix), fieldsOf(v4, prefix)];
  const isBoth = v3 !== null && v4 !== null;
  const rank = (name: string): number => {
    if (name.startsWith(prefix)) return 0;
    return name === 'platform_id' || name === 'platform_unique_id' ? 1 : 2;
  };
  const names = [...new Set([...left.keys(), ...right.keys()])].sort((a, b) => rank(a) - rank(b));
  return names.map((name) => {
    const [a, b] = [left.get(name), right.get(name)];
    const compared = isBoth ? compareField(a, b) : 'alone';
    const verdict = name.startsWith(prefix) ? 'own' : compared;
    return { name, v3: a?.text ?? null, v4: b?.text ?? null, verdict };
  });
}

/** As received, or what matching kept where no payload is. */
function fieldsOf(object: ExportedObject | null, prefix: string): Map<string, PayloadField> {
  if (object === null) return new Map();
  if (object.fields.length > 0) return new Map(object.fields.map((field) => [field.name, field]));
  const kept: [name: string, text: string | null][] = [
    [`${prefix}id`, object.svc_id],
    ['platform_id', object.platform_id],
    ['platform_unique_id', object.platform_unique_id],
    [`${prefix}deleted_at`, object.deleted ? '(deleted)' : null],
  ];
  if (object.parent_svc_id === null) {
    kept.push([`${prefix}company_id`, object.company_id]);
    kept.push([`${prefix}updated_at`, object.updated], ['created_at', object.created]);
  }
  return new Map(kept.map(([name, text]) => [name, { name, kind: 'text', text }]));
}

/** Null and absent say the same. */
function compareField(a: PayloadField | undefined, b: PayloadField | undefined): FieldLine['verdict'] {
  const [left, right] = [jsonOf(a), jsonOf(b)];
  if (left === null && right === null) return 'same';
  if (left === null || right === null) return 'one_side';
  const rules = { fieldPrefix: '\u0000', ignored: new Set<string>(), trustsHash: false };
  return findDrift({ field: left }, { field: right }, rules).length === 0 ? 'same' : 'differs';
}

function jsonOf(field: PayloadField | undefined): string | number | boolean | null {
  if (field === undefined || field.text === null) return null;
  const { kind, text } = field;
  if (kind === 'boolean') return text === 'true';
  // Digits beyond a double are compared as text.
  return kind === 'number' && String(Number(text)) === text ? Number(text) : text;
}
