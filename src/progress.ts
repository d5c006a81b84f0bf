import { Writable } from 'node:stream';
import type { Clock, Generation, OnProgress, ProgressEvent, StreamKey } from './domain.js';
import { escapeUnseen } from './text/escape.js';
import { countOf, formatDuration, groupDigits } from './text/numbers.js';
import { displayWidth, fitText, wrapMessage } from './text/text-layout.js';

/** Interval of lines without a terminal, ms. */
const PLAIN_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;
const BAR_COLUMNS = 20;
/** Columns for the spinner, a space, and the last column, which stays empty. */
const SPINNER_COLUMNS = 3;
/** Indents the lines below that of the spinner. */
const UNDER_SPINNER = '  ';
/** The step by which an export reports the number of its lists. */
const LISTS = 'lists';
/** The step before it. It has no bar, because the bar of the lists would start again from zero. */
const PREPARING = 'preparing lists';
/** Fewest steps from which the time left is estimated: a few may differ too much in length. */
const MANY_STEPS = 100;
/** Name of the stage for work that announced none; it prints no final line. */
const UNNAMED_STAGE = 'working';

export interface ProgressOptions {
  readonly stream: NodeJS.WritableStream;
  readonly isTty: boolean;
  readonly width: () => number;
  readonly color: boolean;
  /** Print warnings only. */
  readonly quiet: boolean;
  /** Also print every list as it ends. */
  readonly verbose: boolean;
  readonly clock: Clock;
  /** Calls `work` at this interval until the returned function is called. */
  readonly every?: (ms: number, work: () => void) => () => void;
}

export interface Progress {
  readonly onProgress: OnProgress;
  /** Wraps a stream so that each write to it first ends the stage and clears the progress line; `edit` changes the text. */
  clearBefore(target: Writable, edit?: (text: string) => string): Writable;
  /** Prints the final line of the last stage and clears the progress line. */
  stop(end: 'done' | 'failed'): void;
}

/** The generation that a stage belongs to, or a stage that runs alone. */
type StageKey = Generation | 'alone';

/** Shows the progress of stages: on a terminal, a line each that is redrawn; otherwise a line each every ten seconds. */
export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { clock, quiet, verbose, every = repeatEvery } = options;
  const display = options.isTty ? await createLineDisplay(options) : createPlainDisplay(options);
  const stages = new Map<StageKey, Stage>();
  const endStage = (key: StageKey, end: 'done' | 'failed') => {
    const line = quiet ? null : (stages.get(key)?.renderEnd(clock.now(), end) ?? null);
    if (line !== null) display.write(line);
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
    if (stages.size > 0 && !quiet) display.draw([...stages.values()]);
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
    clearBefore: (target, edit) =>
      writeThrough(target, edit, () => {
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

/** The permanent line for an event; null if there is none. */
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

function writeThrough(target: Writable, edit: ((text: string) => string) | undefined, before: () => void) {
  const wrapped = new Writable({
    write: (chunk, encoding, done) => {
      before();
      if (edit === undefined) target.write(chunk, encoding, done);
      else target.write(edit(String(chunk)), done);
    },
  });
  // The writer gets the error from its callback. A closed pipe also emits it later, when nobody listens any more.
  return wrapped.on('error', () => {});
}

/** A display of permanent lines, and of one line for each stage that is redrawn. */
interface Display {
  write(line: string): void;
  draw(stages: readonly Stage[]): void;
  clear(): void;
}

function createPlainDisplay({ stream, clock, width }: ProgressOptions): Display {
  let lastMs = clock.now();
  const write = (line: string) => {
    lastMs = clock.now();
    stream.write(`${line}\n`);
  };
  return {
    write,
    draw: (stages) => {
      if (clock.now() - lastMs < PLAIN_EVERY_MS) return;
      for (const stage of stages) write(stage.renderLine(clock.now(), width()));
    },
    clear: () => {},
  };
}

async function createLineDisplay({ stream, clock, width, color }: ProgressOptions): Promise<Display> {
  // Loaded only here: it takes a tenth of the time of a short command and is useless without a terminal.
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream,
    isEnabled: true,
    discardStdin: false,
    hideCursor: false,
    color: color ? 'cyan' : false,
  });
  const clear = () => void spinner.stop();
  return {
    write: (line) => {
      clear();
      stream.write(`${wrapMessage(line, width())}\n`);
    },
    draw: (stages) => {
      const columns = Math.max(1, width() - SPINNER_COLUMNS);
      spinner.text = stages
        .map((stage) => stage.renderBarLine(clock.now(), columns))
        .join(`\n${UNDER_SPINNER}`);
      if (spinner.isSpinning) spinner.render();
      else spinner.start();
    },
    clear,
  };
}

function repeatEvery(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}

interface StreamTally {
  records: number;
  /** As reported by the service; null if it is not. */
  total: number | null;
  ended: boolean;
}

/** Progress in records or steps; `total` is null if unknown. */
interface Extent {
  readonly done: number;
  readonly total: number | null;
  /** Whether the total is counted, not extrapolated from the lists started so far. */
  readonly exact: boolean;
}

/** A stage of the work, and how far it is. */
export class Stage {
  readonly name: string;
  readonly #startedMs: number;
  readonly #streams = new Map<string, StreamTally>();
  #records = 0;
  #pages = 0;
  #waits = 0;
  #wait = { untilMs: 0, reason: '' };
  #step: Extract<ProgressEvent, { kind: 'step' }> | null = null;
  /** Number of lists that the stage reads; null if unknown. */
  #lists: number | null = null;
  /** What an earlier process has read: ended lists and their records, and all records. */
  #resumed = { lists: 0, ended: 0, records: 0 };
  /** The part of the bar that was filled, 0 to 1: it never shrinks. */
  #filled = 0;

  constructor(name: string, startedMs: number) {
    this.name = name;
    this.#startedMs = startedMs;
  }

  /** Takes account of one event. */
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
        this.#wait = { untilMs: nowMs + event.waitMs, reason: event.reason };
        return;
      case 'step':
        if (event.name === LISTS) this.#lists = event.total;
        // Each step has a bar of its own.
        if (event.name !== this.#step?.name && this.#pages === 0) this.#filled = 0;
        this.#step = event;
        return;
      case 'resume': {
        const { lists, records: ended, open } = event;
        for (const { stream, records, totalCount } of open) {
          Object.assign(this.#streamOf(stream), { records, total: totalCount });
        }
        this.#resumed = { lists, ended, records: open.reduce((sum, { records }) => sum + records, ended) };
        return;
      }
      case 'stage':
      case 'end':
      case 'note':
        return;
    }
  }

  /** The state of the stage in at most `width` columns; less important parts are left out first. */
  renderLine(nowMs: number, width: number): string {
    let line = '';
    for (const part of [this.name, ...this.#parts(nowMs)]) {
      const longer = line === '' ? part : `${line} · ${part}`;
      if (displayWidth(longer) <= width) line = longer;
    }
    return line === '' ? fitText(this.name, width) : line;
  }

  /** As `renderLine`, with a progress bar in front, for terminals. */
  renderBarLine(nowMs: number, width: number): string {
    const { done, total } = this.#measure();
    if (total === null || total === 0 || width < 3 * BAR_COLUMNS) return this.renderLine(nowMs, width);
    this.#filled = Math.max(this.#filled, Math.min(1, done / total));
    const cells = Math.floor(this.#filled * BAR_COLUMNS);
    const bar = '█'.repeat(cells).padEnd(BAR_COLUMNS, '░');
    return `${bar} ${this.renderLine(nowMs, width - BAR_COLUMNS - 1)}`;
  }

  /** The final line; null if there is nothing to add. */
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

  #measure(): Extent {
    const step = this.#step;
    const streams = [...this.#streams.values()];
    if (this.#pages === 0) {
      return step === null || step.name === LISTS || step.name === PREPARING
        ? { done: 0, total: null, exact: false }
        : { done: step.done, total: step.total, exact: true };
    }
    const done = this.#records + this.#resumed.records;
    if (streams.some(({ total, ended }) => total === null && !ended))
      return { done, total: null, exact: false };
    // For a list that ended or exceeded its reported count, the records received are its length.
    const known = streams.reduce(
      (sum, { records, total, ended }) => sum + (ended ? records : Math.max(total ?? 0, records)),
      0,
    );
    const lists = Math.max((this.#lists ?? 0) - this.#resumed.lists, streams.length);
    const exact = this.#lists !== null && lists === streams.length;
    return { done, total: this.#resumed.ended + Math.round((known * lists) / streams.length), exact };
  }

  /** Parts of the line by importance; a wait comes first because it explains the rest. */
  #parts(nowMs: number): string[] {
    const step = this.#step;
    const { untilMs, reason } = this.#wait;
    const wait =
      untilMs > nowMs ? [`waiting ${formatDuration(Math.max(1000, untilMs - nowMs))}: ${reason}`] : [];
    const { done, total, exact } = this.#measure();
    if (this.#pages === 0) {
      if (step === null || step.name === LISTS) return wait;
      if (step.text !== undefined) return [...wait, ...step.text.split(' · ')];
      if (step.total === null) return [...wait, step.name];
      const count = `${step.name} ${groupDigits(step.done)} of ${groupDigits(step.total)}`;
      return [...wait, count, ...(step.total < MANY_STEPS ? [] : this.#timeLeft(done, nowMs))];
    }
    const perSecond = Math.round((this.#records / Math.max(1, nowMs - this.#startedMs)) * 1000);
    const ended = this.#resumed.lists + [...this.#streams.values()].filter((stream) => stream.ended).length;
    return [
      ...wait,
      total !== null && exact
        ? `${groupDigits(done)} of ${countOf(total, 'record')}`
        : countOf(done, 'record'),
      `${groupDigits(perSecond)}/s`,
      ...this.#timeLeft(this.#records, nowMs),
      ...((this.#lists ?? 0) > 1 ? [`${ended} of ${countOf(this.#lists ?? 0, 'list')}`] : []),
      countOf(this.#pages, 'page'),
      ...(this.#waits > 0 ? [countOf(this.#waits, 'wait')] : []),
    ];
  }

  /** The time left at the average speed of this process, which did `fresh` of the whole. */
  #timeLeft(fresh: number, nowMs: number): string[] {
    const { done, total } = this.#measure();
    if (total === null || total <= done || fresh === 0) return [];
    const leftMs = ((total - done) / fresh) * (nowMs - this.#startedMs);
    return [`${formatDuration(Math.max(1000, leftMs))} left`];
  }
}
