import { Writable } from 'node:stream';
import type { Clock, Generation, OnProgress, ProgressEvent, StreamKey } from './domain.js';
import { escapeUnseen } from './text/escape.js';
import { countOf, formatDuration, groupDigits } from './text/numbers.js';

const PLAIN_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;
const LISTS = 'lists';
const UNNAMED_STAGE = 'working';
/** Columns for the spinner, a space, and the last column, which stays empty. */
const SPINNER_COLUMNS = 3;

export interface ProgressOptions {
  readonly stream: NodeJS.WritableStream;
  readonly width: () => number;
  readonly color: boolean;
  readonly isTty: boolean;
  readonly quiet: boolean;
  /** Also print every list as it ends. */
  readonly verbose: boolean;
  readonly clock: Clock;
  readonly every?: (ms: number, work: () => void) => () => void;
}

export interface Progress {
  readonly onProgress: OnProgress;
  /** Wraps a stream so that each write to it first ends the stages and clears their lines. */
  clearBefore<Stream extends Writable & { readonly isTTY?: boolean }>(
    target: Stream,
  ): Writable & { readonly isTTY?: boolean };
  /** Prints the final lines of the stages and clears the progress lines. */
  stop(end: 'done' | 'failed'): void;
}

type StageKey = Generation | 'alone';

/** Shows the progress of stages: on a terminal, a line each that is redrawn; elsewhere, a line each every ten seconds. */
export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { clock, quiet, verbose, every = repeatEvery } = options;
  const display =
    options.isTty && !quiet ? await createTerminalDisplay(options) : createPlainDisplay(options);
  const stages = new Map<StageKey, Stage>();
  const endStage = (key: StageKey, end: 'done' | 'failed') => {
    const line = quiet ? undefined : stages.get(key)?.renderEnd(clock.now(), end);
    if (line !== undefined && line !== null) display.write(line);
    stages.delete(key);
  };
  const endStages = (end: 'done' | 'failed') => {
    for (const key of [...stages.keys()]) endStage(key, end);
  };
  const begin = (key: StageKey, name: string) => {
    // A stage may be announced by the command and again by the work itself.
    if (stages.get(key)?.name === name) return;
    if (key === 'alone') endStages('done');
    else for (const ended of ['alone', key] as const) endStage(ended, 'done');
    stages.set(key, new Stage(escapeUnseen(name), clock.now()));
  };
  const draw = () => {
    if (stages.size > 0 && !quiet)
      display.draw([...stages.values()].map((stage) => stage.describe(clock.now())));
  };
  const stopTimer = quiet ? () => {} : every(DRAW_EVERY_MS, draw);
  return {
    onProgress: (event) => {
      const { kind, generation: key = 'alone' } = event;
      const line = permanentLineOf(event, options);
      if (line !== null) display.write(escapeUnseen(line));
      if (kind === 'end') return endStage(key, event.how);
      if (kind === 'stage') begin(key, event.name);
      else if (stages.size === 0) begin('alone', UNNAMED_STAGE);
      (stages.get(key) ?? stages.get('alone'))?.count(event, clock.now());
      if (verbose && kind === 'wait') display.write(escapeUnseen(`waiting: ${event.reason}`));
      // Drawn here too, because long statements keep the timer from firing.
      if (kind === 'stage' || kind === 'step' || kind === 'wait') draw();
    },
    clearBefore: (target) =>
      writeThrough(target, () => {
        endStages('done');
        display.clear();
      }),
    stop: (end) => {
      stopTimer();
      endStages(end);
      display.clear();
    },
  };
}

function permanentLineOf(event: ProgressEvent, { quiet, verbose }: ProgressOptions): string | null {
  if (event.kind === 'note') {
    if (event.level === 'warning') return `Warning: ${event.text}`;
    return quiet ? null : event.text;
  }
  if (event.kind !== 'stream' || !verbose || quiet) return null;
  const { generation, region, model, companyId } = event.stream;
  const place = [generation, region, model, companyId === null ? '' : `company ${companyId}`];
  return `${place.filter((part) => part !== '').join(' ')}: ${event.state}`;
}

function writeThrough(
  target: Writable & { readonly isTTY?: boolean },
  before: () => void,
): Writable & { readonly isTTY?: boolean } {
  const wrapped = new Writable({
    write: (chunk, encoding, done) => {
      before();
      target.write(chunk, encoding, done);
    },
  });
  // The writer gets the error from its callback. A closed pipe also emits it later, when nobody listens any more.
  wrapped.on('error', () => {});
  return Object.assign(wrapped, target.isTTY === undefined ? {} : { isTTY: target.isTTY });
}

interface Display {
  write(line: string): void;
  /** @param stages the parts of each stage's line, most important first */
  draw(stages: readonly (readonly string[])[]): void;
  clear(): void;
}

/** Redraws a line for each stage; permanent lines go above them. */
async function createTerminalDisplay({ stream, width, color }: ProgressOptions): Promise<Display> {
  const { default: ora } = await import('ora');
  const { fitParts, wrapLines } = await import('./text/wrap.js');
  const spinner = ora({
    stream,
    isEnabled: true,
    discardStdin: false,
    hideCursor: false,
    color: color ? 'cyan' : false,
  });
  return {
    write: (line) => {
      spinner.stop();
      stream.write(wrapLines([line], width()));
    },
    draw: (stages) => {
      const columns = Math.max(1, width() - SPINNER_COLUMNS);
      spinner.text = stages.map((parts) => fitParts(parts, columns)).join('\n  ');
      if (spinner.isSpinning) spinner.render();
      else spinner.start();
    },
    clear: () => void spinner.stop(),
  };
}

function createPlainDisplay({ stream, clock }: ProgressOptions): Display {
  let lastMs = clock.now();
  const write = (line: string) => {
    lastMs = clock.now();
    stream.write(`${line}\n`);
  };
  return {
    write,
    draw: (stages) => {
      if (clock.now() - lastMs < PLAIN_EVERY_MS) return;
      for (const parts of stages) write(parts.join(' · '));
    },
    clear: () => {},
  };
}

function repeatEvery(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}

interface StreamTally {
  records: number;
  total: number | null;
  ended: boolean;
}

class Stage {
  readonly name: string;
  readonly #startedMs: number;
  readonly #streams = new Map<string, StreamTally>();
  #records = 0;
  #pages = 0;
  #waits = 0;
  #wait = { untilMs: 0, reason: '' };
  #step: Extract<ProgressEvent, { kind: 'step' }> | null = null;
  #lists: number | null = null;
  /** What an earlier process has read. */
  #resumed = { endedLists: 0, endedRecords: 0, openRecords: 0 };

  constructor(name: string, startedMs: number) {
    this.name = name;
    this.#startedMs = startedMs;
  }

  count(event: ProgressEvent, nowMs: number): void {
    switch (event.kind) {
      case 'page': {
        const stream = this.#streamOf(event.stream);
        stream.records += event.records;
        if (event.totalCount !== null) stream.total = Math.max(stream.total ?? 0, event.totalCount);
        this.#records += event.records;
        this.#pages += 1;
        return;
      }
      case 'stream':
        this.#streamOf(event.stream).ended = true;
        return;
      case 'wait':
        this.#waits += 1;
        this.#wait = { untilMs: nowMs + event.waitMs, reason: escapeUnseen(event.reason) };
        return;
      case 'step':
        if (event.name === LISTS) this.#lists = event.total;
        else this.#step = event;
        return;
      case 'resume':
        this.#resumed = event;
        return;
      case 'stage':
      case 'end':
      case 'note':
        return;
    }
  }

  /** The name of the stage and what it has done, most important first; a wait explains the rest. */
  describe(nowMs: number): string[] {
    const { untilMs, reason } = this.#wait;
    const leftMs = untilMs - nowMs;
    const wait = leftMs > 0 ? [`waiting ${formatDuration(Math.max(1000, leftMs))}: ${reason}`] : [];
    return [this.name, ...wait, ...(this.#pages === 0 ? this.#stepParts() : this.#recordParts(nowMs))];
  }

  renderEnd(nowMs: number, end: 'done' | 'failed'): string | null {
    const took = formatDuration(nowMs - this.#startedMs);
    if (this.#pages === 0) {
      return end === 'done' && this.name !== UNNAMED_STAGE ? `${this.name}: done in ${took}` : null;
    }
    const waits = this.#waits === 0 ? '' : `, ${countOf(this.#waits, 'wait')}`;
    const stopped = end === 'done' ? '' : 'stopped after ';
    const records = `${countOf(this.#records, 'record')} received in ${countOf(this.#pages, 'page')}`;
    return `${this.name}: ${stopped}${records}, ${took}${waits}`;
  }

  #streamOf({ generation, region, model, companyId }: StreamKey): StreamTally {
    const name = JSON.stringify([generation, region, model, companyId?.toString()]);
    const stream = this.#streams.get(name) ?? { records: 0, total: null, ended: false };
    this.#streams.set(name, stream);
    return stream;
  }

  #total(): number | null {
    if (this.#lists === null || this.#resumed.endedLists + this.#streams.size < this.#lists) return null;
    let total = this.#resumed.endedRecords;
    for (const stream of this.#streams.values()) {
      if (!stream.ended && stream.total === null) return null;
      total += Math.max(stream.total ?? 0, stream.records);
    }
    return total;
  }

  #stepParts(): string[] {
    const step = this.#step;
    if (step === null) return [];
    if (step.text !== undefined) return step.text.split(' · ').map(escapeUnseen);
    if (step.total === null) return [escapeUnseen(step.name)];
    return [`${escapeUnseen(step.name)} ${groupDigits(step.done)} of ${groupDigits(step.total)}`];
  }

  #recordParts(nowMs: number): string[] {
    const { endedLists, endedRecords, openRecords } = this.#resumed;
    const done = this.#records + endedRecords + openRecords;
    const total = this.#total();
    const perMs = this.#records / Math.max(1, nowMs - this.#startedMs);
    const leftMs = total === null || total <= done ? 0 : (total - done) / perMs;
    const ended = endedLists + [...this.#streams.values()].filter((stream) => stream.ended).length;
    return [
      total === null ? countOf(done, 'record') : `${groupDigits(done)} of ${countOf(total, 'record')}`,
      `${groupDigits(Math.round(perMs * 1000))}/s`,
      ...(leftMs > 0 ? [`${formatDuration(Math.max(1000, leftMs))} left`] : []),
      ...(this.#lists === null ? [] : [`${ended} of ${countOf(this.#lists, 'list')}`]),
      ...(this.#waits > 0 ? [countOf(this.#waits, 'wait')] : []),
    ];
  }
}
