import { existsSync } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findConfigFile } from '../config/load-config.js';
import { DEFAULT_MODELS, DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV } from '../config/settings.js';
import { SERVERS } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { alreadyThere } from '../runtime/output-targets.js';
import { createFile, writeText } from '../runtime/write-output.js';
import { PLACEHOLDER_HOST } from '../text/addresses.js';
import type { init } from './catalogue/start-commands.js';
import { configFlags, type GivenTo, type Io } from './command.js';

/** `init`: writes a commented starter configuration, with the addresses that the options name. */
export async function runInit(given: GivenTo<typeof init>, io: Io): Promise<number> {
  const { force, v3, v4 } = given.options;
  const file = findConfigFile(io.env, configFlags(given.raw).config);
  if (!force && existsSync(file)) throw existsError(file);
  const starter = {
    v3BaseUrls: v3 ?? STARTER_DEFAULTS.v3BaseUrls,
    v4BaseUrl: v4 ?? STARTER_DEFAULTS.v4BaseUrl,
    schema: locateSchema(file, import.meta.url),
  };
  write(file, renderStarter(starter), force);
  const todo = v3 === undefined || v4 === undefined ? 'Put the addresses into it. ' : '';
  await writeText(io.stdout, [
    `Wrote ${file}.\n`,
    `${todo}Set ${DEFAULT_V3_KEY_ENV} and ${DEFAULT_V4_KEY_ENV} to the API keys.\n`,
    'Next: svc-migrate doctor\n',
  ]);
  return 0;
}

function write(file: string, text: string, force: boolean): void {
  try {
    createFile(file, text, { replace: force });
  } catch (cause) {
    const error = errorCodeOf(cause);
    if (error === 'EEXIST') throw existsError(file);
    const why = error === 'ENOENT' ? 'its folder does not exist' : describeFileError(cause);
    throw new SvcError('output', `Cannot write ${file}: ${why}.`, {
      hint: 'Check that the folder exists and can be written.',
      cause,
    });
  }
}

function existsError(file: string): SvcError {
  return alreadyThere(file, 'Name another file with --config, or replace this one with --force.');
}

interface Starter {
  /** By region. */
  readonly v3BaseUrls: Readonly<Record<string, string>>;
  readonly v4BaseUrl: string;
  /** The JSON Schema, for editors. */
  readonly schema: string;
}

/** What `init` writes where no option says otherwise. */
export const STARTER_DEFAULTS: Starter = {
  v3BaseUrls: { default: `https://${PLACEHOLDER_HOST}/v3` },
  v4BaseUrl: `https://${PLACEHOLDER_HOST}`,
  schema: './node_modules/svc-migrate/schema/config.schema.json',
};

/**
 * The address of the JSON Schema for a configuration `file`: relative within the project that this program is installed in or
 * the clone it runs from. Elsewhere, as under npx, where it will be once the package is installed in the project: a path of this
 * machine would mean nothing to others who use the file.
 */
export function locateSchema(file: string, moduleUrl: string): string {
  const schema = new URL('../../schema/config.schema.json', moduleUrl);
  const root = fileURLToPath(new URL('../../', moduleUrl));
  const [project = root] = root.split(`node_modules${sep}`);
  if (!file.startsWith(project)) return STARTER_DEFAULTS.schema;
  const path = relative(dirname(file), fileURLToPath(schema)).replaceAll(sep, '/');
  return path.startsWith('../') ? path : `./${path}`;
}

/** Renders a commented configuration; settings that are commented out show their defaults. */
export function renderStarter({ v3BaseUrls, v4BaseUrl, schema }: Starter): string {
  const text = JSON.stringify;
  const regions = Object.entries(v3BaseUrls).map(
    ([region, url]) =>
      `      ${text(region)}: { "baseUrl": ${text(url)}, "apiKeyEnv": ${text(DEFAULT_V3_KEY_ENV)} },`,
  );
  return `{
  // For editors; svc-migrate help config describes every setting.
  "$schema": ${text(schema)},

  // Where everything is kept. Relative to this file.
  // "database": "svc-migrate.db",

  // The service's own prefix: <prefix>id, <prefix>company_id, <prefix>updated_at.
  // "fieldPrefix": "svc_",

  // The earlier API. Requests go to {baseUrl}/{category}/{model}. One entry per region.
  "v3": {
    "regions": {
      // Keys are never written here: name an environment variable, or a file only you can read ("apiKeyFile").
${regions.join('\n')}
    },
    // "pageSize": 500, "concurrency": 8, "requestsPerSecond": 20,
    // Whether long lists are read company by company, in parallel: "auto", the ids of companies, or [] for never.
    // "companies": "auto",
    // How far the sweep for late changes reaches back before the start of the walk.
    // "sweepOverlap": "15m",
  },

  // The current API. Requests go to {baseUrl}/v4/core/companies/…
  "v4": {
    "baseUrl": ${text(v4BaseUrl)}, "apiKeyEnv": ${text(DEFAULT_V4_KEY_ENV)},
    // "pageSize": 500, "concurrency": 8, "requestsPerSecond": 20,
    // Ask for deleted records too: "auto", true or false.
    // "includeDeleted": "auto",
    // Only these V4 companies, and the field of the company list that holds their id.
    // "companies": [], "companyIdField": null,
    // Where a webhook event holds its type, for export v4 --wait --listen.
    // "eventTypeField": "type",
  },

  // V3 path and V4 name of each model. "v4": null says that V4 does not have it.
  // Only "invoices" is a documented V4 name; the others are guesses until you say so here.
${renderModels()}

  // How V3 companies find their V4 twins: "auto", "same_id", "overlap" or { "file": "companies.csv" }.
  // "companies": { "match": "auto", "include": [], "exclude": [] },

  // What a person decided where evidence does not settle it; findings --write-decisions drafts the file. Not set by default.
  // "decisions": "decisions.csv",

  // What V4 loaded at its first sync: { "since": "2026-08-20T00:00:00Z" } or { "days": 90 }. Without it: inferred.
  // "backfill": { "dateFields": ["posted_date", "created_at", "updated_at", "org_created_at"] },

  // "http": { "timeoutMs": 60000, "attempts": 6, "maxWaitMs": 300000, "maxBodyMiB": 64, "allowHttp": false },

  // How records are kept: "full" as received; "ids" only what matching needs.
  // "payload": "full",

  // Fields that may differ between a record and its twin, by V3 model or "*", for the limit "drift".
  // "drift": { "ignore": {} },

  // What the gate accepts, by reason or status: a count, or a share of the rows with a V3 id.
  // Unmatched and ambiguous ids are not accepted unless a line here says so, such as
  // "limits": { "outside_backfill_window": "100%", "models": { "crm/companies": { "unmatched": "2%" } } },
  // "limits": {},

  // Your own tables and files that hold V3 ids, for apply; apply find proposes them. Kinds: csv, ndjson, sqlite, ${SERVERS.map(({ kind }) => kind).join(', ')}. Such as
  // "apply": { "targets": [ { "name": "orders", "kind": "postgres", "urlEnv": "DATABASE_URL", "table": "orders", "ids": [ { "column": "invoice_id", "model": "accounting/invoices" } ] } ] },
  // Ids inside text: { "column": "cache_key", "model": "accounting/invoices", "pattern": "invoice:{id}" }.
  // "apply": { "targets": [] },

  // What svc-migrate scan looks for in code: paths of GraphQL on a V3 host, and packages that call V3.
  // "scan": { "graphqlPaths": ["/graphql"], "clientPackages": [] },

  // The gate fails if the evidence is older.
  // "maxAge": "24h",
}
`;
}

/** The default models, commented out, because guessed V4 names would otherwise count as confirmed. */
function renderModels(): string {
  const lines = DEFAULT_MODELS.map(({ v3, v4, expand, children }) => {
    const more = [
      ...(expand.length === 0 ? [] : [`"expand": ${JSON.stringify(expand)}`]),
      ...(children.length === 0 ? [] : [`"children": ${JSON.stringify(children)}`]),
    ];
    const settings = [`"v3": ${JSON.stringify(v3)}`, `"v4": ${JSON.stringify(v4)}`, ...more];
    return `  //   { ${settings.join(', ')} },`;
  });
  return ['  // "models": [', ...lines, '  // ],'].join('\n');
}
