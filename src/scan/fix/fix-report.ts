import { createTwoFilesPatch } from 'diff';
import { append } from '../../text/group-by.js';
import { countOf } from '../../text/numbers.js';
import * as z from '../../zod.js';
import type { RuleId } from '../rules/rules.js';
import type { V3Use } from '../scan-report.js';
import type { FixPlan, PatchedFile } from './fix-files.js';
import type { FixUnit } from './plan-units.js';

/** Why a request is left unchanged: the reason in the summary, then the advice in the comment above the request. */
const UNFIXED = {
  likely: ['it is not certain that this is V3', 'check whether this is V3, then request {route}'],
  unknown_v4: ['the address of V4 is not known (v4.baseUrl in the configuration)', 'request {route}'],
  model: [
    'the name of the model in V4 is not known, or only a guess (set it in the configuration)',
    'find out what V4 calls this model, then request {route}',
  ],
  no_company: ['no company is named, and V4 needs one in the path', 'name the company: {route}'],
  company_filter: ['the company filter is not a single [eq]', 'request each company separately: {route}'],
  company_pair: [
    'the remap has no usable pair for a company in the code (--company-ids same states that its id stayed)',
    'find the V4 id of the company, then request {route}',
  ],
  company_variable: [
    'a variable holds the company, and its ids may have changed (--company-ids same states that they did not)',
    'make sure that the company id is one of V4, then request {route}',
  ],
  record: [
    'the address names a record by its V3 id',
    'use the V4 id of the record: svc-migrate lookup MODEL ID',
  ],
  parameter: [
    'V4 does not describe a parameter of the request (--facts tells whether V4 honours it)',
    'find out whether V4 honours every parameter (svc-migrate doctor), then request {route}',
  ],
  parameters_unseen: [
    'not all parameters and options of the request are written in the call',
    'move the request and its parameters to {route}',
  ],
  method: ['it is not a GET request', 'find the V4 form of this request'],
  address_built: [
    'the address is put together in a way that cannot be rewritten piece by piece',
    'request {route}',
  ],
  address_elsewhere: ['a part of the address is written in another file', 'request {route}'],
  address_used: [
    'the address is also used by code that was not followed',
    'move every use of this address to V4 at once: {route}',
  ],
  address_shared: [
    'the address is shared with a request that stays as it is',
    'move every request to this address at once: {route}',
  ],
  request_form: [
    '--fix does not know this kind of call',
    'request {route}, and read the list from data.data',
  ],
  response_used: [
    'the response goes to code that was not followed',
    'request {route}, and read the list from data.data wherever the response goes',
  ],
  response_typed: [
    'the response has a declared type, which must change too',
    'request {route}, and change the type of the response: the list is in data.data',
  ],
  ignored: ['an svc-migrate-ignore comment excludes it', ''],
  encoding: ['the file is not valid UTF-8', 'request {route}'],
  unproven: ['the patched file did not pass its check', 'request {route}, and read the list from data.data'],
  not_written: ['its file was not written', 'request {route}'],
  overlapping: ['two patches would change the same place differently', 'request {route}'],
} as const;

export type UnfixedReason = keyof typeof UNFIXED;

const count = z.int().nonnegative();
const reasons = Object.keys(UNFIXED) as [UnfixedReason, ...UnfixedReason[]];

/** What `--fix` and `--mark` did, in the JSON of `scan`. */
export const fixSchema = z.strictObject({
  dryRun: z.boolean().describe('Nothing was written; the findings are those of the code as it is.'),
  fixed: count.describe('Requests that were rewritten, each with everything that depends on it.'),
  notFixed: count.describe('Requests that stay as they are.'),
  units: z.array(
    z.strictObject({
      file: z.string(),
      line: z.int().positive(),
      route: z.string().describe('The V4 form of the route.'),
      reason: z.enum(reasons).nullable().describe('Why it stays as it is; null: it was rewritten.'),
    }),
  ),
  files: z.array(
    z.strictObject({
      path: z.string(),
      outcome: z
        .enum(['written', 'planned', 'changed', 'outside'])
        .describe(
          '`planned`: a dry run. `changed`: not written, as it changed meanwhile. `outside`: not written, as a link leads out of the folder.',
        ),
    }),
  ),
  marked: count.describe('Comments that were added.'),
  unmarked: z.array(z.strictObject({ file: z.string(), line: z.int().positive(), why: z.string() })),
  remapNote: z.string().nullable().describe('Why the company ids of the remap were not used.'),
});
export type FixReport = z.output<typeof fixSchema>;
type Outcome = FixReport['files'][number]['outcome'];

/** What became of a plan. Requests in files that could not be written count as not fixed, with the reason `not_written`. */
export function buildFixReport(
  { units, files, marked, unmarked }: FixPlan,
  outcomes: ReadonlyMap<string, Outcome>,
  { dryRun, remapNote }: Pick<FixReport, 'dryRun' | 'remapNote'>,
): FixReport {
  const isFailed = (path: string) => /^(changed|outside)$/.test(outcomes.get(path) ?? '');
  const judged = units.map((one) =>
    one.reason === null && isFailed(one.file) ? { ...one, reason: 'not_written' as const } : { ...one },
  );
  const fixed = judged.filter(({ reason }) => reason === null).length;
  return {
    dryRun,
    fixed,
    notFixed: judged.length - fixed,
    units: judged,
    files: files.map(({ path }) => ({ path, outcome: outcomes.get(path) ?? 'planned' })),
    marked,
    unmarked: [...unmarked],
    remapNote,
  };
}

/** Maximum number of places that are named for a reason. */
const MAX_PLACES = 5;

/** What a fix did, or would do, and why the rest stays: lines for people. */
export function describeFix(fix: FixReport): string[] {
  const { fixed, notFixed, dryRun, files, marked, unmarked, units } = fix;
  const rewritten = files.filter(({ outcome }) => outcome !== 'changed' && outcome !== 'outside');
  const done = dryRun ? 'Would fix' : 'Fixed';
  const requests = units.length === 0 && marked > 0 ? '' : `${done} ${countOf(fixed, 'request')}; `;
  const head = `${requests}${countOf(rewritten.length, 'file')} ${dryRun ? 'would change. Nothing was written.' : 'changed.'}`;
  const reasons = listReasons(fix).map(([reason, places]) => {
    const shown = places.slice(0, MAX_PLACES).join(', ');
    const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more` : '';
    return `  ${places.length} because ${UNFIXED[reason][0]}: ${shown}${more}`;
  });
  const failed = files.flatMap(({ path, outcome }) => {
    if (outcome === 'changed')
      return [`NOT WRITTEN: ${path} changed while it was read. Run the command again.`];
    return outcome === 'outside' ? [`NOT WRITTEN: ${path} is a link that leads out of this folder.`] : [];
  });
  return [
    head,
    ...(notFixed === 0 ? [] : [`Left as they are: ${countOf(notFixed, 'request')}.`, ...reasons]),
    ...(marked === 0
      ? []
      : [`${dryRun ? 'Would mark' : 'Marked'} ${countOf(marked, 'place')} with a comment.`]),
    ...unmarked.map(({ file, line, why }) => `Not marked: ${file}:${line}, as ${why}.`),
    ...(fix.remapNote === null ? [] : [fix.remapNote]),
    ...failed,
  ];
}

/** Reasons with the places of their requests, most frequent first. */
function listReasons({ units }: FixReport): [UnfixedReason, string[]][] {
  const places = new Map<UnfixedReason, string[]>();
  for (const { file, line, reason } of units) {
    if (reason === null) continue;
    append(places, reason, `${file}:${line}`);
  }
  return [...places].sort((a, b) => b[1].length - a[1].length);
}

/** The changes as a unified diff, as `git apply` takes it. */
export function renderDiff(files: readonly PatchedFile[]): string {
  return files
    .map(({ path, before, after }) => {
      const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after, undefined, undefined, {
        context: 3,
      });
      return patch.replace(/^=+\n/, '');
    })
    .join('');
}

/** A place that has something left to do. */
export interface Todo {
  readonly line: number;
  readonly text: string;
}

/** Advice on a use, by rule, if no request on its line has advice of its own. `v4`: the V4 form of the use. */
const ADVICE: Readonly<Record<RuleId, (v4: string) => string>> = {
  'base-url': (v4) => `move this address to V4: ${v4}`,
  route: (v4) => `request ${v4}`,
  'company-filter': () => 'name the company in the path: /v4/core/companies/{companyId}/…',
  'query-parameter': () => 'find out whether V4 honours this parameter (svc-migrate doctor)',
  envelope: (v4) => `read ${v4}`,
  graphql: (v4) => `V4 has no GraphQL: ${v4}`,
  'hard-coded-id': () => 'put the V4 id here: svc-migrate lookup MODEL ID',
  webhook: () => 'look up every id: V3 and V4 ids arrive here',
  'recorded-response': () => 'record this response again, from V4',
  'stored-id': () => 'rewrite the stored ids: svc-migrate apply',
  'id-width': () => 'use a type of 64 bits',
  'client-library': () => 'use a client that is generated from V4',
  mark: () => '',
};

/** What is left to do in a file, one entry for each line. Advice on a request replaces advice on other uses on its line. */
export function listTodos(uses: readonly V3Use[], units: readonly FixUnit[]): Todo[] {
  const todos = new Map<number, string>();
  for (const { line, rule, v4 } of uses) {
    if (rule === 'mark') continue;
    const unit = units.find((one) => one.line === line && one.reason !== null && one.reason !== 'ignored');
    const text =
      unit?.reason == null ? ADVICE[rule](v4) : UNFIXED[unit.reason][1].replace('{route}', unit.route);
    if (unit !== undefined || !todos.has(line))
      todos.set(line, text.replace(/\s+/g, ' ').replaceAll('*/', ''));
  }
  return [...todos].map(([line, text]) => ({ line, text })).sort((a, b) => a.line - b.line);
}
