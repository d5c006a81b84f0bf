import { readTopic, TOPICS } from '../docs/topics.js';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { didYouMean } from '../text/suggest.js';
import { COMMANDS } from './catalogue/all.js';
import type { Given, Io } from './command.js';
import { renderTopic } from './render-topic.js';

/** Widest text, in columns: longer lines are hard to read. */
const MAX_WIDTH = 100;

/**
 * `help`: prints a page of the reference.
 *
 * @throws SvcError `usage` if there is no such page
 */
export async function runHelp({ args }: Given, { stdout, width }: Io): Promise<number> {
  const topic = args.join(' ');
  const markdown = readTopic(topic);
  if (markdown === null) {
    const names = [...COMMANDS, ...TOPICS].map(({ name }) => name);
    throw new SvcError('usage', `There is no command or topic "${topic}".`, {
      hint: didYouMean(topic, names) ?? 'Run `svc-migrate help` for the list.',
    });
  }
  await writeText(stdout, [renderTopic(markdown, Math.min(width, MAX_WIDTH))]);
  return 0;
}
