import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import {
  COMPANIES_HEADER,
  DECISIONS_HEADER,
  type Decision,
  type NamedCompanyPair,
  parseCompanies,
  parseDecisions,
} from '../config/user-files.js';
import { SvcError } from '../errors.js';
import { writeOutput } from '../runtime/write-output.js';
import { csvCell } from '../text/escape.js';
import type { Io } from './command.js';

/** A file of answers: what it holds, and how to add a line. What is in it stays as it is. */
interface AnswerFile<Row> {
  readonly file: string;
  /** Whether the configuration names it. */
  readonly isConfigured: boolean;
  readonly rows: Row[];
  add(cells: readonly (string | bigint | null)[], row: Row): Promise<void>;
}

/** The decisions file that the configuration names, else `decisions.csv` beside the configuration. */
export function openDecisions(config: Config, io: Io): AnswerFile<Omit<Decision, 'line'>> {
  const regions = config.v3.regions.map(({ region }) => region);
  return openAnswers(config.decisions ?? beside(config, 'decisions.csv'), {
    isConfigured: config.decisions !== null,
    header: DECISIONS_HEADER,
    parse: (text) => parseDecisions(text, { models: config.models, regions }),
    io,
  });
}

/** The companies file that the configuration names, else `companies.csv` beside the configuration. */
export function openCompanies(config: Config, io: Io): AnswerFile<NamedCompanyPair> {
  const { match } = config.companies;
  const regions = config.v3.regions.map(({ region }) => region);
  return openAnswers(typeof match === 'string' ? beside(config, 'companies.csv') : match.file, {
    isConfigured: typeof match !== 'string',
    header: COMPANIES_HEADER,
    parse: (text) => parseCompanies(text, regions),
    io,
  });
}

function beside(config: Config, name: string): string {
  return join(dirname(config.file), name);
}

function openAnswers<Row>(
  file: string,
  {
    isConfigured,
    header,
    parse,
    io,
  }: {
    readonly isConfigured: boolean;
    readonly header: string;
    readonly parse: (text: string) => { readonly rows: Row[]; readonly problems: readonly string[] };
    readonly io: Io;
  },
): AnswerFile<Row> {
  let text = existsSync(file) ? readFileSync(file, 'utf8') : `${header}\n`;
  const { rows, problems } = parse(text);
  if (problems.length > 0) {
    throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, {
      hint: 'Correct these lines first: answers are added below them.',
    });
  }
  return {
    file,
    isConfigured,
    rows,
    add: async (cells, row) => {
      const end = text === '' || text.endsWith('\n') ? '' : '\n';
      text += `${end}${cells.map((cell) => csvCell(cell === null ? '' : String(cell))).join(',')}\n`;
      await writeOutput({ target: file, chunks: () => [text] }, io);
      rows.push(row);
    },
  };
}
