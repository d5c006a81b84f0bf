import { SvcError } from '../../errors.js';
import { writeText } from '../../runtime/write-output.js';
import { didYouMean } from '../../text/suggest.js';
import { COMMANDS } from '../catalogue/all.js';
import { COMMON_OPTIONS } from '../catalogue/options.js';
import type { Given } from '../command.js';
import type { Io } from '../io.js';
import { buildGrammar, type Grammar } from './grammar.js';
import { renderBash } from './render-bash.js';
import { renderFish } from './render-fish.js';

const RENDERERS: Readonly<Record<string, (grammar: Grammar) => string>> = {
  bash: renderBash,
  zsh: (grammar) => `autoload -U +X bashcompinit && bashcompinit\n${renderBash(grammar)}`,
  fish: renderFish,
};

/**
 * `completion`: prints a completion script.
 *
 * @throws SvcError `usage` for another shell
 */
export async function runCompletion({ args: [shell = ''] }: Given, { stdout }: Io): Promise<number> {
  const render = RENDERERS[shell];
  if (render === undefined) {
    throw new SvcError('usage', `There is no completion for "${shell}".`, {
      hint: didYouMean(shell, Object.keys(RENDERERS)) ?? undefined,
    });
  }
  await writeText(stdout, [render(buildGrammar(COMMANDS, COMMON_OPTIONS))]);
  return 0;
}
