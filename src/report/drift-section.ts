import { z } from 'zod';
import { type DriftCount, type DriftRow, readDriftCounts, readDriftSamples } from '../store/drift.js';
import type { Db } from '../store/open.js';
import type { Scope } from '../store/remap.js';
import type { DriftSection } from './section-schemas.js';

const SAMPLES_PER_MODEL = 3;
const SAMPLES = 50;
const FIELDS = 10;
const VALUE_CHARS = 200;

/**
 * What the last remap found to differ between matched records.
 *
 * @param matchedRecords how many there are in the scope: where fewer were compared, drift is not measured
 */
export function readDrift(db: Db, scope: Scope, matchedRecords: number): DriftSection {
  const models = readDriftCounts(db, scope).map(toNumbers);
  const sum = (pick: 'pairs' | 'compared' | 'differing') => models.reduce((all, one) => all + one[pick], 0);
  const [pairs, compared] = [sum('pairs'), sum('compared')];
  return {
    measured: pairs === compared && pairs === matchedRecords,
    pairs,
    compared,
    differing: sum('differing'),
    models,
    samples: readDriftSamples(db, scope, SAMPLES_PER_MODEL, SAMPLES).map(toSample),
  };
}

/** For the gate: records that differ, by model; null where not all were compared. */
export function driftByModel(drift: DriftSection): ReadonlyMap<string, number> | null {
  return drift.measured ? new Map(drift.models.map(({ model, differing }) => [model, differing])) : null;
}

function toNumbers({ model, pairs, compared, differing }: DriftCount): DriftSection['models'][number] {
  return { model, pairs: Number(pairs), compared: Number(compared), differing: Number(differing) };
}

const fieldsSchema = z.array(z.object({ field: z.string(), v3: z.unknown(), v4: z.unknown() }));

function toSample(row: DriftRow): DriftSection['samples'][number] {
  const fields = fieldsSchema.parse(JSON.parse(row.fields)).slice(0, FIELDS);
  return {
    model: row.model,
    region: row.region,
    v3_company_id: String(row.v3_company_id),
    v4_company_id: String(row.v4_company_id),
    platform_id: row.platform_id,
    v3_svc_id: String(row.v3_svc_id),
    v4_svc_id: String(row.v4_svc_id),
    fields: fields.map(({ field, v3, v4 }) => ({ field: cut(field), v3: textOf(v3), v4: textOf(v4) })),
  };
}

function textOf(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'null');
}

function cut(text: string): string {
  if (text.length <= VALUE_CHARS) return text;
  const chars = [...text];
  return chars.length > VALUE_CHARS ? `${chars.slice(0, VALUE_CHARS).join('')}…` : text;
}
