import { posix } from 'node:path';
import { append } from '../text/group-by.js';
import { childAt, nameOf, plainText, textOf, walk } from './access.js';
import type { Language } from './languages.js';
import { type Declaration, type Names, readNames } from './names.js';
import type { SyntaxNode } from './syntax.js';

/** A parsed file. */
export interface SourceFile {
  /** Relative to the scanned folder, with slashes. */
  readonly path: string;
  readonly language: Language;
  readonly source: string;
  readonly root: SyntaxNode;
  /** Every node, in the order of the source. */
  readonly nodes: readonly SyntaxNode[];
  readonly names: Names;
  readonly imports: readonly ImportedName[];
}

/** A name that comes from another module. */
interface ImportedName {
  /** '' where all names of a module are exported again. */
  readonly local: string;
  readonly module: string;
  /** null: the module as a whole. */
  readonly exported: string | null;
}

/** Builds a source file from its syntax tree. */
export function readSource(path: string, language: Language, source: string, root: SyntaxNode): SourceFile {
  const nodes = walk(root);
  const imports = nodes.flatMap((node) => readImport(node));
  return { path, language, source, root, nodes, names: readNames(nodes), imports };
}

function readImport(node: SyntaxNode): ImportedName[] {
  const isExport = node.type === 'export_statement';
  const from = childAt(node, 'source', 'module_name');
  if (node.type === 'import_statement' && from === undefined) return readPlainImport(node);
  if (from === undefined || !(isExport || node.kind === 'import')) return [];
  const module = plainText(from) ?? textOf(from);
  const specifiers = walk(node).filter(({ type }) => /^(import_specifier|export_specifier)$/.test(type));
  const direct = node.children.filter(
    ({ field, kind, type }) => field === 'name' || (kind !== 'string' && type === 'import_clause'),
  );
  if (isExport && specifiers.length === 0) return [{ local: '', module, exported: null }];
  return [
    ...specifiers.map((one) => importedName(one, module)),
    ...direct.flatMap((one) =>
      one.type === 'import_clause' ? readClause(one, module) : [importedName(one, module)],
    ),
  ];
}

/** Default and namespace imports of JavaScript. */
function readClause(clause: SyntaxNode, module: string): ImportedName[] {
  return clause.children.flatMap((one): ImportedName[] => {
    if (one.kind === 'name') return [{ local: nameOf(one), module, exported: 'default' }];
    const name = one.type === 'namespace_import' ? one.children[0] : undefined;
    return name === undefined ? [] : [{ local: nameOf(name), module, exported: null }];
  });
}

/** `import a.b as c` of Python. */
function readPlainImport(node: SyntaxNode): ImportedName[] {
  return node.children.map((one) => {
    const name = childAt(one, 'name') ?? one;
    const alias = childAt(one, 'alias') ?? name;
    const text = textOf(name);
    return { local: textOf(alias), module: text, exported: null };
  });
}

function importedName(one: SyntaxNode, module: string): ImportedName {
  const name = childAt(one, 'name') ?? one;
  const alias = childAt(one, 'alias') ?? name;
  return { local: nameOf(alias), module, exported: nameOf(name) };
}

const SCRIPT_ENDS = [
  '',
  '.ts',
  '.tsx',
  '.mts',
  '.js',
  '.jsx',
  '.mjs',
  '.cjs',
  '/index.ts',
  '/index.tsx',
  '/index.js',
];

/** Finds the files that imports, classes and packages of other files refer to. */
export class Project {
  readonly #load: (path: string) => SourceFile | null;
  readonly #paths: ReadonlySet<string>;
  readonly #modules = new Map<string, string | null>();
  readonly #byBase = new Map<string, string[]>();
  readonly #byFolder = new Map<string, string[]>();

  constructor(paths: readonly string[], load: (path: string) => SourceFile | null) {
    this.#load = load;
    this.#paths = new Set(paths);
    for (const path of paths) {
      const base = posix.basename(path).replace(/\.\w+$/, '');
      append(this.#byBase, foldName(base), path);
      append(this.#byFolder, posix.dirname(path), path);
    }
  }

  /** The file that the module name refers to in `from`; null if it is not part of the project. */
  module(from: SourceFile, module: string): SourceFile | null {
    const { imports } = from.language;
    if (imports === 'relative' ? !module.startsWith('.') : imports !== 'dotted') return null;
    const folder = posix.dirname(from.path);
    const key = `${imports}\0${folder}\0${module}`;
    let path = this.#modules.get(key);
    if (path === undefined) {
      const places = imports === 'relative' ? scriptPlaces(folder, module) : pythonPlaces(folder, module);
      path = places.find((one) => this.#paths.has(one)) ?? null;
      this.#modules.set(key, path);
    }
    return path === null ? null : this.#load(path);
  }

  /** A class from the file that is named after it. */
  classNamed(from: SourceFile, name: string): { file: SourceFile; declaration: Declaration } | null {
    for (const path of this.#byBase.get(foldName(name)) ?? []) {
      if (path === from.path || posix.extname(path) !== posix.extname(from.path)) continue;
      const file = this.#load(path);
      const declaration = file === null ? null : classIn(file, name);
      if (file !== null && declaration !== null) return { file, declaration };
    }
    return null;
  }

  /** The files of the package `name` (null: the package of `from`), in languages where a folder is a package. */
  packageFiles(from: SourceFile, name: string | null): SourceFile[] {
    if (from.language.imports !== 'folder') return [];
    const own = posix.dirname(from.path);
    const folders =
      name === null ? [own] : [...this.#byFolder.keys()].filter((one) => posix.basename(one) === name);
    const paths = folders.flatMap((folder) => this.#byFolder.get(folder) ?? []);
    const sources = paths
      .filter((path) => path !== from.path && path.endsWith('.go'))
      .slice(0, MAX_PACKAGE_FILES);
    return sources.flatMap((path) => this.#load(path) ?? []);
  }
}

function scriptPlaces(folder: string, module: string): string[] {
  const plain = posix.join(folder, module);
  return [plain, plain.replace(/\.[mc]?jsx?$/, '')].flatMap((one) => SCRIPT_ENDS.map((end) => one + end));
}

function pythonPlaces(folder: string, module: string): string[] {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const name = module.slice(dots).replaceAll('.', '/');
  const up = Array.from({ length: dots - 1 > 0 ? dots - 1 : 0 }, () => '..');
  const start = dots === 0 ? [folder, ...parents(folder)] : [posix.join(folder, ...up)];
  return start.flatMap((one) => [posix.join(one, `${name}.py`), posix.join(one, name, '__init__.py')]);
}

/** Maximum number of files of a package that are read to find a name. */
const MAX_PACKAGE_FILES = 40;

/** A class that is declared anywhere in a file. */
export function classIn(file: SourceFile, name: string): Declaration | null {
  for (const names of file.names.byScope.values()) {
    const found = names.get(name)?.find(({ value }) => value?.kind === 'class');
    if (found !== undefined) return found;
  }
  return null;
}

function parents(folder: string): string[] {
  const up = posix.dirname(folder);
  return up === folder ? [] : [up, ...parents(up)];
}

/** A name in lower case without underscores: a file may differ from its class in both. */
export function foldName(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** The lines of a text. They are counted from 1, positions in UTF-16 units from 0. */
export class Lines {
  readonly source: string;
  readonly #starts = [0];

  constructor(source: string) {
    this.source = source;
    for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1))
      this.#starts.push(at + 1);
  }

  startOf(line: number): number {
    return this.#starts[line - 1] ?? 0;
  }

  /** The line that a position is on. */
  at(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** A line without its line feed. */
  textOf(line: number): string {
    return this.source.slice(this.startOf(line), (this.#starts[line] ?? this.source.length + 1) - 1);
  }

  /** Where the text of a line starts, after its indentation. */
  indentEnd(line: number): number {
    return this.startOf(line) + (/^[ \t]*/.exec(this.textOf(line))?.[0].length ?? 0);
  }
}
