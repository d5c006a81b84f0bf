import { dirname, relative } from 'node:path';
import { isCancel, selectKey, text as textPrompt } from '@clack/prompts';
import type { Config } from '../config/config.js';
import { openCompanies, openDecisions } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import { explainRecord } from '../inspect/explain/explain-record.js';
import { renderCandidates } from '../inspect/explain/render-explanation.js';
import type { ExportedObject, Story } from '../inspect/explain/story.js';
import { DECIDABLE_REASONS } from '../reasons.js';
import { writeText } from '../runtime/write-output.js';
import { type FindingFilter, listUndecided, prepareIsDeleted } from '../store/finding-rows.js';
import { isRemapStale, readReadiness } from '../store/readiness.js';
import { EVERYTHING, type RemapRow } from '../store/remap-rows.js';
import { readAmbiguousCompanies } from '../store/remap-tables.js';
import type { AmbiguousCompany } from '../text/describe-evidence.js';
import { addFlagsToNext } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import * as z from '../zod.js';
import { terminalOf } from './ask.js';
import { type NarrowingOptions, narrowingOf, scopeOf } from './catalogue/options.js';
import type { Given, Input, Io } from './command.js';
import { assertCompanies, assertRemapIntact, readDatabase, warnOfIncomplete } from './database.js';

/** Candidates have the keys 1 to 9. */
const MAX_CANDIDATES = 9;

const SKIP = { value: 's', label: 'skip: ask again next time' };
const QUIT = { value: 'q', label: 'quit: answers so far are kept' };

type Answer =
  | { readonly kind: 'candidate'; readonly at: number }
  | { readonly kind: 'none' | 'new' | 'accept' | 'skip' | 'quit' };

const KINDS: Readonly<Record<string, Exclude<Answer['kind'], 'candidate'>>> = {
  n: 'none',
  v: 'new',
  a: 'accept',
  s: 'skip',
  q: 'quit',
};

/** How a session went. */
interface Session {
  answers: number;
  skipped: number;
  isOver: boolean;
  /** Whether it was left with Ctrl-C. */
  isInterrupted: boolean;
}

/**
 * `decide`: asks one open question after the other on the terminal, companies first. Each answer is written at once, below
 * what the file holds already, so that the session can be left at any time.
 */
export async function runDecide(given: Given<NarrowingOptions>, io: Io): Promise<number> {
  const input = terminalOf(given, io);
  if (input === null) {
    throw new SvcError('usage', 'decide asks on a terminal, and this is none.', {
      hint: 'Draft the files instead: svc-migrate findings --write-decisions FILE --write-companies FILE.',
    });
  }
  const config = await given.config();
  const narrowing = narrowingOf(given.options, config);
  const filter = { ...scopeOf(narrowing), statuses: null, reasons: null };
  const open = await readOpenQuestions(config, filter, narrowing.companies, io);
  const session: Session = { answers: 0, skipped: 0, isOver: false, isInterrupted: false };
  const prompt = prepareAsk(input, session, io);
  const files = { companies: openCompanies(config, io), decisions: openDecisions(config, io) };
  await askCompanies(open.companies, files.companies, { session, prompt, io });
  await askRecords(open.records, files.decisions, { session, prompt, io, config });
  await writeText(io.stdout, [describeEnd(session, config, Object.values(files), io)]);
  if (session.isInterrupted) throw new SvcError('interrupted', 'Stopped; the answers so far are kept.');
  return 0;
}

interface OpenQuestions {
  readonly companies: readonly AmbiguousCompany[];
  readonly records: readonly RemapRow[];
}

/** The open questions of the last remap. The database is closed while a person thinks. */
function readOpenQuestions(
  config: Config,
  filter: FindingFilter,
  companies: readonly bigint[],
  io: Io,
): Promise<OpenQuestions> {
  return readDatabase(config, async (db) => {
    await assertRemapIntact(db, io);
    assertCompanies(db, companies);
    const facts = readReadiness(db, config, EVERYTHING);
    if (facts.lastRun === undefined) {
      throw new SvcError('incomplete', 'There is no remap yet.', { hint: 'Run `svc-migrate remap` first.' });
    }
    if (isRemapStale(facts)) {
      throw new SvcError(
        'incomplete',
        'The remap is older than the export, so its questions may be settled.',
        {
          hint: 'Run `svc-migrate remap` first.',
        },
      );
    }
    await warnOfIncomplete(facts, io);
    const isDeleted = prepareIsDeleted(db);
    return {
      companies: readAmbiguousCompanies(db, filter),
      records: [...listUndecided(db, filter)].filter((row) => !isDeleted(row)),
    };
  });
}

type Ask = (
  message: string,
  options: readonly { readonly value: string; readonly label: string }[],
) => Promise<Answer>;

interface Prompt {
  readonly ask: Ask;
  /** Asks for a line that `validate` has nothing against; null if the person left. */
  readonly askText: (
    message: string,
    validate?: (text: string | undefined) => string | undefined,
  ) => Promise<string | null>;
}

/** What is wrong with a day. */
function checkDay(text = ''): string | undefined {
  return z.iso.date().safeParse(text).success ? undefined : 'A day such as 2027-01-31.';
}

function prepareAsk(input: Input, session: Session, io: Io): Prompt {
  // Each prompt leaves a listener on its signal: Node.js would warn of the eleventh on one.
  const terminal = () => ({
    input,
    output: io.stdout,
    signal: AbortSignal.any([io.signal]),
    withGuide: false,
  });
  const leave = () => {
    session.isOver = true;
    session.isInterrupted = true;
  };
  return {
    ask: async (question, options) => {
      for (let message = question; ; message = `Enter is no answer: press one of the keys. ${question}`) {
        const key = await selectKey({ message, options: [...options], ...terminal() });
        if (isCancel(key)) {
          leave();
          return { kind: 'quit' };
        }
        if (/^\d$/.test(key)) return { kind: 'candidate', at: Number(key) - 1 };
        const kind = KINDS[key];
        if (kind !== undefined) return { kind };
      }
    },
    askText: async (message, validate = () => undefined) => {
      const text = await textPrompt({ message, validate, ...terminal() });
      if (isCancel(text)) leave();
      return isCancel(text) ? null : text;
    },
  };
}

interface Asking {
  readonly session: Session;
  readonly prompt: Prompt;
  readonly io: Io;
}

async function askCompanies(
  companies: readonly AmbiguousCompany[],
  file: ReturnType<typeof openCompanies>,
  { session, prompt, io }: Asking,
): Promise<void> {
  const isNamed = ({ region, v3CompanyId }: AmbiguousCompany) =>
    file.rows.some((row) => row.region === region && String(row.v3CompanyId) === v3CompanyId);
  for (const [at, company] of companies.entries()) {
    if (session.isOver) return;
    if (isNamed(company)) continue;
    const { region, v3CompanyId, candidates } = company;
    const ownerOf = ({ v4CompanyId }: Candidate) =>
      file.rows.find((row) => String(row.v4CompanyId) === v4CompanyId);
    const shown = candidates.filter((one) => ownerOf(one) === undefined).slice(0, MAX_CANDIDATES);
    const head = `Company ${at + 1} of ${companies.length}: which V4 company is V3 company ${v3CompanyId} of ${region}?`;
    const taken = candidates.flatMap((one) => {
      const owner = ownerOf(one);
      if (owner === undefined) return [];
      return [
        `  ${labelOf(one)}, but it was already given to V3 company ${owner.v3CompanyId} of ${owner.region}.`,
      ];
    });
    const none = shown.length === 0 ? ['  No V4 company shares keys with it that is not named already.'] : [];
    const lines = [...taken, ...none];
    await writeText(io.stdout, [`\n${wrapLines([head, ...lines], io.width)}`]);
    const options = shown.map((one, place) => ({ value: String(place + 1), label: labelOf(one) }));
    const answer = await prompt.ask('Answer', [...options, SKIP, QUIT]);
    const chosen = answer.kind === 'candidate' ? shown[answer.at] : undefined;
    if (chosen === undefined) {
      note(session, answer);
      continue;
    }
    const row = { region, v3CompanyId: BigInt(v3CompanyId), v4CompanyId: BigInt(chosen.v4CompanyId) };
    await file.add([region, row.v3CompanyId, row.v4CompanyId], row);
    session.answers += 1;
  }
}

type Candidate = AmbiguousCompany['candidates'][number];

function labelOf({ v4CompanyId, agreeingKeys, comparableKeys }: Candidate): string {
  return `V4 company ${v4CompanyId}: ${agreeingKeys} of ${countOf(comparableKeys, 'comparable key')} agree`;
}

function note(session: Session, { kind }: Answer): void {
  if (kind === 'skip') session.skipped += 1;
  else session.isOver = true;
}

async function askRecords(
  rows: readonly RemapRow[],
  file: ReturnType<typeof openDecisions>,
  { session, prompt, io, config }: Asking & { readonly config: Config },
): Promise<void> {
  const left = new Map<string, LeftOver>();
  const wanted = new Set<string>();
  for (const [at, row] of rows.entries()) {
    if (session.isOver) return;
    const isDecided = file.rows.some((one) => isSamePlace(one, row) && one.v3SvcId === row.v3_svc_id);
    const story = await readStory(config, row);
    const v3 = story?.facts.v3;
    // Another process may have built a remap since.
    if (story === null || v3 == null || !isOpen(story)) continue;
    const candidates = story.facts.named.filter(
      (one) => one.generation === 'v4' && !one.deleted && !isTaken({ row, v4: one }, file),
    );
    for (const v4 of candidates) left.set(nameOf({ row, v4 }), { row, v4 });
    if (isDecided) continue;
    const shown = candidates.slice(0, MAX_CANDIDATES);
    await writeText(io.stdout, [
      describeQuestion(`Question ${at + 1} of ${rows.length}`, story, v3, shown, config, io),
    ]);
    const answer = await prompt.ask('Which V4 id did it become?', [
      ...shown.map(({ svc_id: id }, place) => ({ value: String(place + 1), label: `V4 ${id}` })),
      { value: 'n', label: 'none: it has no V4 id' },
      { value: 'a', label: 'accept the finding until a day' },
      SKIP,
      QUIT,
    ]);
    const isAccepted = answer.kind === 'accept';
    const until = isAccepted ? await prompt.askText('Accept it before which day (UTC)?', checkDay) : null;
    const hasWhy = answer.kind === 'none' || until !== null;
    const why = hasWhy ? await prompt.askText('Why? A note for the file, or nothing.') : '';
    const isLeft = why === null || (isAccepted && until === null);
    if (isLeft || answer.kind === 'skip' || answer.kind === 'quit') {
      note(session, isLeft ? { kind: 'quit' } : answer);
      for (const v4 of candidates) wanted.add(nameOf({ row, v4 }));
      continue;
    }
    const v4SvcId = answer.kind === 'candidate' ? BigInt(shown[answer.at]?.svc_id ?? '') : null;
    await saveDecision(file, { ...row, v4_svc_id: v4SvcId }, { until, why }, io);
    session.answers += 1;
  }
  const unasked = [...left].filter(([name]) => !wanted.has(name)).map(([, one]) => one);
  await askLeftOver(unasked, file, { session, prompt, io });
}

/** A V4 record that was a candidate of decided V3 ids, and the row of one of these. */
interface LeftOver {
  readonly row: RemapRow;
  readonly v4: ExportedObject;
}

function nameOf({ row, v4 }: LeftOver): string {
  return JSON.stringify([row.model, row.path, v4.company_id, v4.svc_id]);
}

function isTaken({ row, v4 }: LeftOver, { rows }: ReturnType<typeof openDecisions>): boolean {
  return rows.some((one) => isSamePlace(one, row) && String(one.v4SvcId) === v4.svc_id);
}

/** Asks about candidates that no V3 id became: where all V3 ids of their key are decided, they are ambiguous no longer. */
async function askLeftOver(
  left: readonly LeftOver[],
  file: ReturnType<typeof openDecisions>,
  { session, prompt, io }: Asking,
): Promise<void> {
  for (const one of left) {
    if (session.isOver) return;
    if (isTaken(one, file)) continue;
    const { row, v4 } = one;
    const place = `${row.path === '' ? row.model : `${row.model} ${row.path}`} V4 ${v4.svc_id}, platform_id ${row.platform_id ?? '(none)'}`;
    await writeText(io.stdout, [`\n${wrapLines([`No V3 id became ${place}.`], io.width)}`]);
    const answer = await prompt.ask('Is it new in V4?', [
      { value: 'v', label: 'yes: it has no V3 id' },
      SKIP,
      QUIT,
    ]);
    if (answer.kind !== 'new') {
      note(session, answer);
      continue;
    }
    await saveDecision(file, { ...row, v3_svc_id: null, v4_svc_id: BigInt(v4.svc_id) }, {}, io);
    session.answers += 1;
  }
}

type Place = Pick<RemapRow, 'model' | 'path' | 'region' | 'v3_company_id'>;

function isSamePlace(
  one: ReturnType<typeof openDecisions>['rows'][number],
  { model, path, region, v3_company_id }: Place,
): boolean {
  return (
    one.model === model && one.path === path && one.region === region && one.v3CompanyId === v3_company_id
  );
}

function isOpen({ facts: { row } }: Story): boolean {
  return DECIDABLE_REASONS.some((reason) => row.reason === reason);
}

/** What is known of the record of a row. */
async function readStory(config: Config, row: RemapRow): Promise<Story | null> {
  const { model, path, region, v3_company_id: companyId, v3_svc_id: id } = row;
  if (id === null) return null;
  return readDatabase(config, async (db) => {
    const { stories } = explainRecord(db, config, { model, path, region, companyId, id });
    return stories.find(({ facts }) => facts.row.v3_svc_id === id) ?? null;
  });
}

function describeQuestion(
  head: string,
  { title, because, facts: { row } }: Story,
  v3: ExportedObject,
  candidates: readonly ExportedObject[],
  config: Config,
  io: Io,
): string {
  const name = row.path === '' ? row.model : `${row.model} ${row.path}`;
  const place = `${name} V3 ${row.v3_svc_id}, company ${row.v3_company_id} in ${row.region}, platform_id ${row.platform_id ?? '(none)'}`;
  const known =
    candidates.length === 0
      ? ['  No V4 candidate is left.']
      : renderCandidates(v3, candidates, config.fieldPrefix, io.width);
  const text = wrapLines([`${head}: ${title}`, place, ...because.map((one) => `  ${one}`)], io.width);
  return `\n${text}\n${known.map((line) => `${line}\n`).join('')}\n`;
}

async function saveDecision(
  file: ReturnType<typeof openDecisions>,
  { model, path, region, v3_company_id, v3_svc_id, v4_svc_id: v4SvcId }: RemapRow,
  { until = null, why = '' }: { readonly until?: string | null; readonly why?: string },
  io: Io,
): Promise<void> {
  const today = `decided on ${new Date(io.clock.now()).toISOString().slice(0, 10)}`;
  const decided = why.trim() === '' ? today : `${why.trim()} (${today})`;
  const cells = [model, path, region, v3_company_id, v3_svc_id, v4SvcId, decided];
  const row = { model, path, region: region ?? '', v3CompanyId: v3_company_id ?? 0n, v3SvcId: v3_svc_id };
  await file.add(until === null ? cells : [...cells, until], { ...row, v4SvcId, note: decided, until });
}

function describeEnd(
  { answers, skipped }: Session,
  config: Config,
  files: readonly {
    readonly file: string;
    readonly isConfigured: boolean;
    readonly rows: readonly unknown[];
  }[],
  io: Io,
): string {
  const missing = files.filter(({ isConfigured, rows }) => !isConfigured && rows.length > 0);
  const settings = missing.map(({ file }) => {
    const path = relative(dirname(config.file), file);
    return path.endsWith('companies.csv')
      ? `  "companies": { "match": { "file": ${JSON.stringify(path)} } }`
      : `  "decisions": ${JSON.stringify(path)}`;
  });
  const add = settings.length === 0 ? [] : ['Add to the configuration:', ...settings];
  const done = `${countOf(answers, 'answer')} written${skipped === 0 ? '' : `, ${skipped} skipped`}.`;
  const next = answers === 0 && skipped === 0 ? 'svc-migrate check' : 'svc-migrate remap';
  return addFlagsToNext(`\n${[done, ...add].join('\n')}\nNext: ${next}\n`, io.flags);
}
