import { append } from '../../text/group-by.js';
import { childAt, memberOf, nameOf, textOf } from '../access.js';
import { type Declaration, lookUp } from '../names.js';
import type { SourceFile } from '../source-file.js';
import type { SyntaxNode } from '../syntax.js';

/** Code that finds variables by name at run time, or assigns variables of an outer function. */
const BY_NAME: Readonly<Record<string, RegExp>> = {
  typescript: /\beval\s*\(/,
  javascript: /\beval\s*\(/,
  python: /\b(locals|vars|globals|eval|exec)\s*\(|^\s*nonlocal\b/m,
  php: /\b(compact|extract|get_defined_vars|eval)\s*\(|\$\$/,
  ruby: /\b(binding|eval|\w+_eval)\b/,
};

/** Finds what is declared with a value, and every use of a declared name. */
export class NameUses {
  readonly #file: SourceFile;
  /** Whether a name occurs in another file of the project. */
  readonly #isNamedElsewhere: (name: string) => boolean;
  readonly #isReadByName: boolean;
  readonly #byValue = new Map<SyntaxNode, Declaration[]>();
  readonly #byName = new Map<string, SyntaxNode[]>();

  constructor(file: SourceFile, isNamedElsewhere: (name: string) => boolean) {
    this.#file = file;
    this.#isNamedElsewhere = isNamedElsewhere;
    this.#isReadByName = BY_NAME[file.language.name]?.test(file.source) === true;
    const scoped = [...file.names.byScope.values()].flatMap((names) => [...names.values()].flat());
    for (const one of [...scoped, ...[...file.names.fields.values()].flat()]) {
      if (one.value === null) continue;
      const known = this.#byValue.get(one.value) ?? [];
      if (!known.some(({ node }) => node === one.node)) this.#byValue.set(one.value, [...known, one]);
    }
    for (const node of file.nodes) {
      if (!isVariable(node)) continue;
      append(this.#byName, nameOf(node), node);
    }
  }

  /** The names that are given a value. */
  declaredBy(value: SyntaxNode): readonly Declaration[] | undefined {
    return this.#byValue.get(value);
  }

  /** Every use of a name; null if it may have another value, or uses that are not seen here. */
  usesOf(declared: Declaration): readonly SyntaxNode[] | null {
    if (this.#isReadByName) return null;
    const { names } = this.#file;
    const { scope, name, node } = declared;
    const same = names.byScope.get(scope)?.get(name) ?? [];
    const isSingle = same.filter(({ value }) => value !== null && !isNull(value)).length <= 1;
    if (!isSingle || !same.some((one) => one.node === node) || this.#isVisibleElsewhere(declared))
      return null;
    return (this.#byName.get(name) ?? []).filter((one) => {
      const isOwn = same.some((other) => other.node === one || isInside(one, other.node));
      return !isOwn && lookUp(names, name, one)?.scope === scope;
    });
  }

  /** Whether code elsewhere may use a name. */
  #isVisibleElsewhere({ scope, name, node }: Declaration): boolean {
    if (scope.kind === 'function') return false;
    const { root, source, language, nodes } = this.#file;
    for (let at: SyntaxNode | null = node; at !== null; at = at.parent)
      if (at.type === 'export_statement') return true;
    if (language.imports === 'relative')
      return scope !== root || (!isModule(nodes, source) && this.#isNamedElsewhere(name));
    if (scope === root) return this.#isNamedElsewhere(name);
    const isMember = nodes.some((one) => one.kind === 'member' && memberOf(one)?.name === name);
    return isMember || !isPrivate(node);
  }
}

/** Whether a node may stand for the value of a variable; keys, members and methods do not. */
function isVariable(node: SyntaxNode): boolean {
  const { kind, type, parent, field } = node;
  if (kind !== 'name' && kind !== 'shorthand') return false;
  if (/^(property_identifier|private_property_identifier|type_identifier|field_identifier)$/.test(type))
    return false;
  if (parent === null || type === 'variable_name') return true;
  // `$x` of PHP has its name inside.
  if (parent.type === 'variable_name') return false;
  if (parent.kind === 'member' && parent.children[0] !== node) return false;
  if (parent.kind === 'pair' && (field === 'key' || field === 'name')) return false;
  const hasReceiver = parent.children.some((one) => one.field === 'object' || one.field === 'receiver');
  return !(parent.kind === 'call' && hasReceiver && (field === 'name' || field === 'method'));
}

function isInside(node: SyntaxNode, outer: SyntaxNode): boolean {
  return node.start >= outer.start && node.end <= outer.end && node.kind === 'name';
}

function isNull({ type }: SyntaxNode): boolean {
  return /^(null|none|nil|undefined|null_literal)$/.test(type);
}

function isModule(nodes: readonly SyntaxNode[], source: string): boolean {
  const isEs = nodes.some(({ type }) => type === 'import_statement' || type === 'export_statement');
  return isEs || /\b(require\s*\(|module\.exports\b|exports\.)/.test(source);
}

function isPrivate(node: SyntaxNode): boolean {
  for (let at: SyntaxNode | null = node; at !== null && at.kind !== 'class'; at = at.parent)
    if (at.children.some((one) => /modifier/.test(one.type) && /\bprivate\b/.test(textOf(one)))) return true;
  return false;
}

/** Tests of the position of a node, which decides what happens to its value. */

/** Whether a text becomes a part of a longer one. The sides of `a || b` do not. */
export function isPartOfText(node: SyntaxNode, parent: SyntaxNode): boolean {
  if (parent.kind === 'string' || parent.kind === 'concat') return true;
  const [first, last] = [parent.children[0], parent.children.at(-1)];
  if (parent.kind !== 'binary' || first === undefined || last === undefined) return false;
  const operator = node.source.slice(first.end, last.start).trim();
  return operator === '+' || operator === '.' || (operator === '%' && node === first);
}

/** Whether a member, an item or a method of the node is accessed. */
export function isReceiver(node: SyntaxNode, parent: SyntaxNode): boolean {
  if (parent.kind === 'member' || parent.kind === 'index') return parent.children[0] === node;
  return parent.kind === 'call' && (node.field === 'object' || node.field === 'receiver');
}

/** The call of a method of `node`; null where a member is only read. */
export function callOn(node: SyntaxNode, parent: SyntaxNode): SyntaxNode | null {
  if (parent.kind === 'call') return node.field === 'object' || node.field === 'receiver' ? parent : null;
  return parent.field === 'function' && parent.parent?.kind === 'call' ? parent.parent : null;
}

/** Whether a name is interpolated into a string without braces, as PHP allows. */
export function isInText(node: SyntaxNode): boolean {
  for (let at = node.parent; at !== null && at.kind !== 'function'; at = at.parent)
    if (at.type === 'encapsed_string' || at.type === 'heredoc_body') return true;
  return false;
}

/** The outermost pattern that a name is a part of, as in `const { data } = …`. */
export function patternOf(node: SyntaxNode): SyntaxNode | null {
  let found: SyntaxNode | null = null;
  for (let at: SyntaxNode | null = node; at !== null && /pattern|^identifier$/.test(at.type); at = at.parent)
    if (/^(object|array)_pattern$/.test(at.type)) found = at;
  return found ?? parentPattern(node);
}

/** The pattern of a renamed member, whose node is a copy with the pair as its parent. */
function parentPattern({ parent }: SyntaxNode): SyntaxNode | null {
  if (parent?.type === 'object_pattern') return parent;
  return parent?.type === 'pair_pattern' && parent.parent?.type === 'object_pattern' ? parent.parent : null;
}

/** Whether a pattern has a declared type. */
export function isTypedTarget({ parent }: SyntaxNode): boolean {
  return parent !== null && childAt(parent, 'type') !== undefined;
}

/** The declared type of a variable as it is written; '' without one. */
export function declaredType(node: SyntaxNode): string {
  const { parent } = node;
  if (parent === null || parent.kind !== 'assign') return '';
  const type =
    childAt(parent, 'type') ?? (parent.parent === null ? undefined : childAt(parent.parent, 'type'));
  return type === undefined || type === node ? '' : textOf(type);
}
