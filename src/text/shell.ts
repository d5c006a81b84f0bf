/** A command line for a shell, with quotes where a word needs them. */
export function shellLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

/** Commands that neither read a configuration nor a database. */
const WITHOUT_FLAGS = /^svc-migrate (init|help|sandbox|demo|completion)\b/;

/**
 * Adds options, such as ` --config other.json`, to a command of this program: to all of `text` if it is one, else to
 * those in backquotes.
 */
export function addFlags(text: string, flags: string): string {
  if (flags === '') return text;
  const add = (command: string) =>
    WITHOUT_FLAGS.test(command) || command.includes(' --config ') ? command : command + flags;
  if (text.startsWith('svc-migrate ')) return add(text);
  return text.replace(/`(svc-migrate [^`]+)`/g, (_, command: string) => `\`${add(command)}\``);
}

/** Adds options to the command in a last line such as `Next: svc-migrate check`. */
export function addFlagsToNext(text: string, flags = ''): string {
  return text.replace(/^(Next: |To undo it: )(svc-migrate .*)$/gm, (_, label: string, command: string) => {
    return label + addFlags(command, flags);
  });
}
