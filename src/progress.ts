import { Writable } from 'node:stream';
import type { Ora } from 'ora';
import type { Clock, Generation, OnProgress, ProgressEvent } from './domain.js';
import {
  beginTally,
  countEvent,
  renderBarLine,
  renderEnd,
  renderLine,
  type StageTally,
  UNNAMED_STAGE,
  updateEstimate,
} from './progress-line.js';
import { escapeUnseen } from './text/escape.js';
import { wrapMessage } from './text/text-layout.js';

/** Interval of lines without a terminal, ms. */
const PLAIN_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;
/** Columns for the spinner, a space, and the last column, which stays empty. */
const SPINNER_COLUMNS = 3;
/** Indents the lines below that of the spinner. */
const UNDER_SPINNER = '  ';

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

/** A display of permanent lines, and of one line for each stage that is redrawn. */
interface Display {
  write(line: string): void;
  draw(tallies: readonly StageTally[]): void;
  close(): void;
}

/** Shows the progress of stages: on a terminal, a line each that is redrawn; otherwise a line each every ten seconds. */
export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { clock, quiet, verbose, every = repeatEvery } = options;
  const display = options.isTty ? await createLineDisplay(options) : createPlainDisplay(options);
  const tallies = new Map<StageKey, StageTally>();
  const endStage = (key: StageKey, end: 'done' | 'failed') => {
    const tally = tallies.get(key);
    const line = tally === undefined || quiet ? null : renderEnd(tally, clock.now(), end);
    if (line !== null) display.write(line);
    tallies.delete(key);
  };
  const endStages = (end: 'done' | 'failed') => {
    for (const key of [...tallies.keys()]) endStage(key, end);
  };
  const begin = (key: StageKey, name: string) => {
    // A stage may be announced by the command and again by the work itself.
    if (tallies.get(key)?.stage === name) return;
    if (key === ALONE) endStages('done');
    else for (const ended of [ALONE, key] as const) endStage(ended, 'done');
    tallies.set(key, beginTally(escapeUnseen(name), clock.now()));
  };
  const tallyOf = ({ generation }: ProgressEvent): StageTally | undefined => {
    const own = tallies.get(generation ?? ALONE) ?? tallies.get(ALONE);
    if (own === undefined && tallies.size === 0) begin(ALONE, UNNAMED_STAGE);
    return own ?? tallies.get(ALONE);
  };
  const endAndClear = () => {
    endStages('done');
    display.close();
  };
  const draw = () => {
    if (tallies.size === 0 || quiet) return;
    for (const tally of tallies.values()) updateEstimate(tally, clock.now());
    display.draw([...tallies.values()]);
  };
  const stopTimer = quiet ? () => {} : every(DRAW_EVERY_MS, draw);
  return {
    onProgress: (event) => {
      const line = permanentLineOf(event, options);
      if (line !== null) display.write(escapeUnseen(line));
      if (event.kind === 'stage') begin(event.generation ?? ALONE, event.name);
      if (event.kind === 'end') endStage(event.generation ?? ALONE, event.how);
      const tally = event.kind === 'end' ? undefined : tallyOf(event);
      if (tally !== undefined) countEvent(tally, event, clock.now());
      if (verbose && event.kind === 'wait') display.write(escapeUnseen(`waiting: ${event.reason}`));
      // Drawn here too, because long statements keep the timer from firing.
      if (event.kind === 'stage' || event.kind === 'step' || event.kind === 'wait') draw();
    },
    clearBefore: (target, edit) => clearLineBefore(target, endAndClear, edit),
    stop: (end) => {
      stopTimer();
      endStages(end);
      display.close();
    },
  };
}

/** The generation that a stage belongs to, or a stage that runs alone. */
type StageKey = Generation | typeof ALONE;
const ALONE = 'alone';

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

function clearLineBefore(
  target: Writable,
  endAndClear: () => void,
  edit?: (text: string) => string,
): Writable {
  const wrapped = new Writable({
    write: (chunk, encoding, done) => {
      endAndClear();
      if (edit === undefined) target.write(chunk, encoding, done);
      else target.write(edit(String(chunk)), done);
    },
  });
  // The writer gets the error from its callback. A closed pipe also emits it later, when nobody listens any more.
  return wrapped.on('error', () => {});
}

function createPlainDisplay({ stream, clock, width }: ProgressOptions): Display {
  let lastMs = clock.now();
  const write = (line: string) => {
    lastMs = clock.now();
    stream.write(`${line}\n`);
  };
  return {
    write,
    draw: (tallies) => {
      if (clock.now() - lastMs < PLAIN_EVERY_MS) return;
      for (const tally of tallies) write(renderLine(tally, clock.now(), width()));
    },
    close: () => {},
  };
}

async function createLineDisplay({ stream, clock, width, color }: ProgressOptions): Promise<Display> {
  // Loaded only here: it takes a tenth of the time of a short command and is useless without a terminal.
  const { default: ora } = await import('ora');
  let spinner: Ora | null = null;
  const clear = () => {
    spinner?.stop();
    spinner = null;
  };
  return {
    write: (line) => {
      clear();
      stream.write(`${wrapMessage(line, width())}\n`);
    },
    draw: (tallies) => {
      const columns = Math.max(1, width() - SPINNER_COLUMNS);
      const lines = tallies.map((tally) => renderBarLine(tally, clock.now(), columns));
      const text = lines.join(`\n${UNDER_SPINNER}`);
      if (spinner === null) {
        spinner = ora({
          stream,
          text,
          isEnabled: true,
          discardStdin: false,
          hideCursor: false,
          color: color ? 'cyan' : false,
        });
        spinner.start();
      } else {
        spinner.text = text;
        spinner.render();
      }
    },
    close: clear,
  };
}

function repeatEvery(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}
