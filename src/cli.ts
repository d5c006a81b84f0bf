import { writeSync } from 'node:fs';
import process from 'node:process';
import type { Io } from './commands/command.js';
import { describeFileError, errorCodeOf, exitCodeOf, SvcError, throwIfInterrupted } from './errors.js';
import { runProgram, write } from './program.js';

/** 128 + the number of the signal. */
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof EXIT_BY_SIGNAL;

/** Longest time for work to stop, ms, so that a signal ends the process within two seconds. */
const STOP_WITHIN_MS = 1500;

process.on('uncaughtException', (error) => void leave(error));
// Without `await`: chunks of the bundle that import this one would wait for it.
void main(process.argv.slice(2)).then((exitCode) => process.exit(exitCode));

async function main(words: readonly string[]): Promise<number> {
  const { signal, runUninterruptible, exitCodeAfter } = watchSignals();
  watchPipes();
  sizeTerminals();
  const { stdout, stderr, env } = process;
  const openInput = () => process.stdin;
  const exitCode = await runProgram(words, { stdout, stderr, env, signal, openInput, runUninterruptible });
  await flush();
  return exitCodeAfter(exitCode);
}

/** The first signal asks the work to stop, and ends the process if it does not stop in time; the second ends it at once. */
function watchSignals() {
  const controller = new AbortController();
  let received: StopSignal | null = null;
  const onSignal = (signal: StopSignal) => {
    if (received !== null) leaveAtOnce(signal);
    received = signal;
    process.stderr.write('\nStopping; press Ctrl-C again to exit immediately.\n');
    setTimeout(() => leaveAtOnce(signal), STOP_WITHIN_MS).unref();
    controller.abort(new DOMException(signal, 'AbortError'));
  };
  const listen = () => {
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  };
  listen();
  // Without a listener, a signal ends the process even while the thread is busy.
  const runUninterruptible: Io['runUninterruptible'] = async (work) => {
    // Node.js delivers signals once per turn of the event loop. A signal still pending when its listener is removed
    // would be lost.
    await throwIfInterrupted(controller.signal);
    await throwIfInterrupted(controller.signal);
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    try {
      return work();
    } finally {
      listen();
    }
  };
  const exitCodeAfter = (exitCode: number) => (received === null ? exitCode : EXIT_BY_SIGNAL[received]);
  return { signal: controller.signal, runUninterruptible, exitCodeAfter };
}

/** By the signal itself: `process.exit` would wait for a thread that opens a pipe without a partner. */
function leaveAtOnce(signal: StopSignal): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Some terminals report 0 columns; fall back to 80 x 24. */
function sizeTerminals(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.columns === 0) [stream.columns, stream.rows] = [80, 24];
  }
}

/** Handles a closed pipe, as with `| head`, without a stack trace: the exit code tells that output was cut off. */
function watchPipes(): void {
  process.stdout.on('error', (error) => {
    if (errorCodeOf(error) !== 'EPIPE') {
      process.stderr.write(`svc-migrate: cannot write stdout: ${describeFileError(error)}\n`);
    }
    process.exit(exitCodeOf(new SvcError('output', 'stdout was cut')));
  });
  process.stderr.on('error', () => {});
}

async function flush(): Promise<void> {
  await write(process.stdout, '');
  await write(process.stderr, '');
  await new Promise((done) => setImmediate(done));
}

/** Ends the process for an error that nothing caught: with 70 for a bug, never with 1, which means a failed gate. */
async function leave(error: unknown): Promise<void> {
  try {
    const { describeError } = await import('./text/describe-error.js');
    writeSync(process.stderr.fd, describeError(error, false));
  } finally {
    process.exit(exitCodeOf(error));
  }
}
