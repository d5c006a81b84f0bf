import { Command } from '@commander-js/extra-typings';
import { parseSvcId } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Answer } from '../store/lookup.js';
import type { DefineCommand, Io } from './command.js';
import { idOption, placeOf } from './options.js';

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

/** What to do about answers without an id, by their reason or status. */
const HINTS: ReadonlyMap<string, string> = new Map([
  [
    'several_records',
    'several_records: an id belongs to records of several regions, companies or parents. Name one with --region or --company.',
  ],
  ['merged', 'merged: several V3 ids became one V4 id; they are all named, separated by commas.'],
  [
    'unknown',
    'unknown: not in the remap. Ids of children need a model such as accounting/invoices#line_items.',
  ],
]);

async function lookUp(name: string, words: readonly string[], options: LookupOptions, io: Io) {
  const config = await io.config();
  const { model, path, ...place } = placeOf(name, options, config);
  if (words.length === 0 && options.stdin !== true) {
    throw new SvcError('usage', 'No ids were given.', {
      hint: 'Name them after the model, or read them from stdin with --stdin.',
    });
  }
  const ids = words.map((word) => parseWord(word, 'usage', 'The argument'));
  const { prepareLookup } = await import('../store/lookup.js');
  const { writeOutput } = await import('../runtime/write-output.js');
  const { readLastRemap } = await import('./database.js');
  const { reverse = false, json } = options;
  return readLastRemap(config, options, io, async (db, isStale) => {
    const find = prepareLookup(db);
    const outcomes = new Set<string>();
    async function* lines(): AsyncGenerator<string> {
      for await (const id of readIds(ids, options, io)) {
        const answer = find(reverse ? 'v4' : 'v3', model, id, { path: path ?? '', ...place });
        outcomes.add(answer.reason ?? answer.status);
        yield json === undefined ? renderLine(answer, reverse) : renderJsonLine(answer, name, isStale);
      }
    }
    await writeOutput(json ?? '-', lines(), io);
    for (const [outcome, text] of HINTS) {
      if (outcomes.has(outcome)) io.onProgress({ kind: 'note', level: 'warning', text });
    }
    return { exitCode: outcomes.has('unknown') ? 1 : 0 };
  });
}

async function* readIds(ids: readonly bigint[], { stdin }: LookupOptions, io: Io): AsyncGenerator<bigint> {
  yield* ids;
  if (stdin !== true) return;
  const { createInterface } = await import('node:readline');
  let line = 0;
  for await (const text of createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text.trim() !== '') yield parseWord(text.trim(), 'bad_input', `Line ${line} of the input`);
  }
}

function parseWord(word: string, code: 'usage' | 'bad_input', subject: string): bigint {
  const id = parseSvcId(word);
  if (id !== null) return id;
  throw new SvcError(code, `${subject} is not an id: "${word.slice(0, 40)}".`, {
    hint: 'Ids are 64-bit integers in plain digits.',
  });
}

function renderLine({ v3Id, v4Id, mergedV3Ids, status, reason }: Answer, isReverse: boolean): string {
  const v3 = mergedV3Ids.length > 0 ? mergedV3Ids.join(',') : v3Id;
  const [asked, other] = isReverse ? [v4Id, v3] : [v3Id, v4Id];
  return `${asked}\t${other ?? '-'}\t${status}${reason === null ? '' : `/${reason}`}\n`;
}

function renderJsonLine(answer: Answer, name: string, stale: boolean): string {
  const [model, path = ''] = name.split('#');
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
    merged_v3_svc_ids: answer.mergedV3Ids.map(String),
    stale,
  };
  return `${JSON.stringify(line)}\n`;
}
