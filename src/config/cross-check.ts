import type { z } from 'zod';
import type { ModelPair } from '../domain.js';
import { orMeant } from '../text/suggest.js';
import { findTargetProblems } from './check-targets.js';
import { DEFAULT_MODELS, resolveModel } from './defaults.js';
import type { Problem } from './problems.js';
import { type ConfigInput, configSchema } from './schema.js';
import { isLoopback } from './values.js';

/** The settings that are right by themselves; undefined where they are not. */
interface Sound {
  readonly v3: ConfigInput['v3'] | undefined;
  readonly v4: ConfigInput['v4'] | undefined;
  readonly http: ConfigInput['http'] | undefined;
  readonly models: readonly ModelPair[] | undefined;
  readonly companies: ConfigInput['companies'] | undefined;
  readonly backfill: ConfigInput['backfill'] | undefined;
  readonly drift: ConfigInput['drift'] | undefined;
  readonly limits: ConfigInput['limits'] | undefined;
  readonly apply: ConfigInput['apply'] | undefined;
}

/**
 * What no single setting shows: repeated names, keys named twice, plain http, contradictions. Settings that
 * are wrong by themselves are left out, so that their problems and these come in one message.
 */
export function findCrossProblems(value: unknown): Problem[] {
  const sound = soundSettings(value);
  return [
    ...findRepeatedModels(sound),
    ...findEndpointProblems(sound),
    ...findContradictions(sound),
    ...findUnknownModels(sound),
    ...findTargetProblems(sound.apply?.targets ?? [], {
      models: sound.models,
      regions: sound.v3 === undefined ? undefined : Object.keys(sound.v3.regions),
    }),
  ];
}

function soundSettings(value: unknown): Sound {
  const given: Readonly<Record<string, unknown>> = { ...(typeof value === 'object' ? value : null) };
  const { shape } = configSchema;
  const models = soundSetting(shape.models, given['models']);
  return {
    v3: soundSetting(shape.v3, given['v3']),
    v4: soundSetting(shape.v4, given['v4']),
    http: soundSetting(shape.http, given['http']),
    models: given['models'] === undefined ? DEFAULT_MODELS : models?.map(resolveModel),
    companies: soundSetting(shape.companies, given['companies']),
    backfill: soundSetting(shape.backfill, given['backfill']),
    drift: soundSetting(shape.drift, given['drift']),
    limits: soundSetting(shape.limits, given['limits']),
    apply: soundSetting(shape.apply, given['apply']),
  };
}

function soundSetting<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

function findRepeatedModels({ models = [] }: Sound): Problem[] {
  const problems: Problem[] = [];
  for (const [at, model] of models.entries()) {
    const earlier = models.slice(0, at);
    if (earlier.some(({ v3 }) => v3 === model.v3)) {
      problems.push({ path: ['models', at, 'v3'], message: `names ${model.v3} a second time` });
      continue;
    }
    const twin = model.v4 === null ? undefined : earlier.find(({ v4 }) => v4 === model.v4);
    if (twin !== undefined) {
      const message = `is ${model.v4}, the V4 name of ${twin.v3}: two V3 models must not share one`;
      problems.push({ path: ['models', at, 'v4'], message });
    }
  }
  return problems;
}

type EndpointInput = ConfigInput['v3']['regions'][string];

function findEndpointProblems({ v3, v4, http }: Sound): Problem[] {
  const mayUseHttp = http === undefined || http.allowHttp;
  const problems = Object.entries(v3?.regions ?? {}).flatMap(([region, own]) =>
    findOneEndpoint(own, ['v3', 'regions', region], mayUseHttp),
  );
  return v4 === undefined ? problems : [...problems, ...findOneEndpoint(v4, ['v4'], mayUseHttp)];
}

function findOneEndpoint(own: EndpointInput, path: readonly string[], mayUseHttp: boolean): Problem[] {
  const problems: Problem[] = [];
  if (own.apiKeyEnv !== undefined && own.apiKeyFile !== undefined) {
    problems.push({ path, message: 'names its key twice: keep apiKeyEnv or apiKeyFile' });
  }
  const url = new URL(own.baseUrl);
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !mayUseHttp) {
    const message = 'would send the key over plain http: use https (or, knowing that, set http.allowHttp)';
    problems.push({ path: [...path, 'baseUrl'], message });
  }
  return problems;
}

function findContradictions({ backfill, companies }: Sound): Problem[] {
  const problems: Problem[] = [];
  if (backfill?.since !== undefined && backfill.days !== undefined) {
    problems.push({ path: ['backfill'], message: 'says it twice: keep since or days' });
  }
  const included = (companies?.include ?? []).map(BigInt);
  for (const [at, company] of (companies?.exclude ?? []).map(BigInt).entries()) {
    if (included.includes(company)) {
      problems.push({
        path: ['companies', 'exclude', at],
        message: `is ${company}, which include names too`,
      });
    }
  }
  return problems;
}

/** Settings by model that name one which is not configured would silently do nothing. */
function findUnknownModels({ drift, limits, models }: Sound): Problem[] {
  if (models === undefined) return [];
  const known = models.map(({ v3 }) => v3);
  const named = [
    ...Object.keys(drift?.ignore ?? {})
      .filter((model) => model !== '*')
      .map((model) => ['drift', 'ignore', model]),
    ...Object.keys(limits?.models ?? {}).map((model) => ['limits', 'models', model]),
  ];
  return named
    .map((path) => ({ path, model: path.at(-1) ?? '' }))
    .filter(({ model }) => !known.includes(model))
    .map(({ path, model }) => ({ path, message: `is not a configured model${orMeant(model, known)}` }));
}
