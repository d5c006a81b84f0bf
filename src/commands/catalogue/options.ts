import type { Config } from '../../config/config.js';
import { SvcError } from '../../errors.js';
import type { Scope } from '../../store/remap-rows.js';
import { didYouMean } from '../../text/suggest.js';
import * as z from '../../zod.js';
import type { Narrowing } from '../command.js';
import {
  companyId,
  duration,
  flag,
  jsonOutput,
  listenAddress,
  listOption,
  option,
  optionOr,
  output,
  text,
  waitDuration,
} from '../option.js';

/** Options of every command. */
export const COMMON_OPTIONS = z.object({
  config: option(
    '<file>',
    'configuration file (default: svc-migrate.config.jsonc, else .json; or SVC_MIGRATE_CONFIG)',
    text,
  ),
  db: option('<file>', 'database file; overrides the configuration and SVC_MIGRATE_DB', text),
  quiet: flag('print no progress; warnings and errors are still printed'),
  verbose: flag('print each list as it finishes, the causes of errors, and what summaries fold'),
  noColor: flag('print without color (also: NO_COLOR)'),
});

export const MODEL = {
  model: listOption('<model>', 'only this model, by its V3 path; repeatable', text),
};

export const COMPANY = { company: listOption('<id>', 'only this V3 company; repeatable', companyId) };

/** What an export reads. */
export const EXPORTED = {
  company: listOption(
    '<id>',
    'only the V3 and V4 company with this id, paired or not; repeatable',
    companyId,
  ),
  restart: flag('read everything again instead of continuing or reading changes only'),
};

export const ALLOW_INCOMPLETE = {
  allowIncomplete: flag('use a remap of exports that were not read in full'),
};

export const FORCE = { force: flag('replace an existing file') };

export const MAX_WAIT = {
  maxWait: option(
    '<duration>',
    'longest wait to accept when the service asks for one, such as 90s; overrides http.maxWaitMs',
    waitDuration,
  ),
};

/** Options for waiting until the backfill has settled. */
export const WAITING = {
  wait: flag('wait until the backfill has settled before reading V4; exit 5 if it does not'),
  settle: optionOr('<duration>', 'how long all counts must stay the same', duration, '5m'),
  waitTimeout: optionOr('<duration>', 'longest time to wait', duration, '2h'),
  listen: option(
    '<[host:]port>',
    'receive webhook events at this address; they shorten or extend the wait',
    listenAddress,
  ),
};

/** The rules of `WAITING`. */
export const WAITING_NEEDS = [
  ['settle', 'wait'],
  ['waitTimeout', 'wait'],
  ['listen', 'wait'],
] as const;

/** Files to write reports to; the options have the names of the renderers. */
export const OUTPUTS = {
  json: jsonOutput('report', 'report as JSON (- is stdout)'),
  ndjson: output('every finding, one JSON object per line'),
  markdown: output('report for pull requests and job summaries'),
  html: output('report as one HTML page that needs no other files'),
  junit: output('limits and lists as JUnit test cases'),
};

/** Default sample size of `verify`: if none is wrong, fewer than 0.6 % of all pairs are, with a probability of 95 %. */
export const DEFAULT_SAMPLE = 500;

/** The values of shared options. */
type OptionsOf<Shape extends z.core.$ZodLooseShape> = z.output<z.ZodObject<Shape>>;

/** The configuration with `--max-wait`. */
export function withMaxWait(config: Config, { maxWait }: OptionsOf<typeof MAX_WAIT>): Config {
  return maxWait === undefined ? config : { ...config, http: { ...config.http, maxWaitMs: maxWait } };
}

export type NarrowingOptions = OptionsOf<typeof MODEL & typeof COMPANY>;

/** The values of `--model` and `--company`. */
export function narrowingOf({ model, company }: NarrowingOptions, config: Config): Narrowing {
  for (const one of model) assertConfigured(config, one);
  return { models: model, companies: company };
}

/** Where to look up an id; null: anywhere in the model. */
interface IdScope {
  readonly model: string;
  /** A field of children; null: not named. */
  readonly path: string | null;
  readonly region: string | null;
}

/** The model, which may be `accounting/invoices#line_items`, and `--region`. They must be configured: the remap has no ids of others. */
export function idScopeOf(
  options: { readonly model: string; readonly region?: string | undefined },
  config: Config,
): IdScope {
  const { region = null } = options;
  const [model = '', ...fields] = options.model.split('#');
  const path = fields.length === 0 ? null : fields.join('#');
  assertConfigured(config, model);
  const children = config.models.find(({ v3 }) => v3 === model)?.children ?? [];
  if (path !== null && !children.includes(path)) {
    throw new SvcError('usage', `"${path}" is not a field with children of ${model}.`, {
      hint: didYouMean(path, children) ?? 'The configuration names no such fields for this model.',
    });
  }
  const regions = config.v3.regions.map((endpoint) => endpoint.region);
  if (region !== null && !regions.includes(region)) {
    throw new SvcError('usage', `There is no region "${region}" in the configuration.`, {
      hint: didYouMean(region, regions) ?? undefined,
    });
  }
  return { model, path, region };
}

function assertConfigured(config: Config, model: string): void {
  const known = config.models.map(({ v3 }) => v3);
  if (known.includes(model)) return;
  throw new SvcError('usage', `There is no model "${model}" in the configuration.`, {
    hint: didYouMean(model, known) ?? `Configured: ${known.join(', ')}.`,
  });
}

/** The scope of `--model` and `--company`; everything without them. */
export function scopeOf(
  options: { readonly [Name in keyof Narrowing]?: Narrowing[Name] | undefined },
): Scope {
  const { models = [], companies = [] } = options;
  return {
    models: models.length === 0 ? null : models,
    companies: companies.length === 0 ? null : companies,
  };
}
