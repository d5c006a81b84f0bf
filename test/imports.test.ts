import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

interface Source {
  /** Such as `store/open.ts`. */
  readonly name: string;
  readonly text: string;
  /** Imported files, as paths below src, and packages by name. Types and lazy imports count, too. */
  readonly imports: readonly string[];
}

const sources: readonly Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
  .map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8');
    return { name, text, imports: importsOf(name, text) };
  });
const byName = new Map(sources.map((source) => [source.name, source]));

function importsOf(name: string, text: string): string[] {
  const matches = text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*'([^']+)'/g);
  return [...matches].map(([, path = '']) =>
    path.startsWith('.') ? relative(SRC, join(SRC, dirname(name), path)).replace(/\.js$/, '.ts') : path,
  );
}

const STAGES = ['export', 'match', 'report', 'inspect', 'apply'];
/** Rooms by layer, lowest first: each imports from its own layer and from those below it. */
const LAYERS = [
  ['domain.ts', 'errors.ts', 'reasons.ts', 'limits.ts'],
  ['text', 'runtime'],
  ['api', 'store', 'config'],
  [...STAGES, 'sandbox', 'docs'],
  ['commands'],
  ['progress.ts', 'program.ts', 'cli.ts', 'write-schemas.ts'],
];
/** Rooms that import no other room of their layer but these. */
const APART: Readonly<Record<string, readonly string[]>> = {
  text: [],
  api: ['config'],
  store: ['config'],
  config: [],
  export: [],
  match: [],
  report: [],
  inspect: ['export', 'match'],
  apply: [],
};

function roomOf(name: string): string {
  return name.split('/', 1).join('');
}

function layerOf(room: string): number {
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
  expect(layer, room).toBeGreaterThanOrEqual(0);
  return layer;
}

function isAgainstDirection(from: string, to: string): boolean {
  if (from === to) return false;
  const allowed = APART[from];
  if (layerOf(from) !== layerOf(to)) return layerOf(to) > layerOf(from);
  return allowed !== undefined && !allowed.includes(to);
}

/** Imports of files in rooms for which `isWrong` holds. */
function importsWhere(isWrong: (from: string, to: string) => boolean): string[] {
  return sources.flatMap(({ name, imports }) =>
    imports.filter((path) => isWrong(name, path)).map((path) => `${name} imports ${path}`),
  );
}

/** All files that a file reaches, by types and lazy imports, too. */
function reachOf(name: string, reached: Set<string> = new Set()): Set<string> {
  if (reached.has(name) || !byName.has(name)) return reached;
  reached.add(name);
  for (const path of byName.get(name)?.imports ?? []) reachOf(path, reached);
  return reached;
}

describe('imports', () => {
  it('go one way', () => {
    expect(sources.length).toBeGreaterThan(50);
    const isSource = (path: string) => byName.has(path);
    expect(importsWhere((from, to) => isSource(to) && isAgainstDirection(roomOf(from), roomOf(to)))).toEqual(
      [],
    );
  });

  it('form no circle', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (name: string, path: readonly string[]) => {
      if (path.includes(name)) circles.push([...path.slice(path.indexOf(name)), name].join(' → '));
      if (done.has(name) || path.includes(name)) return;
      for (const next of byName.get(name)?.imports ?? []) if (byName.has(next)) visit(next, [...path, name]);
      done.add(name);
    };
    for (const { name } of sources) visit(name, []);
    expect(circles).toEqual([]);
  });

  it('of the sandbox come from the sandbox', () => {
    expect(
      importsWhere((from, to) => roomOf(from) === 'sandbox' && byName.has(to) && roomOf(to) !== 'sandbox'),
    ).toEqual([]);
  });

  it('of stages hold no process, no command line and no spinner', () => {
    const packages = ['commander', '@commander-js/extra-typings', 'ora', 'node:process'];
    const rooms = [...STAGES, 'api', 'store', 'config', 'text'];
    // the version of Node-API decides which SQLite is loaded
    const isAllowed = (from: string, to: string) => from === 'store/sqlite.ts' && to === 'node:process';
    expect(
      importsWhere(
        (from, to) => rooms.includes(roomOf(from)) && packages.includes(to) && !isAllowed(from, to),
      ),
    ).toEqual([]);
    const users = sources.filter(
      ({ name, text }) =>
        rooms.includes(roomOf(name)) && /(?<![\w.'`])process\.\w/.test(text.replace(/\/\*[\s\S]*?\*\//g, '')),
    );
    expect(users.map(({ name }) => name)).toEqual([]);
  });

  it('reach SQLite through one file', () => {
    expect(importsWhere((from, to) => to === 'better-sqlite3' && from !== 'store/sqlite.ts')).toEqual([]);
  });

  it.each([
    ['commands/run.ts', 78],
    ['commands/apply.ts', 54],
    ['commands/lookup.ts', 25],
  ])('of %s reach few files', (name, max) => {
    const reach = [...reachOf(name)];
    expect(reach.length, reach.join(' ')).toBeLessThanOrEqual(max);
    expect(reach.length).toBeGreaterThan(1);
  });
});

describe('names', () => {
  function repeated(names: readonly string[]): string[] {
    return names.filter((name, index) => names.indexOf(name) !== index);
  }

  it('of files are unique', () => {
    // A command's file is named as its stage's, a database of `apply` as the driver's, and the sandbox stands alone.
    const files = sources.filter(({ name }) => !/^(?:commands|sandbox|apply\/db)\//.test(name));
    expect(repeated(files.map(({ name }) => basename(name)))).toEqual([]);
  });

  it('of exported types are unique', () => {
    const types = sources.flatMap(({ name, text }) =>
      name.startsWith('sandbox/')
        ? []
        : [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, type = '']) => type),
    );
    expect(repeated(types)).toEqual([]);
  });

  it('of rooms are in src/README.md', () => {
    const text = readFileSync(join(SRC, 'README.md'), 'utf8');
    const rooms = [...new Set(sources.map(({ name }) => roomOf(name)))];
    expect(rooms.filter((room) => !text.includes(room))).toEqual([]);
  });
});

/** Lines that are a comment, in whole or in part of a block. */
function commentLines(text: string): number {
  let inBlock = false;
  return text.split('\n').filter((line) => {
    const begins = /^\s*\/\*/.test(line);
    const isComment = inBlock || begins || /^\s*\/\//.test(line);
    if (begins) inBlock = true;
    if (line.includes('*/')) inBlock = false;
    return isComment;
  }).length;
}

/** Words of comments and names that tell little: see the language of the code base. */
const WORDS: readonly RegExp[] = [
  /\b(?:those|that) of\b/,
  /\bas of\b/,
  /\bso many\b/,
  /(?<!there )\bis none\b/,
  /stands? in the place of/,
  /\bwhat tells\b/,
  /\bat which one\b/,
  /\bleave at once\b/,
  /\bis no value for\b/,
];
const NAMES =
  /\b(?:const|let|function|class|interface|type) (?:one|own|known|found|met|left|tell[A-Z]\w*|Met[A-Z]\w*|Room|Left)\b/;

describe('the text of the sources', () => {
  it('is at most 7 % comments', () => {
    const lines = sources.reduce((sum, { text }) => sum + text.split('\n').length, 0);
    const comments = sources.reduce((sum, { text }) => sum + commentLines(text), 0);
    expect(comments / lines).toBeLessThan(0.07);
  });

  it('is plain English', () => {
    const hits = sources.flatMap(({ name, text }) =>
      text.split('\n').flatMap((line, index) => {
        const isComment = /^\s*(?:\/\/|\/?\*)/.test(line);
        const isBad = NAMES.test(line) || (isComment && WORDS.some((word) => word.test(line)));
        return isBad ? [`${name}:${index + 1}: ${line.trim()}`] : [];
      }),
    );
    expect(hits).toEqual([]);
  });

  it('names neither its making nor its makers', () => {
    const hits = sources.filter(({ text }) =>
      /\/tmp\b|\/work\b|issue \d|rebuil[dt] (?:of|the) program/.test(text),
    );
    expect(hits.map(({ name }) => name)).toEqual([]);
  });

  it('has no default that only pleases the compiler', () => {
    const hits = sources.flatMap(({ name, text }) =>
      [...text.matchAll(/\w+\[[^\]]+\] \?\? 0\b/g)].map(([match]) => `${name}: ${match}`),
    );
    expect(hits).toEqual([]);
  });
});
