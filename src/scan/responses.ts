import { argumentsOf, calleeOf, childAt, memberOf, nameOf, plainText, unwrap } from './access.js';
import { bindArguments, returnsOf } from './declared.js';
import { type Expression, UNBOUND, type Values } from './follow-values.js';
import type { Fuel } from './fuel.js';
import { type Declaration, isField, isSelf, lookUp } from './names.js';
import type { Requests } from './requests.js';
import type { Certainty } from './scan-settings.js';
import type { SourceFile } from './source-file.js';
import type { SyntaxNode } from './syntax.js';

/** A value that came out of a V3 request. */
interface Answer {
  /** `response`: what a client returns; `body`: the parsed envelope. */
  readonly kind: 'response' | 'body';
  readonly certainty: Certainty;
}

/** A read of a member of a V3 envelope. */
export interface EnvelopeRead {
  readonly node: SyntaxNode;
  readonly name: string;
  readonly certainty: Certainty;
  /** Where the members of the envelope are read from; null in patterns. */
  readonly object: SyntaxNode | null;
}

const MEMBERS = /^(data|next|prev|total_?count)$/i;
const PARSES =
  /^(json|[pP]arse\w*|[gG]etJson\w*|GetJson\w*|loads?|json_decode|decode|Decode|Unmarshal|readTree|readValue|fromJson|Deserialize\w*|ReadFromJson\w*|GetFromJson\w*|parsed_response|JSONObject|JsonParser|parseString|readEntity|bodyToMono|getForObject|array|object|parse_json|toArray|readObject|jsonDecode|SetResult|getJson|getJSON|JArray|JObject|ReadAsAsync|ReadAsJsonAsync)$/;
const GETS =
  /^(get|path|at|opt\w*|fetch|dig|getJSONArray|getJSONObject|getString|getInt|getLong|getAsJsonArray|getAsJsonObject|getJsonArray|getJsonObject|GetProperty|TryGetProperty|getAsString|findValue|with\w*|Value|required|has|SelectToken|json|getList|containsKey)$/;
const STAYS =
  /^(body|content|text|result|response|value|Content|Body|Result|Value|RootElement|Root|getBody|getContents|parsed|parsed_response|read|payload|toString|clone|AsObject|then|catch|finally|execute|join|block|await|retrieve|ConfigureAwait|EnsureSuccessStatusCode|raise_for_status|throw|string|bodyToMono|onErrorResume|GetAwaiter|GetResult|entity|decode|getAsJsonObject|asObject|as_json|with_indifferent_access|symbolize_keys|to_h|orElseThrow|getEntity|charStream|byteStream|ReadAsStringAsync|ReadAsStreamAsync|OpenReadStream)$/;
const MAX_DEPTH = 24;

/** Follows the results of V3 requests to where their envelope is read. */
export class Responses {
  readonly #values: Values;
  readonly #requests: Requests;
  readonly #fuel: Fuel;
  readonly #known = new WeakMap<SyntaxNode, Answer | null>();

  constructor(values: Values, requests: Requests, fuel: Fuel) {
    this.#fuel = fuel;
    this.#values = values;
    this.#requests = requests;
  }

  readsIn(file: SourceFile): EnvelopeRead[] {
    const members = file.nodes.flatMap((node) => this.#readAt(file, node) ?? []);
    const patterns = [...file.names.byScope.values()].flatMap((names) => [...names.values()].flat());
    return [...members, ...patterns.flatMap((one) => this.#readByPattern(file, one) ?? [])];
  }

  #readAt(file: SourceFile, node: SyntaxNode): EnvelopeRead | null {
    const read = envelopeMember(node, file.source);
    if (read === null || isAssigned(node)) return null;
    this.#fuel.refill();
    const answer = this.#answerOf({ file, node: read.object, bound: UNBOUND }, 0);
    if (answer === null) return null;
    // Clients hand out responses whose `data` is the body, and iterators have a `next` of their own.
    const isOwn =
      answer.kind === 'body' ||
      (node.kind === 'index' && file.language.imports !== 'relative') ||
      (node.kind === 'call' && /^(json|GetBytes|data_get)$/.test(calleeOf(node, file.source).name)) ||
      /count/i.test(read.name);
    return isOwn
      ? { node: read.nameNode, name: read.name, certainty: answer.certainty, object: read.object }
      : null;
  }

  #readByPattern(file: SourceFile, { key, value, node }: Declaration): EnvelopeRead | null {
    if (key === null || value === null || !MEMBERS.test(key)) return null;
    this.#fuel.refill();
    const answer = this.#answerOf({ file, node: value, bound: UNBOUND }, 0);
    if (answer?.kind !== 'body') return null;
    return { node, name: key, certainty: answer.certainty, object: null };
  }

  #answerOf(given: Expression, depth: number): Answer | null {
    if (depth > MAX_DEPTH || !this.#fuel.spend()) return null;
    const at = { ...given, node: unwrap(given.node) };
    if (at.bound !== UNBOUND) return this.#read(at, depth);
    const known = this.#known.get(at.node);
    if (known !== undefined) return known;
    this.#known.set(at.node, null);
    const answer = this.#read(at, depth);
    this.#known.set(at.node, answer);
    return answer;
  }

  #read(at: Expression, depth: number): Answer | null {
    const { node, file } = at;
    switch (node.kind) {
      case 'call':
        return this.#readCall(at, depth);
      case 'name':
        return this.#readName(at, depth);
      case 'member':
      case 'index':
        return this.#readMember(at, depth);
      case 'binary':
      case 'conditional':
        return node.children.reduce<Answer | null>(
          (found, child) => found ?? this.#answerOf({ ...at, node: child }, depth + 1),
          null,
        );
      case 'assign': {
        const value = childAt(node, 'right', 'value');
        return value === undefined ? null : this.#answerOf({ ...at, node: value, file }, depth + 1);
      }
      default:
        return null;
    }
  }

  #readName(at: Expression, depth: number): Answer | null {
    const { file, node } = at;
    const name = nameOf(node, file.source);
    const declared = isField(node)
      ? (file.names.fields.get(name)?.find(({ value }) => value !== null) ?? null)
      : lookUp(file.names, name, node);
    if (declared === null) return null;
    if (declared.parameter !== null) return this.#readParameter(at, declared, depth);
    if (declared.value === null || declared.value.kind === 'function') return null;
    const value = { ...at, node: declared.value };
    const answer = this.#answerOf(value, depth + 1);
    if (answer === null || declared.key === null)
      return answer === null ? null : this.#decoded(value, answer);
    return this.#memberOfAnswer(at.file, answer, declared.key);
  }

  /** A call that writes what it decodes into a variable makes the variable the body. */
  #decoded({ file, node }: Expression, answer: Answer): Answer {
    const isDecoder = node.kind === 'call' && PARSES.test(calleeOf(node, file.source).name);
    return isDecoder ? { ...answer, kind: 'body' } : answer;
  }

  #readParameter(at: Expression, declared: Declaration, depth: number): Answer | null {
    const given = [...at.bound].find(
      ([one]) => one.scope === declared.scope && one.parameter === declared.parameter,
    )?.[1];
    if (given !== undefined) {
      const answer = this.#answerOf(given, depth + 1);
      return answer === null || declared.key === null
        ? answer
        : this.#memberOfAnswer(given.file, answer, declared.key);
    }
    // The callback of `.then(…)` and the like is given what the receiver resolves to.
    if (declared.parameter !== 0) return null;
    const { parent } = declared.scope;
    const isHandler =
      parent?.kind === 'pair' &&
      /^\W*(success|done|complete|onSuccess)\b/.test(at.file.source.slice(parent.start, parent.start + 20));
    const request = isHandler ? parent.parent?.parent?.parent : parent;
    if (request?.kind === 'call' && depth < MAX_DEPTH) {
      const [url] = this.#requests.urlsOf({ ...at, node: request });
      if (url?.certainty != null && !/^(each|map|then)$/.test(calleeOf(request, at.file.source).name))
        return { kind: isHandler ? 'body' : 'response', certainty: url.certainty };
    }
    const call = parent?.parent;
    if (call?.kind !== 'call') return null;
    const { receiver, name } = calleeOf(call, at.file.source);
    if (
      receiver === null ||
      !/^(then|tap|map|flatMap|thenApply|thenCompose|subscribe|pipe|thenAccept|let|also|done|success)$/.test(
        name,
      )
    )
      return null;
    const answer = this.#answerOf({ ...at, node: receiver }, depth + 1);
    return answer === null || declared.key === null
      ? answer
      : this.#memberOfAnswer(at.file, answer, declared.key);
  }

  #readMember(at: Expression, depth: number): Answer | null {
    const member = memberOf(at.node, at.file.source);
    if (member === null) return null;
    const answer = this.#answerOf({ ...at, node: member.object }, depth + 1);
    if (answer !== null) return this.#memberOfAnswer(at.file, answer, member.name);
    if (!isSelf(member.object, at.file.source)) return null;
    const value = at.file.names.fields.get(member.name)?.find((one) => one.value !== null)?.value;
    return value === undefined || value === null || value.kind === 'function'
      ? null
      : this.#answerOf({ ...at, node: value }, depth + 1);
  }

  #memberOfAnswer(file: SourceFile, answer: Answer, name: string): Answer | null {
    if (answer.kind === 'response' && /^(data|body)$/.test(name) && file.language.imports === 'relative')
      return { ...answer, kind: 'body' };
    if (PARSES.test(name)) return { ...answer, kind: 'body' };
    return STAYS.test(name) ? answer : null;
  }

  #readCall(at: Expression, depth: number): Answer | null {
    const { file, node } = at;
    const { receiver, name } = calleeOf(node, file.source);
    const given = argumentsOf(node, file.source).map(({ value }) => ({ ...at, node: value }));
    const inner = [...given, ...(receiver === null ? [] : [{ ...at, node: receiver }])];
    const isEnvelopeGetter = envelopeMember(node, file.source) !== null && receiver !== null;
    if (name === 'then' || name === 'thenApply') {
      const result = this.#resultOfCallback(at, depth);
      if (result !== undefined) return result;
    }
    const found = this.#values.functionOf(at);
    if (found !== null) {
      const declared = this.#requests.declaredBy(found);
      if (declared !== null) return { kind: 'body', certainty: declared };
      const bound = bindArguments(at, found);
      for (const one of returnsOf(found)) {
        const answer = this.#answerOf({ file: found.file, node: one, bound }, depth + 1);
        if (answer !== null) return answer;
      }
    }
    const isParser = PARSES.test(name);
    for (const one of inner) {
      const answer = isEnvelopeGetter ? null : this.#answerOf(one, depth + 1);
      if (answer === null) continue;
      if (isParser) return { ...answer, kind: 'body' };
      const isReceiver = one.node === receiver;
      if (!isReceiver && answer.kind === 'body') continue;
      if (!isReceiver || STAYS.test(name) || (answer.kind === 'response' && !GETS.test(name))) return answer;
    }
    if (isEnvelopeGetter) return null;
    const opened = receiver === null ? null : this.#opened(at, receiver, name);
    if (opened !== null) return opened;
    const url = this.#requests.urlsOf(at).find(({ certainty }) => certainty !== null && certainty !== 'look');
    const isLogged = /^(log|debug|info|warn|error|print|println|printf|puts|trace|Log\w*|console)$/.test(
      name,
    );
    if (url?.certainty == null || isLogged) return null;
    return {
      kind: /^(GetFromJson|getForObject|getJSON)/.test(name) ? 'body' : 'response',
      certainty: url.url.isGraphql ? 'likely' : url.certainty,
    };
  }

  /** A request that is sent by a method of its address, as `url.openStream()`. */
  #opened(at: Expression, receiver: SyntaxNode, name: string): Answer | null {
    if (!/^(open\w*|[gG]et\w*|Post\w*|fetch|retrieve|Send\w*)$/.test(name)) return null;
    const certainty = this.#requests.addressOf({ ...at, node: receiver });
    return certainty === null ? null : { kind: PARSES.test(name) ? 'body' : 'response', certainty };
  }

  /** undefined: the callback is not shown. */
  #resultOfCallback(at: Expression, depth: number): Answer | null | undefined {
    const callback = argumentsOf(at.node, at.file.source)[0]?.value;
    if (callback?.kind !== 'function') return undefined;
    for (const one of returnsOf({ file: at.file, node: callback })) {
      const answer = this.#answerOf({ ...at, node: one }, depth + 1);
      if (answer !== null) return answer;
    }
    return null;
  }
}

interface Read {
  readonly object: SyntaxNode;
  readonly name: string;
  readonly nameNode: SyntaxNode;
}

/** A read of `data`, `next`, `prev` or `total_count`, in any of the forms of a member or getter. */
function envelopeMember(node: SyntaxNode, source: string): Read | null {
  if (node.kind === 'member' || node.kind === 'index') {
    const member = memberOf(node, source);
    return member !== null && MEMBERS.test(member.name) && !isCalled(node) ? member : null;
  }
  if (node.kind !== 'call') return null;
  const { receiver, name } = calleeOf(node, source);
  const given = argumentsOf(node, source);
  const first = given[0]?.value;
  if (receiver === null) return null;
  const second = given[1]?.value;
  if (first !== undefined && second?.kind === 'string' && /^(GetBytes|Get|data_get|get)$/.test(name)) {
    const key = plainText(second, source);
    if (key !== null && MEMBERS.test(key)) return { object: first, name: key, nameNode: second };
  }
  if (first !== undefined && GETS.test(name)) {
    const key = first.kind === 'string' || first.kind === 'symbol' ? plainText(first, source) : null;
    return key !== null && MEMBERS.test(key) ? { object: receiver, name: key, nameNode: first } : null;
  }
  const accessor = name.replace(/^get(?=[A-Z])/, '');
  const property =
    childAt(node, 'name', 'method') ??
    childAt(childAt(node, 'function') ?? node, 'property', 'name', 'field', 'attribute');
  const isAccessor = given.length === 0 && MEMBERS.test(accessor) && property !== undefined;
  return isAccessor ? { object: receiver, name: accessor, nameNode: property } : null;
}

/** Whether a member is the function of a call, as in `it.next()`. */
function isCalled({ field, parent }: SyntaxNode): boolean {
  return field === 'function' && parent?.kind === 'call';
}

function isAssigned(node: SyntaxNode): boolean {
  return node.field === 'left' && node.parent?.kind === 'assign';
}
