import { ancestor, argumentsOf, childAt, nameOf, plainText } from './access.js';
import type { Declaration } from './names.js';
import type { Project, SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';
import type { Bindings, Expression } from './value-resolver.js';

/** A function with its file. */
export interface FoundFunction {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
}

/** The function of this name in the class around a node, or else in any class of the file. */
export function functionIn(file: SourceFile, name: string, from: SyntaxNode | null): FoundFunction | null {
  const fields = from === null ? (file.names.fields.get(name) ?? []) : fieldsAround(file, name, from);
  const field = fields.find(({ value }) => value !== null);
  return functionOfValue(file, field?.value ?? null);
}

/** The fields of this name in the class that is or contains the node. If it has none, those in any class of the file. */
export function fieldsAround(file: SourceFile, name: string, node: SyntaxNode): readonly Declaration[] {
  const fields = file.names.fields.get(name) ?? [];
  if (fields.length < 2) return fields;
  const isClass = ({ kind }: SyntaxNode) => kind === 'class';
  const owner = isClass(node) ? node : ancestor(node, isClass);
  const own = fields.filter((one) => ancestor(one.node, isClass) === owner);
  return own.length > 0 ? own : fields;
}

/** The function that a value is; null if it is none. */
export function functionOfValue(file: SourceFile, value: SyntaxNode | null): FoundFunction | null {
  return value?.kind === 'function' ? { file, node: value } : null;
}

/** The expressions that a function returns. */
export function returnsOf({ file, node }: FoundFunction): SyntaxNode[] {
  const body = childAt(node, 'body');
  if (body === undefined) return [];
  if (body.type === 'arrow_expression_clause') return body.children.slice(-1);
  if (!/block|statement|body/.test(body.type)) return [body];
  const found: SyntaxNode[] = [];
  const visit = (at: SyntaxNode): void => {
    if (at.kind === 'return') found.push(...at.children.filter(({ kind }) => kind !== 'comment'));
    else for (const child of at.children) if (child.kind !== 'function') visit(child);
  };
  visit(body);
  // The last expression of a Ruby method is its result.
  if (file.language.name === 'ruby') {
    const last = body.children.at(-1);
    const result = last?.type === 'block_body' ? last.children.at(-1) : last;
    if (result !== undefined) found.push(result);
  }
  return found;
}

/** Maps the parameters of the function that a call runs to the arguments of the call. */
export function bindArguments(call: Expression, { file, node }: FoundFunction): Bindings {
  const bound = new Map<Declaration, Expression>();
  const parameters = file.names.parameters.get(node) ?? [];
  if (parameters.length === 0) return bound;
  const given = argumentsOf(call.node);
  for (const declaration of parameters) {
    if (declaration.parameter === null || declaration.parameter < 0) continue;
    const named = given.find(({ name }) => name !== '' && name === declaration.name);
    const value = named ?? given.filter(({ name }) => name === '')[declaration.parameter];
    if (value !== undefined) bound.set(declaration, { ...call, node: value.value });
  }
  return bound;
}

/** The first field that has a value, or else the first. */
export function pickField(fields: readonly Declaration[]): Declaration | null {
  return fields.find(({ value }) => value !== null) ?? fields[0] ?? null;
}

/** The value of the first entry `name` in a composite literal of the file, which is how Go fills structs. */
export function entryNamed(file: SourceFile, name: string): SyntaxNode | null {
  for (const node of file.nodes) {
    if (node.type !== 'keyed_element') continue;
    const key = node.children[0];
    const value = node.children[1];
    if (key !== undefined && value !== undefined && plainText(key.children[0] ?? key) === name) return value;
  }
  return null;
}

function defaultExport(file: SourceFile): Declaration | null {
  const statement = file.root.children.find(
    (node) =>
      node.type === 'export_statement' &&
      /^export\s+default/.test(file.source.slice(node.start, node.start + 20)),
  );
  const value = statement === undefined ? undefined : childAt(statement, 'value', 'declaration');
  if (value === undefined) return null;
  return { name: 'default', node: value, value, key: null, parameter: null, scope: file.root, type: '' };
}

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

  /** The declaration in another file that a name refers to: an import, a class, or a name of the same package. */
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
    const local = nameOf(object);
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
