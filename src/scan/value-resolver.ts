import { calleeOf, callReceiving, entriesOf, memberOf, nameOf, unwrap } from './access.js';
import {
  entryNamed,
  type FoundFunction,
  fieldsAround,
  functionIn,
  functionOfValue,
  ImportResolver,
  pickField,
} from './declarations.js';
import { type Declaration, ELEMENT, isField, isSelf, lookUp } from './names.js';
import { classIn, type Project, type SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';

/** A node with its context: its file, and the arguments of the calls that were followed to it. */
export interface Expression {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
  readonly bound: Bindings;
}

/** Arguments by parameter; `UNBOUND` where no call was followed. */
export type Bindings = ReadonlyMap<Declaration, Expression>;
export const UNBOUND: Bindings = new Map();

/** Maximum number of names, members and calls that are followed from one expression to its value. */
const MAX_DEPTH = 24;
/** Maximum number of files that are searched for a method whose class is unknown. */
const MAX_IMPORTS = 30;

/** Follows names to their values: within the file, and through the project's imports. */
export class ValueResolver {
  readonly #project: Project;
  readonly #imports: ImportResolver;
  /** Cache for unbound expressions. */
  readonly #resolved = new WeakMap<SyntaxNode, Expression>();
  readonly #functions = new WeakMap<SyntaxNode, FoundFunction | null>();

  constructor(project: Project) {
    this.#project = project;
    this.#imports = new ImportResolver(project);
  }

  /** The expression that `given` has its value from; itself if the source does not show it. */
  resolve(given: Expression, depth = 0): Expression {
    const at = { ...given, node: unwrap(given.node) };
    if (depth > MAX_DEPTH) return at;
    if (at.bound !== UNBOUND) return this.#resolveAny(at, depth);
    const known = this.#resolved.get(at.node);
    if (known !== undefined) return known;
    // A name whose value leads back to it resolves to itself.
    this.#resolved.set(at.node, at);
    const resolved = this.#resolveAny(at, depth);
    this.#resolved.set(at.node, resolved);
    return resolved;
  }

  #resolveAny(at: Expression, depth: number): Expression {
    const { node } = at;
    if (node.kind === 'name' || node.kind === 'shorthand') return this.#resolveName(at, depth);
    if (node.kind === 'member' || node.kind === 'index') return this.#resolveMember(at, depth) ?? at;
    if (node.kind === 'call') {
      const field = this.#fieldOfSelf(at);
      const read = memberOf(node);
      if (field !== null) return this.#follow(at, field, depth);
      if (read !== null) return this.#resolveMember(at, depth) ?? at;
    }
    return at;
  }

  #resolveName(at: Expression, depth: number): Expression {
    const { file, node } = at;
    const name = nameOf(node);
    const declaration = isField(node)
      ? pickField(fieldsAround(file, name, node))
      : lookUp(file.names, name, node);
    if (declaration !== null) return this.#follow(at, declaration, depth);
    const found = this.#imports.named(file, name);
    return found === null ? at : this.#follow({ ...at, file: found.file }, found.declaration, depth);
  }

  /** `at`: the expression that refers to the declaration, in the declaration's file. */
  #follow(at: Expression, { value, key, parameter, scope }: Declaration, depth: number): Expression {
    const { file, bound } = at;
    if (parameter !== null) {
      const given = [...bound].find(([one]) => one.scope === scope && one.parameter === parameter)?.[1];
      if (given !== undefined && key !== null) return this.#entry(given, key, depth) ?? at;
      if (given !== undefined) return this.resolve(given, depth + 1);
    }
    if (parameter === 0 && value === null) return this.#element(at, scope, depth) ?? at;
    if (value === null) return at;
    const target = { file, node: value, bound };
    if (value.kind === 'function' || value.kind === 'class') return target;
    if (key === null) return this.resolve(target, depth + 1);
    return this.#entry(target, key, depth) ?? at;
  }

  /** What a block or callback of `each`, `map` and the like is passed. */
  #element(at: Expression, scope: SyntaxNode, depth: number): Expression | null {
    const call = callReceiving(scope);
    if (call === null) return null;
    const { receiver, name } = calleeOf(call);
    if (
      receiver === null ||
      !/^(each|map|forEach|flatMap|flat_map|each_with_object|Select|for_each)$/.test(name)
    )
      return null;
    return this.#entry({ ...at, node: receiver }, ELEMENT, depth);
  }

  /** The entry `key` of an object literal. */
  #entry(object: Expression, key: string, depth: number): Expression | null {
    const resolved = this.resolve(object, depth + 1);
    if (key === ELEMENT) {
      const list = resolved.node.children.find(({ kind }) => kind === 'object') ?? resolved.node;
      const [first] = resolved.node.kind === 'object' ? list.children : [];
      return first === undefined ? null : this.resolve({ ...resolved, node: first }, depth + 1);
    }
    const entry = entriesOf(resolved.node).find((one) => one.key === key);
    return entry === undefined ? null : this.resolve({ ...resolved, node: entry.value }, depth + 1);
  }

  #resolveMember(at: Expression, depth: number): Expression | null {
    const { node } = at;
    const member = memberOf(node);
    if (member === null) return null;
    const field = this.#fieldOfSelf(at);
    if (field !== null) return this.#follow(at, field, depth);
    const object = this.resolve({ ...at, node: member.object }, depth + 1);
    if (object.node.kind === 'class') return this.#memberOfClass(object, member.name, depth);
    const entry = this.#entryAt(object, member.name, depth);
    if (entry !== null) return entry;
    const inModule = this.#imports.memberOfModule(at.file, member.object, member.name);
    if (inModule !== null) return this.#follow({ ...at, file: inModule.file }, inModule.declaration, depth);
    const owner = this.#classOf(object, depth);
    if (owner !== null) return this.#memberOfClass(owner, member.name, depth);
    return this.#memberOfReceiver(at, member.object, member.name, depth);
  }

  #memberOfClass(owner: Expression, name: string, depth: number): Expression | null {
    const field = pickField(fieldsAround(owner.file, name, owner.node));
    return field === null ? null : this.#follow(owner, field, depth);
  }

  /** A member of an object literal; with an unknown key, the first one, which stands for all. */
  #entryAt(object: Expression, name: string, depth: number): Expression | null {
    const entries = entriesOf(object.node);
    if (object.node.kind !== 'object') return null;
    const entry = entries.find(({ key }) => key === name) ?? (name === '' ? entries[0] : undefined);
    return entry === undefined ? null : this.resolve({ ...object, node: entry.value }, depth + 1);
  }

  /** A member of a parameter whose class is in the same package, such as a receiver of Go. */
  #memberOfReceiver(at: Expression, object: SyntaxNode, name: string, depth: number): Expression | null {
    if (object.kind !== 'name') return null;
    const declared = lookUp(at.file.names, nameOf(object), object);
    if (declared?.parameter == null || at.file.language.imports !== 'folder') return null;
    for (const file of [at.file, ...this.#project.packageFiles(at.file, null)]) {
      const field = pickField(file.names.fields.get(name) ?? []);
      if (field !== null) return this.#follow({ ...at, file }, field, depth);
      const entry = entryNamed(file, name);
      if (entry !== null) return this.resolve({ file, node: entry, bound: at.bound }, depth + 1);
    }
    return null;
  }

  /** The field of its own class that an expression reads. */
  #fieldOfSelf({ file, node }: Expression): Declaration | null {
    const member = memberOf(node);
    if (member === null || !isSelf(member.object)) return null;
    return pickField(fieldsAround(file, member.name, node));
  }

  /** The class of an object that is created by `new X()`, `X.new`, `X()`, or declared as an X. */
  #classOf(object: Expression, depth: number): Expression | null {
    const { node, file } = object;
    if (node.kind === 'call') {
      const { receiver, name, isNew } = calleeOf(node);
      const owner = name === 'new' && receiver !== null ? nameOf(receiver) : name;
      if (isNew || name === 'new' || receiver === null) return this.#classNamed(object, owner, depth);
    }
    if (node.kind !== 'name') return null;
    const type = lookUp(file.names, nameOf(node), node)?.type ?? '';
    return type === '' ? null : this.#classNamed(object, type, depth);
  }

  #declaredClass(at: Expression, receiver: SyntaxNode): Expression | null {
    if (receiver.kind !== 'name') return null;
    const name = nameOf(receiver);
    const type =
      (lookUp(at.file.names, name, receiver) ?? pickField(at.file.names.fields.get(name) ?? []))?.type ?? '';
    return type === '' ? null : this.#classNamed(at, type, 0);
  }

  #classNamed({ file, bound }: Expression, name: string, depth: number): Expression | null {
    const own = classIn(file, name);
    const found = own === null ? this.#imports.named(file, name) : { file, declaration: own };
    const value = found?.declaration.value ?? null;
    if (found === null || value === null || depth > MAX_DEPTH) return null;
    return value.kind === 'class' ? { file: found.file, node: value, bound } : null;
  }

  /** The function that a call runs; null if it is not in the project, or not known. */
  functionOf(call: Expression): FoundFunction | null {
    if (call.bound !== UNBOUND) return this.#findFunction(call);
    const known = this.#functions.get(call.node);
    if (known !== undefined) return known;
    const found = this.#findFunction(call);
    this.#functions.set(call.node, found);
    return found;
  }

  #findFunction(call: Expression): FoundFunction | null {
    const { file, node } = call;
    const { receiver, name, isNew } = calleeOf(node);
    if (isNew) return null;
    if (receiver !== null && /^(|call|invoke|Invoke)$/.test(name)) {
      const own = this.resolve({ ...call, node: receiver });
      return functionOfValue(own.file, own.node);
    }
    if (name === '') return null;
    if (receiver === null) return this.#plainFunction(call, name);
    if (isSelf(receiver)) return functionIn(file, name, node);
    const inModule = this.#imports.memberOfModule(file, receiver, name);
    if (inModule !== null) return functionOfValue(inModule.file, inModule.declaration.value);
    const object = this.resolve({ ...call, node: receiver });
    const owner =
      object.node.kind === 'class'
        ? object
        : (this.#classOf(object, 0) ?? this.#declaredClass(call, receiver));
    if (owner !== null) return functionIn(owner.file, name, owner.node);
    const entry = this.#entryAt(object, name, 0);
    if (entry !== null) return functionOfValue(entry.file, entry.node);
    return this.#functionOfUnknownReceiver(call, receiver, name);
  }

  #plainFunction(call: Expression, name: string): FoundFunction | null {
    const { file, node } = call;
    const declared = lookUp(file.names, name, node);
    const value = declared?.parameter === null ? declared.value : null;
    if (declared !== null) {
      const resolved = value === null ? null : this.resolve({ file, node: value, bound: call.bound });
      return resolved === null ? null : functionOfValue(resolved.file, resolved.node);
    }
    const found = this.#imports.named(file, name);
    if (found !== null) return functionOfValue(found.file, found.declaration.value);
    return file.language.imports === 'relative' || file.language.imports === 'dotted'
      ? null
      : functionIn(file, name, node);
  }

  /** A method of an object whose class is unknown: the one of that name in the files that this one imports. */
  #functionOfUnknownReceiver({ file }: Expression, receiver: SyntaxNode, name: string): FoundFunction | null {
    if (receiver.kind !== 'name') return null;
    const text = nameOf(receiver);
    const item = file.imports.find(({ local }) => local === text);
    if (item !== undefined && this.#project.module(file, item.module) === null) return null;
    const declared = lookUp(file.names, text, receiver);
    if (declared?.parameter === -1)
      return functionIn(file, name, null) ?? this.#functionInPackage(file, name);
    if (declared !== null && declared.parameter === null && declared.value?.kind !== 'call') return null;
    for (const one of file.imports.slice(0, MAX_IMPORTS)) {
      const source = this.#project.module(file, one.module);
      const found = source === null ? null : functionIn(source, name, null);
      if (found !== null) return found;
    }
    return this.#functionInPackage(file, name);
  }

  #functionInPackage(file: SourceFile, name: string): FoundFunction | null {
    if (file.language.imports !== 'folder') return null;
    for (const one of [file, ...this.#project.packageFiles(file, null)]) {
      const found = functionIn(one, name, null);
      if (found !== null) return found;
    }
    return null;
  }
}
