import ora from 'ora';
import { displayWidth, fitText, wrapLines } from './text/wrap.js';

/** Columns for the spinner, a space, and the last column, which stays empty. */
const SPINNER_COLUMNS = 3;
const UNDER_SPINNER = '  ';

/** A display of permanent lines, and of one line for each stage. */
export interface Display {
  write(line: string): void;
  /** @param stages the parts of each stage's line, most important first */
  draw(stages: readonly (readonly string[])[]): void;
  clear(): void;
}

export interface DisplayOptions {
  readonly stream: NodeJS.WritableStream;
  readonly width: () => number;
  readonly color: boolean;
}

/** Redraws a line for each stage; permanent lines go above them. */
export function createTerminalDisplay({ stream, width, color }: DisplayOptions): Display {
  const spinner = ora({
    stream,
    isEnabled: true,
    discardStdin: false,
    hideCursor: false,
    color: color ? 'cyan' : false,
  });
  const clear = () => void spinner.stop();
  return {
    write: (line) => {
      clear();
      stream.write(wrapLines([line], width()));
    },
    draw: (stages) => {
      const columns = Math.max(1, width() - SPINNER_COLUMNS);
      spinner.text = stages.map((parts) => fitParts(parts, columns)).join(`\n${UNDER_SPINNER}`);
      if (spinner.isSpinning) spinner.render();
      else spinner.start();
    },
    clear,
  };
}

/** As many parts of a line as fit into `width` columns. */
export function fitParts([name = '', ...parts]: readonly string[], width: number): string {
  let line = fitText(name, width);
  for (const part of parts) {
    const longer = `${line} · ${part}`;
    if (displayWidth(longer) <= width) line = longer;
  }
  return line;
}
