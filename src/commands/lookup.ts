import { Command } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { type Generation, parseSvcId } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Answer, Lookup } from '../store/lookup.js';
import type { DefineCommand, Io } from './command.js';
import { idOption } from './options.js';

export const lookupCommand: DefineCommand = (run) =>
  new Command('lookup')
    .summary('translate V3 ids to V4 ids, or back')
    .description(
      'Prints one line for each id, in the order given: the id, its id in the other generation or -, status and reason, separated by tabs. Exits with 1 if an id is not in the remap. For children, write the model as accounting/invoices#line_items.',
    )
    .argument('<model>', 'V3 path of the model')
    .argument('[ids...]', 'ids to translate')
    .option('--stdin', 'also read ids from stdin, one per line')
    .option('--reverse', 'translate V4 ids to V3 ids')
    .option('--region <name>', 'V3 region of the ids, if regions use the same ids')
    .option('--company <id>', 'company of the ids: a V3 company, with --reverse a V4 company', idOption)
    .option('--allow-incomplete', 'use a remap that was built before every list was read')
    .option('--json <file>', 'write the answers as NDJSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate lookup accounting/invoices 1001 1002')
    .action((model, ids, options, command) =>
      run(command, ['json'], (io) => lookUp(model, ids, options, io)),
    );

interface LookupOptions {
  readonly stdin?: true | undefined;
  readonly reverse?: true | undefined;
  readonly region?: string | undefined;
  readonly company?: bigint | undefined;
  readonly allowIncomplete?: true | undefined;
  readonly json?: string | undefined;
}

async function lookUp(model: string, words: readonly string[], options: LookupOptions, io: Io) {
  const config = await io.config();
  const place = parsePlace(config, model, options);
  if (words.length === 0 && options.stdin !== true) {
    throw new SvcError('usage', 'No ids were given.', {
      hint: 'Name them after the model, or read them from stdin with --stdin.',
    });
  }
  const ids = words.map((word) => parseArgument(word));
  const { assertUsableRemap, readStaleness } = await import('../store/readiness.js');
  const { prepareLookup } = await import('../store/lookup.js');
  const { writeOutput } = await import('../runtime/write-output.js');
  const { readDatabase } = await import('./read-database.js');
  return readDatabase(config, async (db) => {
    const { allowIncomplete = false } = options;
    assertUsableRemap(db, config, { allowIncomplete, allowStale: true });
    const changes = readStaleness(db, config);
    if (changes.length > 0)
      warn(io, `The remap is stale. Changed since it was built: ${changes.join(', ')}.`);
    const answers = createAnswers(prepareLookup(db), place);
    const render =
      options.json === undefined
        ? renderLine
        : (answer: Answer) => renderJsonLine(answer, place, changes.length > 0);
    async function* lines(): AsyncGenerator<string> {
      for await (const id of readIds(ids, options, io)) yield render(answers.find(id), place.from);
    }
    await writeOutput(options.json ?? '-', lines(), io);
    for (const text of answers.warnings()) warn(io, text);
    return { exitCode: answers.areAllKnown() ? 0 : 1 };
  });
}

function warn(io: Io, text: string): void {
  io.onProgress({ kind: 'note', level: 'warning', text });
}

interface Place {
  readonly from: Generation;
  readonly model: string;
  /** '' for records, otherwise the children's field. */
  readonly path: string;
  readonly region: string | null;
  readonly companyId: bigint | null;
  /** Fields of the model that hold children. */
  readonly children: readonly string[];
}

/** @throws SvcError `usage` for a model, field, region or company that does not exist */
function parsePlace(config: Config, text: string, { reverse, region, company }: LookupOptions): Place {
  const [model = '', path = ''] = text.split('#', 2);
  const pair = config.models.find(({ v3 }) => v3 === model);
  if (pair === undefined)
    throw unknownName(
      'model',
      model,
      config.models.map(({ v3 }) => v3),
    );
  if (path !== '' && !pair.children.includes(path))
    throw unknownName(`field with children in ${model}`, path, pair.children);
  const regions = config.v3.regions.map((endpoint) => endpoint.region);
  if (region !== undefined && !regions.includes(region)) throw unknownName('region', region, regions);
  return {
    from: reverse === true ? 'v4' : 'v3',
    model,
    path,
    region: region ?? null,
    companyId: company ?? null,
    children: pair.children,
  };
}

function unknownName(what: string, name: string, names: readonly string[]): SvcError {
  return new SvcError('usage', `The configuration has no ${what} "${name}".`, {
    hint: names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
  });
}

function createAnswers(find: Lookup, place: Place) {
  const { from, model, path, children } = place;
  let areAllKnown = true;
  let isSeveral = false;
  let field: string | undefined;
  return {
    find: (id: bigint): Answer => {
      const answer = find(from, model, id, place);
      if (answer.status === 'unknown') {
        areAllKnown = false;
        if (path === '')
          field ??= children.find(
            (name) => find(from, model, id, { ...place, path: name }).status !== 'unknown',
          );
      }
      isSeveral ||= answer.reason === 'several_records';
      return answer;
    },
    areAllKnown: () => areAllKnown,
    warnings: () => [
      ...(isSeveral
        ? [
            'several_records: an id belongs to records of several regions, companies or parents. Name one with --region or --company.',
          ]
        : []),
      ...(field === undefined ? [] : [`Some are ids of children: write the model as ${model}#${field}.`]),
    ],
  };
}

async function* readIds(ids: readonly bigint[], { stdin }: LookupOptions, io: Io): AsyncGenerator<bigint> {
  yield* ids;
  if (stdin !== true) return;
  const { createInterface } = await import('node:readline');
  let line = 0;
  for await (const text of createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text.trim() !== '') yield parseLine(text.trim(), line);
  }
}

function parseArgument(word: string): bigint {
  const id = parseSvcId(word);
  if (id !== null) return id;
  throw new SvcError('usage', `"${word.slice(0, 40)}" is not an id.`, {
    hint: 'Ids are 64-bit integers in plain digits.',
  });
}

function parseLine(text: string, line: number): bigint {
  const id = parseSvcId(text);
  if (id !== null) return id;
  throw new SvcError('bad_input', `Line ${line} of the input is not an id: "${text.slice(0, 40)}".`, {
    hint: 'Write one id per line: 64-bit integers in plain digits.',
    facts: { line },
  });
}

function renderLine({ v3Id, v4Id, status, reason }: Answer, from: Generation): string {
  const [asked, other] = from === 'v3' ? [v3Id, v4Id] : [v4Id, v3Id];
  return `${asked}\t${other ?? '-'}\t${status}${reason === null ? '' : `/${reason}`}\n`;
}

function renderJsonLine(answer: Answer, { model, path }: Place, stale: boolean): string {
  const digits = (id: bigint | null) => (id === null ? null : String(id));
  const line = {
    model,
    path,
    v3_svc_id: digits(answer.v3Id),
    v4_svc_id: digits(answer.v4Id),
    status: answer.status,
    reason: answer.reason,
    region: answer.region,
    v3_company_id: digits(answer.v3CompanyId),
    v4_company_id: digits(answer.v4CompanyId),
    stale,
  };
  return `${JSON.stringify(line)}\n`;
}
