import type { Generation } from '../../domain.js';
import { findDrift } from '../../match/compare-payloads.js';
import type { PayloadField } from '../../store/story-rows.js';
import { escapeUnseen } from '../../text/escape.js';
import { fitText, layOutTable } from '../../text/text-layout.js';

/** An exported record or child, in the form of `--json`. */
export interface ExportedObject {
  readonly generation: Generation;
  readonly region: string;
  readonly company_id: string;
  readonly svc_id: string;
  /** Id of the record that contains a child. */
  readonly parent_svc_id: string | null;
  readonly platform_id: string | null;
  readonly platform_unique_id: string | null;
  readonly deleted: boolean;
  /** ISO 8601. */
  readonly updated: string | null;
  readonly latest: string | null;
  readonly latestFrom: 'platform' | 'service' | null;
  readonly created: string | null;
  /** Not in JSON: single-valued fields as received; empty if no payload is stored. */
  readonly fields: readonly PayloadField[];
}

/** One field of both records. */
export interface FieldLine {
  readonly name: string;
  /** Null if the record has no such field, or it is null. */
  readonly v3: string | null;
  readonly v4: string | null;
  /** `own`: a field of the service, not compared; `alone`: there is no other record. */
  readonly verdict: 'same' | 'differs' | 'one_side' | 'own' | 'alone';
}

/**
 * The fields of both records side by side: the service's own fields, then those that identify a record, then the others.
 * Values are compared as for drift.
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

/** The fields as received or, without a payload, those stored for matching. */
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

/** Compares two fields; null and absent are equal. */
function compareField(a: PayloadField | undefined, b: PayloadField | undefined): FieldLine['verdict'] {
  const [left, right] = [jsonOf(a), jsonOf(b)];
  if (left === null && right === null) return 'same';
  if (left === null || right === null) return 'one_side';
  const rules = { fieldPrefix: '\u0000', ignored: new Set<string>() };
  return findDrift({ field: left }, { field: right }, rules).length === 0 ? 'same' : 'differs';
}

function jsonOf(field: PayloadField | undefined): string | number | boolean | null {
  if (field === undefined || field.text === null) return null;
  const { kind, text } = field;
  if (kind === 'boolean') return text === 'true';
  // Numbers that a double cannot hold exactly are compared as text.
  return kind === 'number' && String(Number(text)) === text ? Number(text) : text;
}

/** Columns of the terminal that one value may take. */
const MAX_CELL = 24;
const MIN_CELL = 8;

/**
 * A V3 object and the V4 objects that it may have become, side by side: the fields in which a candidate differs from it, as
 * lines. Where not all candidates fit in `width` columns, several tables follow each other. Candidates are numbered from 1.
 *
 * @param prefix of the service's own fields, which always differ and are left out
 */
export function renderCandidates(
  v3: ExportedObject,
  candidates: readonly ExportedObject[],
  prefix: string,
  width: number,
): string[] {
  const compared = candidates.map((candidate) => {
    const lines = buildFieldLines(v3, candidate, prefix).filter(({ name }) => !name.startsWith(prefix));
    return new Map(lines.map((line) => [line.name, line]));
  });
  const names = [...new Set(compared.flatMap((lines) => [...lines.keys()]))];
  const isDifferent = (name: string) =>
    compared.some((lines) => lines.has(name) && lines.get(name)?.verdict !== 'same');
  const differing = names.filter(isDifferent);
  if (differing.length === 0) return ['  No field differs, but for those of the service.'];
  const room = width - Math.max(...differing.map((name) => name.length)) - 4;
  const perTable = Math.max(1, Math.floor(room / (MAX_CELL + 2)) - 1);
  const inTable = Math.min(perTable, candidates.length);
  const cellWidth = Math.min(MAX_CELL, Math.max(MIN_CELL, Math.floor(room / (inTable + 1)) - 2));
  const show = (text: string | null | undefined) =>
    text == null ? '–' : fitText(escapeUnseen(text), cellWidth);
  const column = (title: string) => ({ title, keep: true });
  const lines: string[] = [];
  for (let from = 0; from < candidates.length; from += perTable) {
    const titles = candidates
      .slice(from, from + perTable)
      .map((one, at) => column(candidateTitle(one, from + at)));
    const rows = differing.map((name) => [
      name,
      show(compared.find((own) => own.has(name))?.get(name)?.v3),
      ...compared.slice(from, from + perTable).map((own) => show(own.get(name)?.v4)),
    ]);
    const columns = [{ title: '' }, column(`V3 ${v3.svc_id}`), ...titles];
    lines.push(...layOutTable(columns, rows, width), '');
  }
  const same = names.length - differing.length;
  if (same > 0)
    lines.push(`  (${same === 1 ? '1 further field is' : `${same} further fields are`} the same in all)`);
  return lines;
}

function candidateTitle({ svc_id: id, deleted }: ExportedObject, at: number): string {
  return `${at + 1}: V4 ${id}${deleted ? ' (deleted)' : ''}`;
}
