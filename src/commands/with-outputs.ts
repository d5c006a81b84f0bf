import { rmSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Writable } from 'node:stream';
import { filesOf } from '../config/apply-targets.js';
import { type Config, listInputFiles } from '../config/config.js';
import { listPossibleInputs } from '../config/load-config.js';
import { exitCodeOf, expectedError, orError, SvcError } from '../errors.js';
import { readVersion } from '../runtime/version.js';
import {
  assertStdout,
  assertTargets,
  onFile,
  realPath,
  writeOutput,
  writeText,
} from '../runtime/write-output.js';
import { addFlags, addFlagsToNext, escapeJson, escapeMarkdown, escapeMarkup } from '../text/escape.js';
import * as z from '../zod.js';
import { type Command, configFlags, type Io, type Unparsed } from './command.js';
import type { ListedOption } from './option.js';

/** The exit code after SIGTERM; the abort signal's reason names it. */
const SIGTERM_EXIT_CODE = 143;

/** An output file by the name of its option, such as `json`; `-` is stdout. */
type NamedOutput = readonly [name: string, target: string];

/**
 * Runs a command whose output options name files. They never hold the result of an earlier run: they are removed before it starts,
 * and hold its error if it fails, even if the configuration cannot be loaded.
 *
 * @throws SvcError `usage` for an output that would replace an input; no file is touched then
 */
export async function runWithOutputs(command: Command, given: Unparsed, io: Io): Promise<number> {
  const { raw } = given;
  const filesOf = (role: ListedOption['role']) =>
    command.options.flatMap(({ name, ...one }): NamedOutput[] => {
      const file = raw[name];
      return one.role === role && typeof file === 'string' ? [[name, file]] : [];
    });
  const outputs = filesOf('output');
  const targets = outputs.map(([, target]) => target);
  const config = await orError(() => given.config());
  const isBroken = config instanceof SvcError;
  const inputs = [
    ...(isBroken ? listPossibleInputs(io.env, configFlags(raw)) : ownFilesOf(config)),
    ...filesOf('input').map(([, file]) => file),
    ...((await command.load()).listInputs?.(raw, isBroken ? null : config) ?? []),
  ];
  const isLost = isBroken && command.runsWithoutConfig !== true;
  const wrong = await orError(() => assertTargets(targets, inputs));
  if (wrong instanceof SvcError) throw isLost ? config : wrong;
  if (targets.includes('-')) assertStdout();
  return replaceOutputs(outputs, io, (within) =>
    isLost ? Promise.reject(config) : command.run(given, within),
  );
}

/** The files that outputs must not replace. */
export function ownFilesOf(config: Config): readonly string[] {
  const keyFiles = [...config.v3.regions, config.v4].map(({ keySource }) => keySource).filter(isAbsolute);
  const targets = config.apply.targets.flatMap(filesOf);
  const possible = config.possibleInputs ?? [];
  const inputs = Object.values(listInputFiles(config));
  return [config.database, config.file, ...inputs, ...keyFiles, ...targets, ...possible];
}

/**
 * Removes output files of an earlier run, then runs `work`. If that fails, writes the error to the outputs whose format
 * can express one.
 */
async function replaceOutputs<T>(
  outputs: readonly NamedOutput[],
  io: Io,
  work: (io: Io) => Promise<T>,
): Promise<T> {
  let isStdoutUsed = false;
  const stdout = new Writable({
    write: (chunk, encoding, done) => {
      isStdoutUsed = true;
      io.stdout.write(chunk, encoding, done);
    },
  });
  const onStdout = outputs.some(([, target]) => target === '-');
  try {
    for (const [, target] of outputs) removeOutput(target);
    return await work(onStdout ? { ...io, stdout } : io);
  } catch (thrown) {
    for (const [name, target] of outputs) {
      if (target !== '-' || !isStdoutUsed) await writeError(name, target, thrown, io);
    }
    throw thrown;
  }
}

/** Removes a regular file; devices, pipes and folders stay. */
function removeOutput(target: string): void {
  if (target === '-') return;
  const file = realPath(target);
  onFile(target, () => {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) rmSync(file);
  });
}

async function writeError(name: string, target: string, thrown: unknown, io: Io): Promise<void> {
  const { code, message, hint } =
    expectedError(thrown) ?? new SvcError('internal', `This is a bug: ${String(thrown)}`);
  const failure = {
    error: { code, message, hint: hint && addFlags(hint, io.flags ?? '') },
    exitCode: isSigterm(io.signal) ? SIGTERM_EXIT_CODE : exitCodeOf(thrown),
    generatedAt: new Date(io.clock.now()).toISOString(),
  };
  const render = ERROR_RENDERERS[name];
  try {
    if (render === undefined) return removeOutput(target);
    // A fresh signal: the one that stopped the command must not stop this write.
    const { signal } = new AbortController();
    await writeOutput({ target, chunks: () => [render(failure)] }, { stdout: io.stdout, signal });
  } catch (error) {
    // The error that stopped the command is the one to report, not that its file cannot be written either.
    if (!(error instanceof SvcError)) throw error;
  }
}

function isSigterm({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.message === 'SIGTERM';
}

/** A command that ended without a result. */
interface Failure {
  readonly error: Pick<SvcError, 'code' | 'message' | 'hint'>;
  /** Of the process. */
  readonly exitCode: number;
  readonly generatedAt: string;
}

/** The JSON of a command that ended without a result. */
export const errorSchema = z.strictObject({
  schemaVersion: z.literal(1),
  tool: z.strictObject({ name: z.literal('svc-migrate'), version: z.string() }),
  generatedAt: z.string(),
  outcome: z.literal('error'),
  exitCode: z.exitCodeSchema,
  error: z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() }),
});

/** Renderers of an error instead of a result, by the option of the output. Other outputs are not written then. */
export const ERROR_RENDERERS: Readonly<Record<string, (failure: Failure) => string>> = {
  json: ({ error: { code, message, hint = null }, exitCode, generatedAt }) => {
    const tool = { name: 'svc-migrate', version: readVersion() };
    const error = { code, message, hint };
    const content = { schemaVersion: 1, tool, generatedAt, outcome: 'error', exitCode, error };
    // One line, which is NDJSON, too.
    return `${escapeJson(JSON.stringify(content))}\n`;
  },
  markdown: ({ error: { code, message, hint }, exitCode }) => {
    const next = hint === undefined ? [] : [`**Next:** ${escapeMarkdown(hint)}`];
    const lines = message.split('\n').map(escapeMarkdown);
    const what = `${lines.join('<br>')} (${code}, exit code ${exitCode})`;
    return `${['## ❌ ERROR: THERE IS NO RESULT', what, ...next].join('\n\n')}\n`;
  },
  junit: ({ error: { code, message, hint = '' }, exitCode, generatedAt }) =>
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites>',
      `<testsuite name="svc-migrate" package="svc-migrate" id="0" timestamp="${generatedAt.slice(0, 19)}" hostname="localhost" tests="1" failures="0" errors="1" skipped="0" time="0">`,
      `<properties><property name="outcome" value="error"/><property name="exitCode" value="${exitCode}"/></properties>`,
      '<testcase classname="svc-migrate" name="the command gave a result" time="0">',
      `<error type="${code}" message="${message.split('\n').map(escapeMarkup).join('&#10;')}">${escapeMarkup(hint)}</error></testcase>`,
      '<system-out/>\n<system-err/>\n</testsuite>\n</testsuites>\n',
    ].join('\n'),
};

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
