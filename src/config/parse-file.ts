import { readFileSync } from 'node:fs';
import {
  createScanner,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { errorCodeOf, SvcError } from '../errors.js';
import { configError, lineOf, type Problem, type SourceText } from './problems.js';

/**
 * Parses a configuration file. Comments and trailing commas are allowed.
 *
 * @throws SvcError `config` for a missing or unreadable file, a syntax error (with its position) or a repeated key
 */
export function parseConfigFile(file: string): { readonly source: SourceText; readonly value: unknown } {
  const text = readConfigText(file);
  assertShallow(file, text);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const source = { file, text, tree };
  if (tree === undefined) {
    throw new SvcError('config', `${file} is empty.`, {
      hint: 'Run `svc-migrate init --force` to write a new one.',
    });
  }
  const [first] = errors;
  if (first !== undefined) throw syntaxError(source, first);
  const repeated = findRepeatedKeys(text, tree, []);
  if (repeated.length > 0) throw configError(source, repeated);
  return { source, value: getNodeValue(tree) };
}

function readConfigText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (cause) {
    const code = errorCodeOf(cause);
    if (code !== 'ENOENT') {
      throw new SvcError('config', `The configuration file ${file} cannot be read (${code}).`, { cause });
    }
    throw new SvcError('config', `There is no configuration file ${file}.`, {
      hint: 'Run `svc-migrate init` to write one, or name yours with --config.',
      cause,
    });
  }
}

/** Deepest nesting; the recursive parser fails at some thousands of levels. */
const DEEPEST = 100;

function assertShallow(file: string, text: string): void {
  const scanner = createScanner(text, true);
  let depth = 0;
  do {
    scanner.scan();
    const first = text[scanner.getTokenOffset()] ?? '';
    if (first === '{' || first === '[') depth += 1;
    if (first === '}' || first === ']') depth -= 1;
    if (depth <= DEEPEST) continue;
    const line = lineOf(text, scanner.getTokenOffset());
    throw new SvcError('config', `${file}:${line}: this is not a configuration: it is nested too deeply.`);
  } while (scanner.getTokenOffset() < text.length);
}

/** Reports only the position: the text around an error may be a pasted key. */
function syntaxError({ file, text }: SourceText, error: ParseError): SvcError {
  const line = lineOf(text, error.offset);
  const column = error.offset - text.lastIndexOf('\n', error.offset - 1);
  const what = printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return new SvcError('config', `${file}:${line}:${column}: this is not JSON (${what}).`, {
    hint: 'Comments and trailing commas are allowed; keys and text need double quotes.',
  });
}

function findRepeatedKeys(text: string, node: Node, path: Problem['path']): Problem[] {
  const children = node.children ?? [];
  if (node.type === 'array') {
    return children.flatMap((child, at) => findRepeatedKeys(text, child, [...path, at]));
  }
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return children.flatMap(({ offset, children: [key, value] = [] }) => {
    const name = String(key?.value);
    const own = {
      path: [...path, name],
      // A getter, because counting lines is slow and only the first problems are shown.
      get message() {
        return `is set again on line ${lineOf(text, offset)}`;
      },
    };
    const nested = value === undefined ? [] : findRepeatedKeys(text, value, own.path);
    const isRepeated = seen.has(name);
    seen.add(name);
    return isRepeated ? [own, ...nested] : nested;
  });
}
