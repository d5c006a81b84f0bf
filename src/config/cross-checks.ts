import type { ModelPair } from '../domain.js';
import { isLoopback } from '../text/addresses.js';
import { didYouMeanClause } from '../text/suggest.js';
import * as z from '../zod.js';
import {
  type ApplyTarget,
  applyTargetSchema,
  type IdColumn,
  isTextFile,
  parseModelRef,
  patternModels,
} from './apply-targets.js';
import type { Problem } from './problems.js';
import { configSchema, DEFAULT_MODELS } from './settings.js';

const { shape } = configSchema;
/** Keeps the settings that are valid on their own; the others become undefined. */
const validSettingsSchema = z.object({
  v3: shape.v3.optional().catch(undefined),
  v4: shape.v4.optional().catch(undefined),
  http: shape.http.optional().catch(undefined),
  models: shape.models
    .transform((given): readonly ModelPair[] | undefined => given ?? DEFAULT_MODELS)
    .catch(undefined),
  companies: shape.companies.optional().catch(undefined),
  backfill: shape.backfill.optional().catch(undefined),
  drift: shape.drift.optional().catch(undefined),
  limits: shape.limits.optional().catch(undefined),
  apply: z
    .object({ targets: z.array(applyTargetSchema.optional().catch(undefined)) })
    .optional()
    .catch(undefined),
});
type ValidSettings = Partial<z.output<typeof validSettingsSchema>>;

/** The names of all targets, also of those that are invalid otherwise. */
const targetNamesSchema = z
  .object({
    apply: z.object({ targets: z.array(z.object({ name: z.string() }).optional().catch(undefined)) }),
  })
  .transform(({ apply }) => apply.targets.map((target) => target?.name))
  .catch([]);

/**
 * Finds problems that involve several settings: repeated models, two sources for one API key, plain http without
 * `allowHttp`, contradictions. Settings that are invalid on their own are skipped, so that all problems can be reported
 * in one message.
 */
export function findCrossProblems(value: unknown): Problem[] {
  const valid: ValidSettings = validSettingsSchema.safeParse(value).data ?? {};
  return [
    ...findRepeatedModels(valid),
    ...findEndpointProblems(valid),
    ...findContradictions(valid),
    ...findUnknownModels(valid),
    ...findRepeatedNames(targetNamesSchema.parse(value)),
    ...findTargetProblems(valid.apply?.targets ?? [], {
      models: valid.models,
      regions: valid.v3 && Object.keys(valid.v3.regions),
    }),
  ];
}

function* findRepeatedModels({ models = [] }: ValidSettings): Generator<Problem> {
  for (const [at, { v3, v4 }] of models.entries()) {
    const earlier = models.slice(0, at);
    const twin = v4 === null ? undefined : earlier.find((model) => model.v4 === v4);
    if (earlier.some((model) => model.v3 === v3)) {
      yield { path: ['models', at, 'v3'], message: `names ${v3} a second time` };
    } else if (twin !== undefined) {
      const message = `is ${v4}, the V4 name of ${twin.v3}: two V3 models must not share one`;
      yield { path: ['models', at, 'v4'], message };
    }
  }
}

function* findRepeatedNames(names: readonly (string | undefined)[]): Generator<Problem> {
  for (const [at, name] of names.entries()) {
    if (name === undefined || names.indexOf(name) === at) continue;
    yield { path: ['apply', 'targets', at, 'name'], message: `uses the name "${name}" twice` };
  }
}

function* findEndpointProblems({ v3, v4, http }: ValidSettings): Generator<Problem> {
  const regions = Object.entries(v3?.regions ?? {}).map(([region, own]) => ({
    path: ['v3', 'regions', region],
    own,
  }));
  for (const { path, own } of v4 === undefined ? regions : [...regions, { path: ['v4'], own: v4 }]) {
    if (own.apiKeyEnv !== undefined && own.apiKeyFile !== undefined) {
      yield { path, message: 'has both apiKeyEnv and apiKeyFile: keep one' };
    }
    const url = new URL(own.baseUrl);
    if (url.protocol === 'http:' && !isLoopback(url.hostname) && http?.allowHttp === false) {
      const message = 'would send the key over plain http: use https, or accept this with http.allowHttp';
      yield { path: [...path, 'baseUrl'], message };
    }
  }
}

function* findContradictions({ backfill, companies }: ValidSettings): Generator<Problem> {
  if (backfill?.since !== undefined && backfill.days !== undefined) {
    yield { path: ['backfill'], message: 'has both since and days: keep one' };
  }
  for (const [at, company] of (companies?.exclude ?? []).entries()) {
    if (!companies?.include.includes(company)) continue;
    yield { path: ['companies', 'exclude', at], message: `is ${company}, which companies.include lists too` };
  }
}

/** Finds per-model settings of models that are not configured; they would have no effect. */
function* findUnknownModels({ drift, limits, models }: ValidSettings): Generator<Problem> {
  if (models === undefined) return;
  const known = models.map(({ v3 }) => v3);
  const named = [
    ...Object.keys(drift?.ignore ?? {}).map((model) => ['drift', 'ignore', model] as const),
    ...Object.keys(limits?.models ?? {}).map((model) => ['limits', 'models', model] as const),
  ];
  for (const path of named) {
    const [section, , model] = path;
    if (known.includes(model) || (section === 'drift' && model === '*')) continue;
    yield { path, message: `is not a configured model${didYouMeanClause(model, known)}` };
  }
}

/** The models and regions that targets may name; undefined if that part of the configuration is invalid. */
export interface ConfiguredNames {
  readonly models: readonly ModelPair[] | undefined;
  readonly regions: readonly string[] | undefined;
}

/** Finds problems that the schema of a target cannot: unknown models and regions, and what has no meaning in a file. */
export function findTargetProblems(
  targets: readonly (ApplyTarget | undefined)[],
  known: ConfiguredNames,
): Problem[] {
  return targets.flatMap(
    (target, at) =>
      target?.ids.flatMap((id, index) =>
        [...findColumnProblems(target, id, known)].map(({ path, message }) => ({
          path: ['apply', 'targets', at, 'ids', index, ...path],
          message,
        })),
      ) ?? [],
  );
}

function* findColumnProblems(
  { kind }: ApplyTarget,
  id: IdColumn,
  { models, regions }: ConfiguredNames,
): Generator<Problem> {
  const isFile = isTextFile({ kind });
  for (const name of ['path', 'newColumn'] as const) {
    if (!isFile || id[name] === undefined) continue;
    const advice = kind === 'ndjson' && name === 'path' ? 'name the path in "column"' : 'leave it out';
    yield { path: [name], message: `has no meaning in a ${kind} file: ${advice}` };
  }
  if (isFile && id.platformIdColumn !== undefined) {
    const message = 'is supported for tables of databases that apply connects to only: leave it out';
    yield { path: ['platformIdColumn'], message };
  }
  const named = [
    { path: ['model'], ref: id.model ?? null },
    ...Object.entries(id.models ?? {}).map(([word, ref]) => ({ path: ['models', word], ref })),
    ...patternModels(id).map((ref) => ({ path: ['pattern'], ref })),
  ];
  for (const { path, ref } of named) {
    const message = ref === null || models === undefined ? null : modelProblem(ref, models);
    if (message !== null) yield { path, message };
  }
  if (id.region !== undefined && regions?.includes(id.region) === false) {
    yield { path: ['region'], message: `is not a configured region${didYouMeanClause(id.region, regions)}` };
  }
}

/** The problem of a model reference; null if it is valid. */
function modelProblem(ref: string, models: readonly ModelPair[]): string | null {
  const { model, path } = parseModelRef(ref);
  const found = models.find(({ v3 }) => v3 === model);
  if (found === undefined) {
    const known = models.map(({ v3 }) => v3);
    return `is ${model}, which is not a configured model${didYouMeanClause(model, known)}`;
  }
  if (path === '' || found.children.includes(path)) return null;
  return `names "${path}", which is not a field with children of ${model}${didYouMeanClause(path, found.children)}`;
}
