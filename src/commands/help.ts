import { Command } from '@commander-js/extra-typings';
import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import type { DefineCommand } from './command.js';

export const helpCommand: DefineCommand = (run) =>
  new Command('help')
    .summary('explain a command or a topic, such as `help start`')
    .description(
      'Prints the page of a topic, the options of a command, or both. Without an argument: all topics.',
    )
    .argument('[words...]', 'a topic, or a command')
    .action((words, _, command) =>
      run(command, [], async (io) => {
        const { readTopic, listTopics } = await import('../docs/topics.js');
        const program = must(command.parent);
        const named = words.length === 0 ? program : findCommand(program.commands, words);
        const page = words.length === 0 ? listTopics() : readTopic(words.join(' '));
        if (page === null && named === undefined) throw await unknownTopic(words.join(' '), program.commands);
        if (words.length > 0)
          io.stdout.write(page === null ? '' : `${page}${named === undefined ? '' : '\n'}`);
        named?.outputHelp();
        if (words.length === 0) io.stdout.write(`\n${page}`);
        return { exitCode: 0 };
      }),
    );

type Commands = NonNullable<Command['parent']>['commands'];

function findCommand(commands: Commands, [first, ...more]: readonly string[]): Commands[number] | undefined {
  const command = commands.find((candidate) => candidate.name() === first);
  return more.length === 0 || command === undefined ? command : findCommand(command.commands, more);
}

async function unknownTopic(topic: string, commands: Commands): Promise<SvcError> {
  const { TOPICS } = await import('../docs/topics.js');
  const { suggest } = await import('../text/suggest.js');
  const names = [...commands.map((command) => command.name()), ...TOPICS.map(({ name }) => name)];
  const near = suggest(topic, names);
  return new SvcError('usage', `There is no command or topic "${topic}".`, {
    hint: near === null ? 'Run `svc-migrate help` for the list.' : `Did you mean "${near}"?`,
  });
}
