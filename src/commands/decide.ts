import { dirname, relative } from 'node:path';
import { isCancel, selectKey, text as textPrompt } from '@clack/prompts';
import type { Config } from '../config/config.js';
import { openCompanies, openDecisions } from '../config/user-files.js';
import type { AmbiguousCompany } from '../domain.js';
import { SvcError } from '../errors.js';
import { explainRecord } from '../inspect/explain/explain-record.js';
import { type ExportedObject, renderCandidates } from '../inspect/explain/side-by-side.js';
import type { Story } from '../inspect/explain/story.js';
import { DECIDABLE_REASONS } from '../reasons.js';
import { describeDeleted } from '../report/render-findings.js';
import { writeText } from '../runtime/write-output.js';
import { type FindingFilter, listUndecided, prepareIsDeleted } from '../store/finding-rows.js';
import { isStale } from '../store/readiness.js';
import type { RemapRow } from '../store/remap-rows.js';
import { readAmbiguousCompanies } from '../store/remap-tables.js';
import { prepareLookup } from '../store/verified-remap.js';
import { describeAgreement } from '../text/describe-evidence.js';
import { addFlagsToNext } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import * as z from '../zod.js';
import { terminalOf } from './ask.js';
import { type NarrowingOptions, narrowingOf, scopeOf } from './catalogue/options.js';
import type { Given, Input, Io } from './command.js';
import { readDatabase, readLastRemap } from './database.js';

/** Candidates have the keys 1 to 9. */
const MAX_CANDIDATES = 9;

const SKIP = { value: 's', label: 'skip: ask again next time' };
const QUIT = { value: 'q', label: 'quit: answers so far are kept' };

/** Thrown where the person leaves: by the key, or with Ctrl-C. */
class Left extends Error {
  readonly isInterrupted: boolean;

  constructor(isInterrupted: boolean) {
    super();
    this.isInterrupted = isInterrupted;
  }
}

/**
 * `decide`: asks one open question after the other on the terminal, companies first. Each answer is written at once, below
 * what the file holds already, so that the session can be left at any time.
 */
export async function run(given: Given<NarrowingOptions>, io: Io): Promise<number> {
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
  const session = new Session(input, io);
  const [companies, decisions] = [openCompanies(config, io), openDecisions(config, io)];
  let left: Left | null = null;
  try {
    await askCompanies(open.companies, companies, session);
    await askRecords(open.records, decisions, session, config);
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    left = error;
  }
  const files = [companies, decisions];
  await writeText(io.stdout, [describeEnd(session, config, files, open)]);
  if (left?.isInterrupted === true)
    throw new SvcError('interrupted', 'Stopped; the answers so far are kept.');
  return 0;
}

/** Asks on the terminal, and counts. */
class Session {
  answers = 0;
  skipped = 0;
  readonly io: Io;
  readonly #input: Input;

  constructor(input: Input, io: Io) {
    this.#input = input;
    this.io = io;
  }

  /** The key that was pressed; null: the question is skipped. */
  async ask(
    question: string,
    answers: readonly { readonly value: string; readonly label: string }[],
  ): Promise<string | null> {
    const options = [...answers, SKIP, QUIT];
    for (let message = question; ; message = `Enter is no answer: press one of the keys. ${question}`) {
      const key = await selectKey({ message, options, ...this.#terminal() });
      if (isCancel(key)) throw new Left(true);
      if (key === QUIT.value) throw new Left(false);
      if (key === SKIP.value) this.skipped += 1;
      if (options.some(({ value }) => value === key)) return key === SKIP.value ? null : key;
    }
  }

  /** A line that `validate` has nothing against. */
  async askText(
    message: string,
    validate: (text: string | undefined) => string | undefined = () => undefined,
  ): Promise<string> {
    const text = await textPrompt({ message, validate, ...this.#terminal() });
    if (isCancel(text)) throw new Left(true);
    return text;
  }

  /** Prints lines after an empty one. */
  async print(...lines: readonly string[]): Promise<void> {
    await writeText(this.io.stdout, [`\n${wrapLines(lines, this.io.width)}`]);
  }

  #terminal() {
    const { stdout: output, signal } = this.io;
    // Each prompt leaves a listener on its signal: Node.js would warn of the eleventh on one.
    return { input: this.#input, output, signal: AbortSignal.any([signal]), withGuide: false };
  }
}

interface OpenQuestions {
  readonly companies: readonly AmbiguousCompany[];
  readonly records: readonly RemapRow[];
  /** Ambiguous V3 ids whose record is deleted: no decision would be taken. */
  readonly deletedIds: number;
  /** Whether the remap was built with the present files. */
  readonly isCurrent: boolean;
}

/** The open questions of the last remap. The database is closed while a person thinks. */
function readOpenQuestions(
  config: Config,
  filter: FindingFilter,
  companies: readonly bigint[],
  io: Io,
): Promise<OpenQuestions> {
  return readLastRemap(config, companies, io, async (db, { lastRun, exportSeq, changedInputs }) => {
    // Answers of an earlier session do not settle the questions left: it can be taken up before they are applied.
    if (lastRun !== undefined && isStale(lastRun, exportSeq)) {
      const hint = 'Run `svc-migrate remap` first.';
      const text = 'The remap is older than the export, so its questions may be settled.';
      throw new SvcError('incomplete', text, { hint });
    }
    const isDeleted = prepareIsDeleted(db);
    const rows = [...listUndecided(db, filter)];
    const records = rows.filter((row) => !isDeleted(row));
    return {
      companies: readAmbiguousCompanies(db, filter),
      records,
      deletedIds: rows.length - records.length,
      isCurrent: changedInputs.length === 0,
    };
  });
}

/** What is wrong with a day. */
function checkDay(text = ''): string | undefined {
  return z.iso.date().safeParse(text).success ? undefined : 'A day such as 2027-01-31.';
}

async function askCompanies(
  companies: readonly AmbiguousCompany[],
  { rows, add }: ReturnType<typeof openCompanies>,
  session: Session,
): Promise<void> {
  for (const [at, { region, v3CompanyId, candidates }] of companies.entries()) {
    if (rows.some((row) => row.region === region && String(row.v3CompanyId) === v3CompanyId)) continue;
    const known = candidates.map((one) => ({
      ...one,
      label: `V4 company ${one.v4CompanyId}: ${describeAgreement(one)}`,
      owner: rows.find((row) => String(row.v4CompanyId) === one.v4CompanyId),
    }));
    const free = known.filter(({ owner }) => owner === undefined).slice(0, MAX_CANDIDATES);
    await session.print(
      `Company ${at + 1} of ${companies.length}: which V4 company is V3 company ${v3CompanyId} of ${region}?`,
      ...known.flatMap(({ label, owner }) =>
        owner === undefined
          ? []
          : [`  ${label}, but it was already given to V3 company ${owner.v3CompanyId} of ${owner.region}.`],
      ),
      ...(free.length === 0 ? ['  No V4 company shares keys with it that is not named already.'] : []),
    );
    const options = free.map(({ label }, place) => ({ value: String(place + 1), label }));
    const chosen = free[Number(await session.ask('Answer', options)) - 1];
    if (chosen === undefined) continue;
    const row = { region, v3CompanyId: BigInt(v3CompanyId), v4CompanyId: BigInt(chosen.v4CompanyId) };
    await add([region, row.v3CompanyId, row.v4CompanyId], row);
    session.answers += 1;
  }
}

async function askRecords(
  rows: readonly RemapRow[],
  file: DecisionsFile,
  session: Session,
  config: Config,
): Promise<void> {
  const left = new Map<string, LeftOver>();
  const skipped = new Set<string>();
  for (const [at, row] of rows.entries()) {
    const isDecided = file.rows.some((one) => isSamePlace(one, row) && one.v3SvcId === row.v3_svc_id);
    const story = await readStory(config, row);
    const v3 = story?.v3;
    // Another process may have built a remap since.
    if (story === null || v3 == null || !isOpen(story)) continue;
    const candidates = story.named.filter((one) => !one.deleted && !isTaken({ row, v4: one }, file));
    for (const v4 of candidates) left.set(nameOf({ row, v4 }), { row, v4 });
    if (isDecided) continue;
    const shown = candidates.slice(0, MAX_CANDIDATES);
    const head = `Question ${at + 1} of ${rows.length}`;
    await writeText(session.io.stdout, [describeQuestion(head, story, v3, shown, config, session.io)]);
    const key = await session.ask('Which V4 id did it become?', [
      ...shown.map(({ svc_id: id }, place) => ({ value: String(place + 1), label: `V4 ${id}` })),
      { value: 'n', label: 'none: it has no V4 id' },
      { value: 'a', label: 'accept the finding until a day' },
    ]);
    if (key === null) {
      for (const v4 of candidates) skipped.add(nameOf({ row, v4 }));
      continue;
    }
    const until = key === 'a' ? await session.askText('Accept it before which day (UTC)?', checkDay) : null;
    const chosen = shown[Number(key) - 1];
    const why = chosen === undefined ? await session.askText('Why? A note for the file, or nothing.') : '';
    const v4SvcId = chosen === undefined ? null : BigInt(chosen.svc_id);
    await saveDecision(file, { ...row, v4_svc_id: v4SvcId }, { until, why }, session);
  }
  for (const [name, one] of left) {
    if (!skipped.has(name) && !isTaken(one, file)) await askLeftOver(one, file, session);
  }
}

type DecisionsFile = ReturnType<typeof openDecisions>;

/** A V4 record that was a candidate of decided V3 ids, and the row of one of these. */
interface LeftOver {
  readonly row: RemapRow;
  readonly v4: ExportedObject;
}

function nameOf({ row, v4 }: LeftOver): string {
  return JSON.stringify([row.model, row.path, v4.company_id, v4.svc_id]);
}

function isTaken({ row, v4 }: LeftOver, { rows }: DecisionsFile): boolean {
  return rows.some((one) => isSamePlace(one, row) && String(one.v4SvcId) === v4.svc_id);
}

/** Asks about a candidate that no V3 id became: where all V3 ids of its key are decided, it is ambiguous no longer. */
async function askLeftOver({ row, v4 }: LeftOver, file: DecisionsFile, session: Session): Promise<void> {
  await session.print(
    `No V3 id became ${modelOf(row)} V4 ${v4.svc_id}, platform_id ${row.platform_id ?? '(none)'}.`,
  );
  const key = await session.ask('Is it new in V4?', [{ value: 'v', label: 'yes: it has no V3 id' }]);
  if (key === null) return;
  await saveDecision(file, { ...row, v3_svc_id: null, v4_svc_id: BigInt(v4.svc_id) }, {}, session);
}

function modelOf({ model, path }: RemapRow): string {
  return path === '' ? model : `${model} ${path}`;
}

function isSamePlace(
  one: DecisionsFile['rows'][number],
  { model, path, region, v3_company_id }: RemapRow,
): boolean {
  return (
    one.model === model && one.path === path && one.region === region && one.v3CompanyId === v3_company_id
  );
}

function isOpen({ row }: Story): boolean {
  return DECIDABLE_REASONS.some((reason) => row.reason === reason);
}

/** What is known of the record of a row; of the V4 records that it names, those that no V3 id became. */
async function readStory(config: Config, row: RemapRow): Promise<Story | null> {
  const { model, path, region, v3_company_id: companyId, v3_svc_id: id } = row;
  if (id === null) return null;
  return readDatabase(config, async (db) => {
    const { stories } = explainRecord(db, config, { model, path, region, companyId, id });
    const story = stories.find(({ row: { v3_svc_id } }) => v3_svc_id === id);
    const lookUp = prepareLookup(db);
    const isFree = ({ generation, svc_id: v4, company_id: ofV4 }: ExportedObject): boolean => {
      const place = { path, region: null, companyId: BigInt(ofV4) };
      return generation === 'v4' && lookUp('v4', model, BigInt(v4), place).v3Id === null;
    };
    return story === undefined ? null : { ...story, named: story.named.filter(isFree) };
  });
}

function describeQuestion(
  head: string,
  { title, because, row }: Story,
  v3: ExportedObject,
  candidates: readonly ExportedObject[],
  config: Config,
  io: Io,
): string {
  const place = `${modelOf(row)} V3 ${row.v3_svc_id}, company ${row.v3_company_id} in ${row.region}, platform_id ${row.platform_id ?? '(none)'}`;
  const known =
    candidates.length === 0
      ? ['  No V4 candidate is left.']
      : renderCandidates(v3, candidates, config.fieldPrefix, io.width);
  const text = wrapLines([`${head}: ${title}`, place, ...because.map((one) => `  ${one}`)], io.width);
  return `\n${text}\n${known.map((line) => `${line}\n`).join('')}\n`;
}

async function saveDecision(
  file: DecisionsFile,
  { model, path, region, v3_company_id, v3_svc_id, v4_svc_id: v4SvcId }: RemapRow,
  { until = null, why = '' }: { readonly until?: string | null; readonly why?: string },
  session: Session,
): Promise<void> {
  const today = `decided on ${new Date(session.io.clock.now()).toISOString().slice(0, 10)}`;
  const decided = why.trim() === '' ? today : `${why.trim()} (${today})`;
  const cells = [model, path, region, v3_company_id, v3_svc_id, v4SvcId, decided];
  const row = { model, path, region: region ?? '', v3CompanyId: v3_company_id ?? 0n, v3SvcId: v3_svc_id };
  await file.add(until === null ? cells : [...cells, until], { ...row, v4SvcId, note: decided, until });
  session.answers += 1;
}

function describeEnd(
  { answers, skipped, io }: Session,
  config: Config,
  files: readonly (Pick<DecisionsFile, 'file' | 'isConfigured'> & { readonly rows: readonly unknown[] })[],
  { isCurrent, deletedIds }: OpenQuestions,
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
  const isSettled = isCurrent && missing.length === 0 && answers === 0 && skipped === 0;
  const next = isSettled ? 'svc-migrate check' : 'svc-migrate remap';
  const said = wrapLines([...describeDeleted(deletedIds), done], io.width);
  const end = [...add, `Next: ${next}`, ''].join('\n');
  return addFlagsToNext(`\n${said}${end}`, io.flags);
}
