import { Writable } from 'node:stream';
import type { Ora } from 'ora';
import type { OnProgress, ProgressEvent } from './domain.js';
import {
  beginTally,
  countEvent,
  renderBarLine,
  renderEnd,
  renderLine,
  type StageTally,
  UNNAMED_STAGE,
} from './progress-line.js';
import { escapeUnseen } from './text/escape.js';

/** Where there is no terminal: one line this often, ms. */
const PLAIN_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;
/** What a terminal line needs beside the text: the spinner, a blank, and no last column. */
const SPINNER_COLUMNS = 3;

export interface ProgressOptions {
  readonly stream: NodeJS.WritableStream;
  readonly isTty: boolean;
  readonly width: () => number;
  readonly color: boolean;
  /** Warnings only. */
  readonly quiet: boolean;
  /** Also every list as it ends. */
  readonly verbose: boolean;
  readonly clock: { now(): number };
  /** Calls `work` every so often until the returned function is called. */
  readonly every?: (ms: number, work: () => void) => () => void;
}

export interface Progress {
  readonly onProgress: OnProgress;
  /** `target`, for text of others: what is drawn on the terminal makes room for it first. */
  makeRoomFor(target: Writable): Writable;
  /** Says how far the last stage came and leaves the terminal as it was. */
  stop(end: 'done' | 'failed'): void;
}

/** What a display does with lines: one that stays, and one that is drawn over. */
interface Display {
  write(line: string): void;
  draw(tally: StageTally): void;
  close(): void;
}

/** Shows the progress of stages: one line that is redrawn on a terminal, else a line every ten seconds. */
export async function createProgress(options: ProgressOptions): Promise<Progress> {
  const { clock, quiet, verbose, every = everySoOften } = options;
  const display = options.isTty ? await createLineDisplay(options) : createPlainDisplay(options);
  let tally: StageTally | null = null;
  const endStage = (end: 'done' | 'failed') => {
    const line = tally === null || quiet ? null : renderEnd(tally, clock.now(), end);
    if (line !== null) display.write(line);
    tally = null;
  };
  const rest = () => {
    endStage('done');
    display.close();
  };
  const draw = () => {
    if (tally !== null && !quiet) display.draw(tally);
  };
  const stopTimer = quiet ? () => {} : every(DRAW_EVERY_MS, draw);
  return {
    onProgress: (event) => {
      const line = noteOf(event, options);
      if (line !== null) display.write(escapeUnseen(line));
      // A stage may be announced by the command and again by the work itself.
      if (event.kind === 'stage' && event.name !== tally?.stage) {
        endStage('done');
        tally = beginTally(escapeUnseen(event.name), clock.now());
      }
      tally ??= beginTally(UNNAMED_STAGE, clock.now());
      countEvent(tally, event, clock.now());
      if (verbose && event.kind === 'wait') display.write(escapeUnseen(`waiting: ${event.reason}`));
      // Long statements leave the timer no turn.
      if (event.kind === 'stage' || event.kind === 'step' || event.kind === 'wait') draw();
    },
    makeRoomFor: (target) => (options.isTty ? makeRoom(target, rest) : target),
    stop: (end) => {
      stopTimer();
      endStage(end);
      display.close();
    },
  };
}

/** A line that stays, if the event is worth one. */
function noteOf(event: ProgressEvent, { quiet, verbose }: ProgressOptions): string | null {
  if (event.kind === 'note') {
    if (event.level === 'warning') return `Warning: ${event.text}`;
    return quiet ? null : event.text;
  }
  if (event.kind !== 'stream' || !verbose || quiet) return null;
  const { generation, region, model, companyId } = event.stream;
  const place = [generation, region, model, companyId === null ? '' : `company ${companyId}`];
  return `${place.filter((part) => part !== '').join(' ')}: ${event.state}`;
}

function makeRoom(target: Writable, rest: () => void): Writable {
  return new Writable({
    write: (chunk, encoding, done) => {
      rest();
      target.write(chunk, encoding, done);
    },
  });
}

function createPlainDisplay({ stream, clock, width }: ProgressOptions): Display {
  let lastMs = clock.now();
  const write = (line: string) => {
    lastMs = clock.now();
    stream.write(`${line}\n`);
  };
  return {
    write,
    draw: (tally) => {
      if (clock.now() - lastMs >= PLAIN_EVERY_MS) write(renderLine(tally, clock.now(), width()));
    },
    close: () => {},
  };
}

async function createLineDisplay({ stream, clock, width, color }: ProgressOptions): Promise<Display> {
  // Loading it takes a tenth of the time of a short command, which without a terminal would be for nothing.
  const { default: ora } = await import('ora');
  let spinner: Ora | null = null;
  const clear = () => {
    spinner?.stop();
    spinner = null;
  };
  return {
    write: (line) => {
      clear();
      stream.write(`${line}\n`);
    },
    draw: (tally) => {
      const text = renderBarLine(tally, clock.now(), Math.max(1, width() - SPINNER_COLUMNS));
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

function everySoOften(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}
