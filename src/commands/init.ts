import { existsSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { DEFAULT_MODELS } from '../config/defaults.js';
import { findConfigFile } from '../config/load-config.js';
import { baseUrlProblem } from '../config/values.js';
import type { ModelPair } from '../domain.js';
import { errorCodeOf, SvcError } from '../errors.js';
import { createFile, writeText } from '../runtime/write-output.js';
import { didYouMean } from '../text/suggest.js';
import type { Given, Io } from './command.js';
import { locateSchema, renderStarter, STARTER_DEFAULTS, type StarterAnswers } from './starter-config.js';

/**
 * `init`: writes a commented starter configuration. On a terminal it asks for addresses, key variables and
 * models first.
 *
 * @throws SvcError `usage` if the file exists already, `output`, `interrupted`
 */
export async function runInit(given: Given, io: Io): Promise<number> {
  const file = findConfigFile(io.env, given.text('config'));
  const force = given.isSet('force');
  const input = io.isTty && given.input.isTTY ? given.input : null;
  // Checked before asking; `createFile` checks again.
  if (!force && existsSync(file)) throw isThere(file);
  const answers = input === null ? STARTER_DEFAULTS : await ask(input, io);
  write(file, renderStarter({ ...answers, schema: locateSchema(file, import.meta.url) }), force);
  const todo = input === null ? ['Put both addresses into it.'] : [];
  await writeText(io.stdout, [
    `Wrote ${file}.\n`,
    ...todo.map((line) => `${line}\n`),
    `Next: set ${[...new Set([answers.v3KeyEnv, answers.v4KeyEnv])].join(' and ')}, then run svc-migrate doctor\n`,
  ]);
  return 0;
}

function write(file: string, text: string, force: boolean): void {
  try {
    createFile(file, text, { replace: force });
  } catch (cause) {
    const error = errorCodeOf(cause);
    if (error === 'EEXIST') throw isThere(file);
    throw new SvcError('output', `Cannot write ${file}: ${error}.`, {
      hint: 'Check that the folder exists and can be written.',
      cause,
    });
  }
}

function isThere(file: string): SvcError {
  return new SvcError('usage', `${file} exists already; it was not changed.`, {
    hint: 'Name another file with --config, or replace this one with --force.',
  });
}

async function ask(input: Readable, io: Io): Promise<Omit<StarterAnswers, 'schema'>> {
  const terminal = createInterface({ input, output: io.stderr, terminal: true });
  try {
    const { v3KeyEnv, v4KeyEnv } = STARTER_DEFAULTS;
    return {
      v3BaseUrls: parseRegions(await askFor(terminal, io, V3_QUESTION, '', regionsProblem)),
      v4BaseUrl: await askFor(terminal, io, 'V4 address (without /v4)', '', v4UrlProblem),
      v3KeyEnv: await askFor(terminal, io, 'Variable with the V3 key', v3KeyEnv, variableProblem),
      v4KeyEnv: await askFor(terminal, io, 'Variable with the V4 key', v4KeyEnv, variableProblem),
      models: parseModels(
        await askFor(terminal, io, 'Models, as V3 paths separated by commas', 'all', modelProblem),
      ),
    };
  } finally {
    terminal.close();
  }
}

/** Asks until the answer is valid; an empty answer means `usual`. */
async function askFor(
  terminal: Interface,
  io: Io,
  question: string,
  usual: string,
  problemOf: (answer: string) => string | null,
): Promise<string> {
  for (;;) {
    const answer = (await answerTo(terminal, `${question}${usual === '' ? '' : ` [${usual}]`}: `, io)).trim();
    const value = answer === '' ? usual : answer;
    const problem = problemOf(value);
    if (problem === null) return value;
    await writeText(io.stderr, [`  It ${problem}.\n`]);
  }
}

/** Asks one question; Ctrl-C and the end of input are an error `interrupted`. */
function answerTo(terminal: Interface, question: string, { signal, stderr }: Io): Promise<string> {
  return new Promise((done, fail) => {
    const stop = () => {
      // The cursor is still on the line of the question.
      stderr.write('\n');
      fail(new SvcError('interrupted', 'Stopped; nothing was written.'));
    };
    terminal.once('close', stop);
    terminal.once('SIGINT', stop);
    terminal.question(question, { signal }).then((answer) => {
      terminal.off('close', stop);
      terminal.off('SIGINT', stop);
      done(answer);
    }, stop);
  });
}

const V3_QUESTION = 'V3 address (with /v3); several as region=address, separated by commas';

/** One address is the region `default`. */
function parseRegions(answer: string): Record<string, string> {
  const named = answer.split(',').map((part) => /^\s*(?:([\w-]+)=)?(.*?)\s*$/.exec(part) ?? []);
  return Object.fromEntries(named.map(([, region = 'default', url = '']) => [region, url]));
}

function regionsProblem(answer: string): string | null {
  const regions = parseRegions(answer);
  if (Object.keys(regions).length < answer.split(',').length)
    return 'must name each region once, as eu=https://…';
  return Object.values(regions).reduce<string | null>((found, url) => found ?? baseUrlProblem(url), null);
}

function v4UrlProblem(answer: string): string | null {
  return baseUrlProblem(answer) ?? (/\/v4\/*$/i.test(answer) ? 'must not end in /v4: it is added' : null);
}

function variableProblem(answer: string): string | null {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(answer) ? null : 'must be the name of an environment variable';
}

function modelProblem(answer: string): string | null {
  const known = DEFAULT_MODELS.map(({ v3 }) => v3);
  const unknown = answer === 'all' ? undefined : namesIn(answer).find((name) => !known.includes(name));
  if (unknown === undefined) return namesIn(answer).length === 0 ? 'must name a model, or all' : null;
  const meant = didYouMean(unknown, known) ?? '';
  return `must name models of the specification, not "${unknown}". ${meant}`.trimEnd().replace(/\.$/, '');
}

function parseModels(answer: string): ModelPair[] | null {
  if (answer === 'all') return null;
  const names = namesIn(answer);
  return DEFAULT_MODELS.filter(({ v3 }) => names.includes(v3));
}

function namesIn(answer: string): string[] {
  return answer
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
