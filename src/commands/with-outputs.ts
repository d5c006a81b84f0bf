import { rmSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Writable } from 'node:stream';
import { type Config, listInputFiles } from '../config/config.js';
import { listPossibleInputs } from '../config/load-config.js';
import { exitCodeOf, expectedError, SvcError } from '../errors.js';
import { ERROR_RENDERERS } from '../report/render-error.js';
import { assertTargets, realPath } from '../runtime/output-targets.js';
import { readVersion } from '../runtime/version.js';
import { assertStdout, onFile, writeOutput, writeText } from '../runtime/write-output.js';
import { addFlagsToNext } from '../text/escape.js';
import { type Command, configFlags, type Io, type Unparsed } from './command.js';
import type { ListedOption } from './option.js';

/** Output files by the name of their option, such as `json`; `-` is stdout. */
export type NamedOutputs = Readonly<Record<string, string | undefined>>;

/** The exit code after SIGTERM; the abort signal's reason names it. */
const SIGTERM_EXIT_CODE = 143;

/**
 * Runs a command whose output options name files. They never hold the result of an earlier run: they are removed before it starts,
 * and hold its error if it fails, even if the configuration cannot be loaded.
 *
 * @throws SvcError `usage` for an output that would replace an input; no file is touched then
 */
export async function runWithOutputs(command: Command, given: Unparsed, io: Io): Promise<number> {
  const { raw } = given;
  const filesOf = (role: ListedOption['role']) =>
    command.options.flatMap(({ name, ...one }) => {
      const file = raw[name];
      return one.role === role && typeof file === 'string' ? [[name, file] as const] : [];
    });
  const outputs = Object.fromEntries(filesOf('output'));
  const targets = Object.values(outputs);
  const read = filesOf('input').map(([, file]) => file);
  const config = await orSvcError(given.config());
  const isBroken = config instanceof SvcError;
  const inputs = isBroken ? listPossibleInputs(io.env, configFlags(raw)) : ownFilesOf(config);
  const more = (await command.loadInputs?.())?.(raw, isBroken ? null : config) ?? [];
  if (isBroken && command.runsWithoutConfig !== true) {
    if (!areSafe(targets, [...inputs, ...read, ...more])) throw config;
    return replaceOutputs(outputs, io, () => Promise.reject(config));
  }
  assertTargets(targets, [...inputs, ...read, ...more]);
  if (targets.includes('-')) assertStdout();
  return replaceOutputs(outputs, io, (within) => command.run(given, within));
}

async function orSvcError<T>(promise: Promise<T>): Promise<T | SvcError> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

/** The files that outputs must not replace. */
export function ownFilesOf(config: Config): readonly string[] {
  const keyFiles = [...config.v3.regions, config.v4].map(({ keySource }) => keySource).filter(isAbsolute);
  return [config.database, config.file, ...Object.values(listInputFiles(config)), ...keyFiles];
}

function areSafe(targets: readonly string[], inputs: readonly string[]): boolean {
  try {
    assertTargets(targets, inputs);
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes output files of an earlier run, then runs `work`. If that fails, writes the error to the outputs whose format
 * can express one.
 */
async function replaceOutputs<T>(outputs: NamedOutputs, io: Io, work: (io: Io) => Promise<T>): Promise<T> {
  let isStdoutUsed = false;
  const stdout = new Writable({
    write: (chunk, encoding, done) => {
      isStdoutUsed = true;
      io.stdout.write(chunk, encoding, done);
    },
  });
  const onStdout = targetsOf(outputs).includes('-');
  try {
    for (const target of targetsOf(outputs)) removeOutput(target);
    return await work(onStdout ? { ...io, stdout } : io);
  } catch (thrown) {
    const isWritable = ([, target]: readonly [string, string | undefined]) => target !== '-' || !isStdoutUsed;
    await writeErrors(Object.fromEntries(Object.entries(outputs).filter(isWritable)), thrown, io);
    throw thrown;
  }
}

function targetsOf(outputs: NamedOutputs): readonly string[] {
  return Object.values(outputs).filter((target) => target !== undefined);
}

/** Removes a regular file; devices, pipes and folders stay. */
function removeOutput(target: string): void {
  if (target === '-') return;
  const file = realPath(target);
  onFile(target, () => {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) rmSync(file);
  });
}

async function writeErrors(outputs: NamedOutputs, thrown: unknown, io: Io): Promise<void> {
  const failure = {
    error: expectedError(thrown) ?? new SvcError('internal', `This is a bug: ${String(thrown)}`),
    exitCode: exitCodeAfter(thrown, io.signal),
    generatedAt: new Date(io.clock.now()).toISOString(),
    toolVersion: readVersion(),
  };
  for (const [name, target] of Object.entries(outputs)) {
    if (target === undefined) continue;
    const render = ERROR_RENDERERS[name];
    try {
      if (render === undefined) removeOutput(target);
      else {
        // A fresh signal: the one that stopped the command must not stop this write.
        const { signal } = new AbortController();
        await writeOutput({ target, chunks: () => [render(failure)] }, { stdout: io.stdout, signal });
      }
    } catch (error) {
      // The error that stopped the command is the one to report, not that its file cannot be written either.
      if (!(error instanceof SvcError)) throw error;
    }
  }
}

/** The exit code of a command that failed or was stopped by a signal. */
function exitCodeAfter(thrown: unknown, signal: AbortSignal): number {
  return signal.aborted && isSigterm(signal) ? SIGTERM_EXIT_CODE : exitCodeOf(thrown);
}

function isSigterm({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.message === 'SIGTERM';
}

/** Prints text on stdout; the command in its last line gets `--config` and `--db` as they were given. */
export function printText(text: string, io: Io): Promise<void> {
  return writeText(io.stdout, [addFlagsToNext(text, io.flags)]);
}

/** Writes a result as JSON to `target`, and as text with `printText` unless JSON goes to stdout. */
export async function writeResult(
  target: string | undefined,
  { json, text }: { readonly json: () => string; readonly text: () => string },
  io: Io,
): Promise<void> {
  if (target !== undefined) await writeOutput({ target, chunks: () => [json()] }, io);
  if (target !== '-') await printText(text(), io);
}
