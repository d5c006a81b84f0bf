import { type Generation, parseSvcId } from '../domain.js';
import { SvcError } from '../errors.js';
import { STATUSES } from '../reasons.js';
import { assertStdout, writeStream, writeText } from '../runtime/write-output.js';
import { assertCompleteRemap, isRemapStale, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { type Lookup, prepareLookup } from '../store/verified-remap.js';
import { cutText } from '../text/text-layout.js';
import * as z from '../zod.js';
import { idScopeOf } from './catalogue/options.js';
import type { lookup } from './catalogue/use-commands.js';
import type { GivenTo, Io } from './command.js';
import { readDatabase, warnOfIncomplete } from './database.js';

const SEVERAL =
  'Warning: several_records: these ids belong to records of several regions, companies or parents. --region and --company say which is meant; svc-migrate explain shows them.\n';

/**
 * `lookup`: prints one line per id, in the order given: `id TAB other-id-or-minus TAB status/reason`, or NDJSON. Exits
 * with 1 if an id is not in the remap; an id without a V4 id is not a failure.
 */
export async function run(given: GivenTo<typeof lookup>, io: Io): Promise<number> {
  const { options } = given;
  const config = await given.config();
  const { model, path, region } = idScopeOf(options, config);
  const place = { path: path ?? '', region, companyId: options.company ?? null };
  const from = options.reverse ? 'v4' : 'v3';
  const { ids, json: target } = options;
  const input = options.stdin ? given.openInput() : undefined;
  if (ids.length === 0 && input === undefined) {
    throw new SvcError('usage', 'No ids were given.', {
      hint: 'Name them after the model, or read them from stdin with --stdin.',
    });
  }
  if (target === undefined) assertStdout();
  return readDatabase(config, async (db) => {
    const facts = readReadiness(db, config, EVERYTHING);
    if (!options.allowIncomplete) assertCompleteRemap(facts);
    await warnOfIncomplete(facts, io);
    const stale = isRemapStale(facts);
    const find = prepareLookup(db);
    let isAllKnown = true;
    let isSeveral = false;
    // Ids of children are often looked up as ids of records.
    const children = path === null ? (config.models.find(({ v3 }) => v3 === model)?.children ?? []) : [];
    let field: string | undefined;
    const answer = (id: bigint) => {
      const found = find(from, model, id, place);
      if (found.status === 'unknown') {
        isAllKnown = false;
        field ??= children.find((one) => find(from, model, id, { ...place, path: one }).status !== 'unknown');
      }
      if (found.reason === 'several_records') isSeveral = true;
      return target === undefined
        ? renderAnswer(found, from)
        : renderAnswerJson(found, { model, path: place.path }, stale);
    };
    await writeStream(target ?? '-', answerAll(ids, input, answer), io);
    if (isSeveral) await writeText(io.stderr, [SEVERAL]);
    if (field !== undefined)
      await writeText(io.stderr, [
        `Warning: some are ids of children: write the model as ${model}#${field}.\n`,
      ]);
    return isAllKnown ? 0 : 1;
  });
}

async function* answerAll(
  ids: readonly bigint[],
  input: AsyncIterable<string | Uint8Array> | undefined,
  answer: (id: bigint) => string,
): AsyncGenerator<string> {
  if (ids.length > 0) yield ids.map(answer).join('');
  if (input === undefined) return;
  let line = 0;
  for await (const block of readLines(input)) {
    let text = '';
    for (const idText of block) {
      line += 1;
      const trimmed = idText.trim();
      if (trimmed !== '') text += answer(parseLine(trimmed, line));
    }
    if (text !== '') yield text;
  }
}

/** Lines as they arrive, a block at a time; the last line needs no line feed. */
async function* readLines(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const lines = (
      rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    ).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
  if (rest !== '') yield [rest];
}

function parseLine(text: string, line: number): bigint {
  const id = parseSvcId(text);
  if (id !== null) return id;
  throw new SvcError('bad_input', `Line ${line} of the input is not an id: "${cutText(text, 40)}".`, {
    hint: 'Write one id per line: 64-bit integers in plain digits.',
    facts: { line },
  });
}

function renderAnswer(answer: ReturnType<Lookup>, from: Generation): string {
  const { v3Id, v4Id, status, reason } = answer;
  const [asked, other] = from === 'v3' ? [v3Id, v4Id] : [v4Id, v3Id];
  return `${asked}\t${other ?? '-'}\t${status}${reason === null ? '' : `/${reason}`}\n`;
}

const id = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A 64-bit integer as digits.');

/** A line of the JSON of `lookup`. */
export const schema = z.strictObject({
  model: z.string(),
  path: z.string().describe('Empty for records, for children the name of their field.'),
  v3_svc_id: id.nullable(),
  v4_svc_id: id.nullable(),
  status: z.enum([...STATUSES, 'unknown']),
  reason: z.string().nullable(),
  region: z.string().nullable(),
  v3_company_id: id.nullable(),
  v4_company_id: id.nullable(),
  stale: z.boolean().describe('Whether the export has changed since this remap was built.'),
});

function renderAnswerJson(
  answer: ReturnType<Lookup>,
  of: Pick<z.output<typeof schema>, 'model' | 'path'>,
  stale: boolean,
): string {
  const line: z.output<typeof schema> = {
    ...of,
    v3_svc_id: answer.v3Id?.toString() ?? null,
    v4_svc_id: answer.v4Id?.toString() ?? null,
    status: answer.status,
    reason: answer.reason,
    region: answer.region,
    v3_company_id: answer.v3CompanyId?.toString() ?? null,
    v4_company_id: answer.v4CompanyId?.toString() ?? null,
    stale,
  };
  return `${JSON.stringify(line)}\n`;
}
