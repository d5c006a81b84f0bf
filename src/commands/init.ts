import { existsSync } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { findConfigFile } from '../config/load-config.js';
import { DEFAULT_MODELS, DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV } from '../config/settings.js';
import { type ModelPair, SERVERS } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { alreadyThere } from '../runtime/output-targets.js';
import { createFile, writeText } from '../runtime/write-output.js';
import { PLACEHOLDER_HOST, parseRegions, regionsProblem, v4UrlProblem } from '../text/addresses.js';
import { didYouMean } from '../text/suggest.js';
import type { init } from './catalogue/start.js';
import { configFlags, type GivenTo, type Io, type OptionsOf } from './command.js';

/**
 * `init`: writes a commented starter configuration. On a terminal it first asks for what the options do not name: addresses,
 * key variables and models. With both addresses it asks nothing.
 */
export async function runInit(given: GivenTo<typeof init>, io: Io): Promise<number> {
  const { force, v3, v4 } = given.options;
  const file = findConfigFile(io.env, configFlags(given.raw).config);
  const isNamed = v3 !== undefined && v4 !== undefined;
  const input = !isNamed && io.isTty && given.input.isTTY ? given.input : null;
  // Checked before asking; `createFile` checks again.
  if (!force && existsSync(file)) throw existsError(file);
  const named = {
    ...STARTER_DEFAULTS,
    v3BaseUrls: v3 ?? STARTER_DEFAULTS.v3BaseUrls,
    v4BaseUrl: v4 ?? STARTER_DEFAULTS.v4BaseUrl,
  };
  const answers = input === null ? named : { ...named, ...(await ask(input, given.options, io)) };
  write(file, renderStarter({ ...answers, schema: locateSchema(file, import.meta.url) }), force);
  const todo = input === null && !isNamed ? 'Put the addresses into it. ' : '';
  await writeText(io.stdout, [
    `Wrote ${file}.\n`,
    `${todo}Set ${[...new Set([answers.v3KeyEnv, answers.v4KeyEnv])].join(' and ')} to the API keys.\n`,
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

async function ask(
  input: Readable,
  { v3, v4 }: OptionsOf<typeof init>,
  io: Io,
): Promise<Omit<StarterAnswers, 'schema'>> {
  const terminal = createInterface({ input, output: io.stderr, terminal: true });
  try {
    const { v3KeyEnv, v4KeyEnv } = STARTER_DEFAULTS;
    return {
      v3BaseUrls: v3 ?? parseRegions(await askFor(terminal, io, V3_QUESTION, '', regionsProblem)),
      v4BaseUrl: v4 ?? (await askFor(terminal, io, 'V4 address (without /v4)', '', v4UrlProblem)),
      v3KeyEnv: await askFor(terminal, io, 'Variable with the V3 key', v3KeyEnv, variableProblem),
      v4KeyEnv: await askFor(terminal, io, 'Variable with the V4 key', v4KeyEnv, variableProblem),
      models: parseModels(
        await askFor(terminal, io, 'Models, as V3 paths separated by commas', 'all', modelProblem),
      ),
    };
  } finally {
    terminal.close();
  }
}

/** Asks until the answer is valid; an empty answer means `defaultAnswer`. */
async function askFor(
  terminal: Interface,
  io: Io,
  question: string,
  defaultAnswer: string,
  problemOf: (answer: string) => string | null,
): Promise<string> {
  for (;;) {
    const answer = (
      await answerTo(terminal, `${question}${defaultAnswer === '' ? '' : ` [${defaultAnswer}]`}: `, io)
    ).trim();
    const value = answer === '' ? defaultAnswer : answer;
    const problem = problemOf(value);
    if (problem === null) return value;
    await writeText(io.stderr, [`  It ${problem}.\n`]);
  }
}

/** Asks one question; Ctrl-C and the end of input are an error `interrupted`. */
function answerTo(terminal: Interface, question: string, { signal, stderr }: Io): Promise<string> {
  return new Promise((done, fail) => {
    const stop = () => {
      // The cursor is still on the line of the question.
      stderr.write('\n');
      fail(new SvcError('interrupted', 'Stopped; nothing was written.'));
    };
    terminal.once('close', stop);
    terminal.once('SIGINT', stop);
    terminal.question(question, { signal }).then((answer) => {
      terminal.off('close', stop);
      terminal.off('SIGINT', stop);
      done(answer);
    }, stop);
  });
}

const V3_QUESTION = 'V3 address (with /v3); several as region=address, separated by commas';

function variableProblem(answer: string): string | null {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(answer) ? null : 'must be the name of an environment variable';
}

function modelProblem(answer: string): string | null {
  const known = DEFAULT_MODELS.map(({ v3 }) => v3);
  const unknown = answer === 'all' ? undefined : namesIn(answer).find((name) => !known.includes(name));
  if (unknown === undefined) return namesIn(answer).length === 0 ? 'must name a model, or all' : null;
  const meant = didYouMean(unknown, known) ?? '';
  return `must name models of the specification, not "${unknown}". ${meant}`.trimEnd().replace(/\.$/, '');
}

function parseModels(answer: string): ModelPair[] | null {
  if (answer === 'all') return null;
  const names = namesIn(answer);
  return DEFAULT_MODELS.filter(({ v3 }) => names.includes(v3));
}

function namesIn(answer: string): string[] {
  return answer
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

interface StarterAnswers {
  /** By region. */
  readonly v3BaseUrls: Readonly<Record<string, string>>;
  readonly v4BaseUrl: string;
  readonly v3KeyEnv: string;
  readonly v4KeyEnv: string;
  /** Null: the default models, commented out. */
  readonly models: readonly ModelPair[] | null;
  /** The JSON Schema, for editors. */
  readonly schema: string;
}

/** The answers of `init` where it does not ask. */
export const STARTER_DEFAULTS: StarterAnswers = {
  v3BaseUrls: { default: `https://${PLACEHOLDER_HOST}/v3` },
  v4BaseUrl: `https://${PLACEHOLDER_HOST}`,
  v3KeyEnv: DEFAULT_V3_KEY_ENV,
  v4KeyEnv: DEFAULT_V4_KEY_ENV,
  models: null,
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
export function renderStarter(answers: StarterAnswers): string {
  const { v3BaseUrls, v4BaseUrl, v3KeyEnv, v4KeyEnv, models, schema } = answers;
  const text = JSON.stringify;
  const regions = Object.entries(v3BaseUrls).map(
    ([region, url]) => `      ${text(region)}: { "baseUrl": ${text(url)}, "apiKeyEnv": ${text(v3KeyEnv)} },`,
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
    "baseUrl": ${text(v4BaseUrl)}, "apiKeyEnv": ${text(v4KeyEnv)},
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
${renderModels(models)}

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
  // "drift": { "ignore": {}, "trustDataHash": false },

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

function renderModels(models: readonly ModelPair[] | null): string {
  const lines = (models ?? DEFAULT_MODELS).map(({ v3, v4, expand, children }) => {
    const more = [
      ...(expand.length === 0 ? [] : [`"expand": ${JSON.stringify(expand)}`]),
      ...(children.length === 0 ? [] : [`"children": ${JSON.stringify(children)}`]),
    ];
    const settings = [`"v3": ${JSON.stringify(v3)}`, `"v4": ${JSON.stringify(v4)}`, ...more];
    return `    { ${settings.join(', ')} },`;
  });
  const block = ['  "models": [', ...lines, '  ],'];
  // Commented out, because guessed V4 names would otherwise count as confirmed.
  return (models === null ? block.map((line) => line.replace(/^ {2}/, '  // ')) : block).join('\n');
}
