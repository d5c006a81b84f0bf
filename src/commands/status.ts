import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { sleepForReal } from '../api/limiter.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { newPause } from '../runtime/pause.js';
import { writeOutput, writeText } from '../runtime/write-output.js';
import type { Db } from '../store/open.js';
import { findIncomplete, type Readiness, readReadiness, UNFINISHED } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { readRemapRuns } from '../store/remap-tables.js';
import { iterateStreams } from '../store/scoped-streams.js';
import { addFlags } from '../text/escape.js';
import { inBatches, rowsOf, streamJson } from '../text/rows.js';
import type { Io } from './command.js';
import { describeOwner, readDatabase } from './database.js';
import type { Given } from './define-command.js';
import { absentOf, buildStatusJson, renderStatus, type StatusFacts } from './render-status.js';

/** The escape sequence that moves the cursor to the top and clears the terminal. */
const CLEAR = '\u001b[H\u001b[2J';
/** Shortest pause of `--watch`. */
const MIN_EVERY_MS = 200;

/** Lists that are compressed together. */
const LISTS_PER_BATCH = 1000;

/** Builds of the remap in the trend. */
const MAX_RUNS = 6;

interface StatusOptions {
  readonly watch: boolean;
  /** ms. */
  readonly every: number;
  readonly json?: string | undefined;
}

/**
 * `status`: shows what the database holds, what is unfinished, and the next command. Reads no records. With `--watch`,
 * again and again until a signal.
 */
export async function runStatus(
  { options, config: loadConfig }: Given<StatusOptions>,
  io: Io,
): Promise<number> {
  const config = await loadConfig();
  if (options.watch) await watch(config, options.every, io);
  else await showOnce(config, options.json, io);
  return 0;
}

/**
 * Prints once the database is closed: a pager may block stdout for hours, and while a reader is open, SQLite cannot
 * empty the write-ahead log.
 */
async function showOnce(config: Config, json: string | undefined, io: Io): Promise<void> {
  const { text, packed } = await readDatabase(config, async (db) => {
    const facts = readFacts(db, config, io);
    return { text: renderStatus(facts, io), packed: json === undefined ? [] : await packJson(db, facts, io) };
  });
  const chunks = () =>
    rowsOf(
      () => packed,
      (batch) => inflateRawSync(batch).toString(),
    );
  if (json !== undefined) await writeOutput({ target: json, chunks }, io);
  if (json !== '-') await writeText(io.stdout, [text]);
}

/** The JSON in compressed batches: as text, that of a million lists would take more memory than all else. */
async function packJson(db: Db, facts: StatusFacts, io: Io): Promise<Buffer[]> {
  const unfinished = () => iterateStreams(db, EVERYTHING, { states: UNFINISHED });
  const pause = newPause(io);
  const packed: Buffer[] = [];
  for (const batch of inBatches(streamJson(buildStatusJson(facts, unfinished)), LISTS_PER_BATCH)) {
    packed.push(deflateRawSync(batch.join(''), { level: 1 }));
    await pause({ name: 'read the lists', done: packed.length * LISTS_PER_BATCH, total: null });
  }
  return packed;
}

async function watch(config: Config, everyMs: number, io: Io): Promise<never> {
  for (;;) {
    const text = renderStatus(await readDatabase(config, async (db) => readFacts(db, config, io)), io);
    await writeText(io.stdout, [io.isTty ? `${CLEAR}${text}` : `${text}\n`]);
    try {
      await sleepForReal(Math.max(MIN_EVERY_MS, everyMs), io.signal);
    } catch (cause) {
      throw new SvcError('interrupted', 'Stopped watching.', { cause });
    }
  }
}

function readFacts(db: Db, config: Config, { flags = '' }: Io): StatusFacts {
  const readiness = readReadiness(db, config, EVERYTHING);
  return {
    database: config.database,
    owner: describeOwner(config.database),
    readiness,
    runs: readRemapRuns(db, MAX_RUNS),
    next: addFlags(findNext(readiness), flags),
  };
}

function findNext(facts: Readiness): string {
  if (absentOf(facts.groups).length > 0) return 'svc-migrate doctor';
  const commands = new Set(findIncomplete(facts).map((blocker) => blocker.next));
  const [only] = commands;
  return commands.size > 1 ? 'svc-migrate run' : (only ?? 'svc-migrate check');
}
