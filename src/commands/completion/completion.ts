import { DEFAULT_MODELS } from '../../config/defaults.js';
import type { ModelPair } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { writeText } from '../../runtime/write-output.js';
import { didYouMean } from '../../text/suggest.js';
import { COMMANDS } from '../catalogue/all.js';
import { COMMON_OPTIONS } from '../catalogue/options.js';
import type { Given, Io } from '../command.js';
import { buildGrammar, type Grammar } from './grammar.js';
import { renderBash } from './render-bash.js';
import { renderFish } from './render-fish.js';

const RENDERERS: Readonly<Record<string, (grammar: Grammar) => string>> = {
  bash: renderBash,
  zsh: (grammar) => `autoload -U +X bashcompinit && bashcompinit\n${renderBash(grammar)}`,
  fish: renderFish,
};

/**
 * `completion`: prints a completion script, or for the scripts the models: those configured, else the default ones.
 *
 * @throws SvcError `usage` for another shell
 */
export async function runCompletion(given: Given, { stdout }: Io): Promise<number> {
  const [shell = ''] = given.args;
  if (shell === 'models') {
    await writeText(stdout, [`${(await listModels(given)).map(({ v3 }) => v3).join('\n')}\n`]);
    return 0;
  }
  const render = RENDERERS[shell];
  if (render === undefined) {
    throw new SvcError('usage', `There is no completion for "${shell}".`, {
      hint: didYouMean(shell, Object.keys(RENDERERS)) ?? undefined,
    });
  }
  await writeText(stdout, [render(buildGrammar(COMMANDS, COMMON_OPTIONS))]);
  return 0;
}

async function listModels(given: Given): Promise<readonly ModelPair[]> {
  try {
    return (await given.config()).models;
  } catch (error) {
    if (error instanceof SvcError) return DEFAULT_MODELS;
    throw error;
  }
}
