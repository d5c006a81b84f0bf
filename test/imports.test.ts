import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

interface Source {
  /** Such as `store/open.ts`. */
  readonly name: string;
  readonly text: string;
  /** Imported files, as paths below src, and packages by name. */
  readonly imports: readonly string[];
}

const sources = readSources();

function readSources(): Source[] {
  const names = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  return names.map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8');
    return { name, text, imports: importsOf(name, text) };
  });
}

/** Also types, re-exports, lazy imports and worker files. */
function importsOf(name: string, text: string): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport|\bimport\(|new URL\()\s*'([^']+)'/g);
  return [...found].map(([, path = '']) =>
    path.startsWith('.') ? relative(SRC, join(SRC, dirname(name), path)).replace(/\.js$/, '.ts') : path,
  );
}

function inside(...places: readonly string[]): Source[] {
  return sources.filter(({ name }) => places.some((place) => name === place || name.startsWith(`${place}/`)));
}

/** Imports of `from` that lead into one of `into`. */
function leadingInto(from: readonly Source[], into: readonly string[]): string[] {
  return from.flatMap(({ name, imports }) =>
    imports
      .filter((path) => into.some((place) => path === place || path.startsWith(`${place}/`)))
      .map((path) => `${name} imports ${path}`),
  );
}

/** The imports of a file that exist at run time: types and lazy imports are left out. */
function loadedBy(name: string): string[] {
  const text = readFileSync(join(SRC, name), 'utf8');
  const loaded = text.match(/^(?:import|export) (?!type )[^;]*?from '[^']+'/gm) ?? [];
  const isOfTypes = /^import \{(?:\s*type [^,}]+,?)+\s*\} from/;
  return importsOf(name, loaded.filter((one) => !isOfTypes.test(one)).join(';'));
}

/** The packages that are loaded with a file. */
function loadedWith(name: string, seen: Set<string> = new Set()): string[] {
  return loadedBy(name).flatMap((path) => {
    if (seen.has(path)) return [];
    seen.add(path);
    return path.endsWith('.ts') ? loadedWith(path, seen) : [path];
  });
}

const STAGES = ['export', 'match', 'report', 'inspect', 'apply', 'scan'];
/** Rooms by layer, lowest first: each imports from its own layer and from those below it. */
const LAYERS = [
  ['domain.ts', 'errors.ts', 'reasons.ts', 'zod.ts'],
  ['json', 'text', 'runtime'],
  ['api', 'store', 'config'],
  [...STAGES, 'sandbox', 'docs'],
  ['commands'],
];
/** In these layers a room imports no other room of the layer but those named here. */
const APART: Readonly<Record<string, readonly string[]>> = {
  api: ['config'],
  store: ['config'],
  config: [],
  export: [],
  match: [],
  report: [],
  inspect: ['export', 'match'],
  apply: [],
  scan: [],
};

/** Files that a command may reach: what a stranger may have to read. */
const REACH: readonly (readonly [name: string, most: number])[] = [
  ['commands/run.ts', 132],
  ['commands/apply.ts', 123],
  ['commands/lookup.ts', 42],
];

function roomOf(name: string): string {
  return name.split('/')[0] ?? name;
}

/** The layer of a room; what is in none stands above all of them. */
function layerOf(room: string): number {
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
  return layer === -1 ? LAYERS.length : layer;
}

function isAgainstDirection(from: string, to: string): boolean {
  if (from === to || from === 'sandbox') return false;
  if (layerOf(from) !== layerOf(to)) return layerOf(to) > layerOf(from);
  return APART[from] !== undefined && !APART[from].includes(to);
}

it('URLs are parsed in one place, because URL.canParse refuses letters such as ü in Node.js 20 and 22', () => {
  const using = sources.filter(
    ({ name, text }) => roomOf(name) !== 'sandbox' && text.includes('URL.canParse('),
  );
  expect(using.map(({ name }) => name)).toEqual([]);
});

describe('imports go one way', () => {
  it('and this test sees them', () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(leadingInto(inside('program.ts'), ['commands'])).not.toEqual([]);
    expect(leadingInto(inside('commands'), STAGES)).not.toEqual([]);
    expect(inside('store').flatMap(({ imports }) => imports)).toContain('better-sqlite3');
  });

  it('from commands to stages to adapters to the domain, never back, and no stage imports another', () => {
    const wrong = sources.flatMap(({ name, imports }) =>
      imports
        .filter(
          (path) =>
            path.endsWith('.ts') && !path.startsWith('..') && isAgainstDirection(roomOf(name), roomOf(path)),
        )
        .map((path) => `${name} imports ${path}`),
    );
    expect(wrong).toEqual([]);
    expect(inside('domain.ts', 'reasons.ts').flatMap(({ imports }) => imports)).toEqual([]);
    expect(leadingInto(inside('commands'), ['cli.ts', 'program.ts', 'progress.ts'])).toEqual([]);
  });

  it('and no file needs itself to be loaded', () => {
    const loads = new Map(sources.map(({ name }) => [name, loadedBy(name)]));
    for (let before = -1; loads.size !== before; ) {
      before = loads.size;
      for (const [name, paths] of loads) if (!paths.some((path) => loads.has(path))) loads.delete(name);
    }
    expect([...loads.keys()]).toEqual([]);
  });

  it('and none refers to itself, types included, also inside a room', () => {
    // A file names itself where a thread begins with it.
    const refers = new Map(
      sources.map(({ name, imports }) => [name, imports.filter((path) => path !== name)]),
    );
    for (let before = -1; refers.size !== before; ) {
      before = refers.size;
      for (const [name, paths] of refers) if (!paths.some((path) => refers.has(path))) refers.delete(name);
    }
    expect([...refers.keys()]).toEqual([]);
  });

  it.each(REACH)('and %s reaches at most %d files, types and lazy imports counted', (name, most) => {
    const reached = new Set<string>();
    const visit = (path: string): void => {
      const source = sources.find((one) => one.name === path);
      if (source === undefined || reached.has(path)) return;
      reached.add(path);
      for (const next of source.imports) visit(next);
    };
    visit(name);
    expect(reached.size).toBeGreaterThan(most / 2);
    expect(reached.size).toBeLessThanOrEqual(most);
  });

  it('and only apply/stores.ts knows the databases', () => {
    const others = inside('apply').filter(({ name }) => !/^apply\/(?:stores\.ts|dialects\/)/.test(name));
    expect(leadingInto(others, ['apply/dialects'])).toEqual([]);
  });

  it('and the threads that work on the database do not load the HTTP client', () => {
    const commands = ['export-thread', 'rebuild-remap', 'backup'].map((name) => `commands/${name}.ts`);
    const started = [...commands, 'match/build-remap.ts'];
    const loaded = new Set(started.flatMap((name) => loadedWith(name)));
    expect([loaded.has('p-limit'), loaded.has('undici')]).toEqual([true, false]);
    expect(loadedWith('api/http.ts')).toContain('undici');
  });

  it('and the sandbox knows nothing of the rest', () => {
    const foreign = inside('sandbox').flatMap(({ name, imports }) =>
      imports
        .filter((path) => path.endsWith('.ts') && !path.startsWith('sandbox/'))
        .map((path) => `${name} imports ${path}`),
    );
    expect(foreign).toEqual([]);
  });

  it('and renderers draw on the report alone', () => {
    const allowed =
      /^((report|text)\/.*|node:crypto|(domain|reasons)\.ts|store\/(remap-rows|finding-rows|readiness)\.ts)$/;
    const renderers = sources.filter(({ name }) => /^report\/render/.test(name));
    expect(renderers.length).toBeGreaterThan(2);
    const foreign = renderers.flatMap(({ name, imports }) =>
      imports.filter((path) => !allowed.test(path)).map((path) => `${name} imports ${path}`),
    );
    expect(foreign).toEqual([]);
  });
});

describe('the process belongs to few', () => {
  it('only program.ts parses the command line, only progress.ts draws, and zod is loaded as one file', () => {
    const users = (library: string) =>
      sources.filter(({ imports }) => imports.includes(library)).map(({ name }) => name);
    expect(users('commander')).toEqual(['program.ts']);
    expect(users('ora')).toEqual(['progress.ts']);
    expect(new Set(users('zod'))).toEqual(new Set(['zod.ts']));
  });

  it('only cli.ts sets an exit code, and crash.ts where cli.ts cannot', () => {
    const setters = sources.filter(({ text }) => /process\.exit\b|exitCode = /.test(text));
    expect(setters.map(({ name }) => name).sort()).toEqual(['cli.ts', 'crash.ts']);
  });

  it('no stage, adapter or renderer touches it, nor does program.ts', () => {
    const below = inside(
      ...STAGES,
      'api',
      'store',
      'config',
      'sandbox',
      'domain.ts',
      'errors.ts',
      'reasons.ts',
      'program.ts',
    );
    const users = below.filter(
      ({ text, imports }) =>
        imports.some((path) => /^(node:)?process$/.test(path)) ||
        /\bprocess\.(?!versions\b)\w/.test(stripComments(text)),
    );
    expect(users.map(({ name }) => name)).toEqual([]);
  });
});

function stripComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}

describe('src/README.md', () => {
  const map = readFileSync(join(SRC, 'README.md'), 'utf8');
  const named = [...map.matchAll(/`([\w/-]+(?:\/|\.ts))`/g)].map(([, path = '']) => path);
  const entries = readdirSync(SRC, { recursive: true, withFileTypes: true }).map((entry) => ({
    path: relative(SRC, join(entry.parentPath, entry.name)),
    isRoom: entry.isDirectory(),
  }));

  it('names every room and every file beside them', () => {
    const places = entries.flatMap(({ path, isRoom }) => {
      if (isRoom) return [`${path}/`];
      return path.endsWith('.ts') && !path.includes('/') ? [path] : [];
    });
    expect(places.filter((place) => !named.includes(place))).toEqual([]);
  });

  it('names no file or room that does not exist', () => {
    const existing = new Set(entries.map(({ path, isRoom }) => (isRoom ? `${path}/` : path)));
    existing.add('test/imports.test.ts');
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((path) => !existing.has(path))).toEqual([]);
  });
});
