import { readFileSync } from 'node:fs';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { SvcError } from '../errors.js';
import { configError, lineOf, type Problem, type Source } from './problems.js';

/**
 * A configuration file's text with its tree and value. Comments and trailing commas are allowed.
 *
 * @throws SvcError `config`: missing or unreadable file, wrong syntax with its place, a key set twice
 */
export function parseConfigFile(file: string): { readonly source: Source; readonly value: unknown } {
  const text = readConfigText(file);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const source = { file, text, tree };
  if (tree === undefined) {
    throw new SvcError('config', `${file} is empty.`, {
      hint: 'Run `svc-migrate init --force` to start afresh.',
    });
  }
  const [first] = errors;
  if (first !== undefined) throw syntaxError(source, first);
  const twice = findRepeatedKeys(source, tree, []);
  if (twice.length > 0) throw configError(source, twice);
  return { source, value: getNodeValue(tree) };
}

function readConfigText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    if (code === 'ENOENT') {
      throw new SvcError('config', `There is no configuration file ${file}.`, {
        hint: 'Run `svc-migrate init` to write one, or name yours with --config.',
        cause,
      });
    }
    throw new SvcError('config', `The configuration file ${file} cannot be read (${code}).`, { cause });
  }
}

/** Says where, not what: the text around a mistake may be a pasted key. */
function syntaxError({ file, text }: Source, error: ParseError): SvcError {
  const line = lineOf(text, error.offset);
  const column = error.offset - text.lastIndexOf('\n', error.offset - 1);
  const what = printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return new SvcError('config', `${file}:${line}:${column}: this is not JSON (${what}).`, {
    hint: 'Comments and trailing commas are allowed; keys and text need double quotes.',
  });
}

function findRepeatedKeys(source: Source, node: Node, path: readonly (string | number)[]): Problem[] {
  if (node.type === 'array') {
    return (node.children ?? []).flatMap((child, at) => findRepeatedKeys(source, child, [...path, at]));
  }
  if (node.type !== 'object') return [];
  const firstLines = new Map<string, number>();
  return (node.children ?? []).flatMap((property) => {
    const [key, value] = property.children ?? [];
    const name = String(key?.value);
    const before = firstLines.get(name);
    const here = lineOf(source.text, property.offset);
    firstLines.set(name, before ?? here);
    const nested = value === undefined ? [] : findRepeatedKeys(source, value, [...path, name]);
    if (before === undefined) return nested;
    return [{ path: [...path, name], message: `is set again on line ${here}` }, ...nested];
  });
}
