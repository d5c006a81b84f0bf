import { nameOf } from './access.js';
import { defaultExport } from './declarations.js';
import type { Declaration } from './names.js';
import type { Project, SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';

/** A declaration with its file. */
interface FoundDeclaration {
  readonly file: SourceFile;
  readonly declaration: Declaration;
}

/** Resolves names that a file imports from other files of the project. */
export class ImportResolver {
  readonly #project: Project;

  constructor(project: Project) {
    this.#project = project;
  }

  /** The declaration that an imported name, a class or a name of the package refers to. */
  named(file: SourceFile, name: string): FoundDeclaration | null {
    const item = file.imports.find(({ local }) => local === name);
    if (item !== undefined) {
      const source = this.#project.module(file, item.module);
      return source === null || item.exported === null ? null : this.#exported(source, item.exported);
    }
    if (file.language.imports === 'class') return this.#project.classNamed(file, name);
    for (const one of this.#project.packageFiles(file, null)) {
      const found = this.#exported(one, name);
      if (found !== null) return found;
    }
    return null;
  }

  #exported(file: SourceFile, name: string, hops = 0): FoundDeclaration | null {
    if (name === 'default') {
      const declaration = defaultExport(file);
      return declaration === null ? null : { file, declaration };
    }
    const declaration = file.names.byScope.get(file.root)?.get(name)?.at(-1);
    if (declaration !== undefined) return { file, declaration };
    if (hops > 5) return null;
    for (const item of file.imports.filter(({ local }) => local === '' || local === name)) {
      const source = this.#project.module(file, item.module);
      const found = source === null ? null : this.#exported(source, item.exported ?? name, hops + 1);
      if (found !== null) return found;
    }
    return null;
  }

  /** The declaration behind a member of an imported module or package. */
  memberOfModule(from: SourceFile, object: SyntaxNode, name: string): FoundDeclaration | null {
    if (object.kind !== 'name') return null;
    const local = nameOf(object, from.source);
    const item = from.imports.find((one) => one.local === local);
    if (item !== undefined) {
      const file = this.#project.module(
        from,
        item.exported === null ? item.module : joinModule(item.module, item.exported),
      );
      if (file !== null) return this.#exported(file, name);
    }
    for (const file of this.#project.packageFiles(from, local)) {
      const found = this.#exported(file, name);
      if (found !== null) return found;
    }
    return null;
  }
}

function joinModule(module: string, name: string): string {
  return module.endsWith('.') ? `${module}${name}` : `${module}.${name}`;
}
