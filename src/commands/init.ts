import { existsSync } from 'node:fs';
import { findConfigFile } from '../config/load-config.js';
import { configSchema, DEFAULT_MODELS, DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV } from '../config/settings.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { alreadyThere, createFile, writeText } from '../runtime/write-output.js';
import { PLACEHOLDER_HOST } from '../text/addresses.js';
import { addFlagsToNext } from '../text/escape.js';
import { wrapText } from '../text/text-layout.js';
import * as z from '../zod.js';
import type { init } from './catalogue/run-commands.js';
import { configFlags, type GivenTo, type Io } from './command.js';

/** `init`: writes a commented starter configuration, with the addresses that the options name. */
export async function run(given: GivenTo<typeof init>, io: Io): Promise<number> {
  const { force, v3, v4 } = given.options;
  const file = findConfigFile(io.env, configFlags(given.raw).config);
  if (!force && existsSync(file)) throw existsError(file);
  const starter = {
    v3BaseUrls: v3 ?? STARTER_DEFAULTS.v3BaseUrls,
    v4BaseUrl: v4 ?? STARTER_DEFAULTS.v4BaseUrl,
  };
  write(file, renderStarter(starter), force);
  const todo = v3 === undefined || v4 === undefined ? 'Put the addresses into it. ' : '';
  await writeText(io.stdout, [
    `Wrote ${file}.\n`,
    `${todo}Set ${DEFAULT_V3_KEY_ENV} and ${DEFAULT_V4_KEY_ENV} to the API keys.\n`,
    addFlagsToNext('Next: svc-migrate doctor\n', io.flags),
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
}

/** What `init` writes where no option says otherwise. */
export const STARTER_DEFAULTS: Starter = {
  v3BaseUrls: { default: `https://${PLACEHOLDER_HOST}/v3` },
  v4BaseUrl: `https://${PLACEHOLDER_HOST}`,
};

const INDENT = '  ';
/** Columns of a comment. */
const COMMENT_WIDTH = 120;

/** What the descriptions of settings do not say. */
const NOTES: Readonly<Record<string, string>> = {
  regions:
    'Keys are never written here: name an environment variable, or a file only you can read (apiKeyFile).',
  models: 'Only "invoices" is a documented V4 name; the others are guesses until you say so here.',
  decisions: '`findings --write-decisions` drafts the file.',
  limits:
    'Unmatched and ambiguous ids are not accepted unless a line here says so, such as "outside_backfill_window": "100%".',
  apply: '`apply find` proposes targets.',
};

/** Renders a commented configuration from its schema; settings that are commented out show their defaults. */
export function renderStarter({ v3BaseUrls, v4BaseUrl }: Starter): string {
  const regions = Object.entries(v3BaseUrls).map(([region, baseUrl]) => [
    region,
    { baseUrl, apiKeyEnv: DEFAULT_V3_KEY_ENV },
  ]);
  const written = {
    $schema: './node_modules/svc-migrate/schema/config.schema.json',
    v3: { regions: Object.fromEntries(regions) },
    v4: { baseUrl: v4BaseUrl, apiKeyEnv: DEFAULT_V4_KEY_ENV },
  };
  const settings = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
  return `{${renderSettings(settings, written, INDENT).join('\n')}\n}\n`;
}

type Schema = z.core.JSONSchema.BaseSchema;

function membersOf({ properties = {} }: Schema): (readonly [name: string, schema: Schema])[] {
  return Object.entries(properties).flatMap(([name, own]) => (typeof own === 'boolean' ? [] : [[name, own]]));
}

function renderSettings(settings: Schema, written: object, indent: string): string[] {
  const given = new Map<string, unknown>(Object.entries(written));
  return membersOf(settings).flatMap(([name, own]) => {
    const value = given.get(name);
    const usual =
      name === 'models' ? DEFAULT_MODELS.map(({ v4Guessed: _, ...model }) => model) : defaultOf(own);
    if (value === undefined && usual === undefined) return [];
    const text = [own.description, NOTES[name] ?? []].flat().join(' ');
    // At the top, a line stands between settings.
    const comment = [indent === INDENT ? [''] : [], wrapText(text, COMMENT_WIDTH, `${indent}// `)].flat();
    if (value === undefined) return [...comment, ...renderSetting(name, usual, `${indent}// `)];
    if (own.properties === undefined || typeof value !== 'object' || value === null)
      return [...comment, ...renderSetting(name, value, indent)];
    const inner = renderSettings(own, value, indent + INDENT);
    return [...comment, `${indent}${JSON.stringify(name)}: {`, ...inner, `${indent}},`];
  });
}

/** The default of a setting, or of all settings in a section; undefined where there is none. */
function defaultOf(schema: Schema): unknown {
  if (schema.properties === undefined) return schema.default;
  const usual = membersOf(schema).map(([name, own]) => [name, defaultOf(own)]);
  return Object.fromEntries(usual.filter(([, value]) => value !== undefined));
}

/** A setting on one line; what is in a list or an object of objects has lines of its own. */
function renderSetting(name: string, value: unknown, indent: string): string[] {
  const start = `${indent}${JSON.stringify(name)}: `;
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const isObject = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one);
  if (!members.some(([, one]) => isObject(one) && Object.keys(one).length > 0))
    return [`${start}${compact(value)},`];
  const isList = Array.isArray(value);
  const lines = members.map(([key, one]) => `${isList ? '' : `${JSON.stringify(key)}: `}${compact(one)},`);
  const [open, close] = isList ? '[]' : '{}';
  return [`${start}${open}`, ...lines.map((line) => indent + INDENT + line), `${indent}${close},`];
}

function compact(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n */g, ' ');
}
