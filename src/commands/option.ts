import { parseId, parseSvcId } from '../domain.js';
import { parseRegions, regionsProblem, toUrl, v4UrlProblem } from '../text/addresses.js';
import { parseDuration } from '../text/numbers.js';
import * as z from '../zod.js';

/** What help, completion and the reference know of an option or argument besides its type. */
export interface OptionFacts {
  /** What it does, as the end of a sentence, without the choices and the default. */
  readonly summary: string;
  /** The placeholder of its value, such as `<file>`; an argument that may be left out is in `[]`. Null: a flag. */
  readonly value: string | null;
  /** `argument`: found by its position. `output`: a file to write. `input`: a file that no output may replace. */
  readonly role: 'value' | 'argument' | 'output' | 'input';
  /** Whether it may be given several times. */
  readonly isList: boolean;
  /** The words that it takes; empty: not a closed list. */
  readonly choices: readonly string[];
  /** What is used where it is left out, as it would be typed. */
  readonly fallback?: string;
  /** Of an output as JSON: the name in the package of its schema, which the module of the command has. */
  readonly schema?: string;
}

/** An option or argument of a command. */
export interface ListedOption extends OptionFacts {
  /** The name of its value, such as `maxWait`. */
  readonly name: string;
  /** As it is typed, such as `--max-wait <duration>`; of an argument, its placeholder. */
  readonly flags: string;
}

const FACTS = z.registry<OptionFacts>();

/** Adds what is known of an option to its type; `of`: the type of one value, which may be a closed list of words. */
function withFacts<Type extends z.ZodType>(
  type: Type,
  facts: Pick<OptionFacts, 'summary'> & Partial<OptionFacts>,
  of?: z.ZodType,
): Type {
  const choices = of instanceof z.ZodEnum ? of.options.map(String) : [];
  FACTS.add(type, { value: null, role: 'value', isList: false, choices, ...facts });
  return type;
}

/** An option without a value. */
export function flag(summary: string) {
  return withFacts(z.boolean().default(false), { summary });
}

/** An option with a value, undefined where it is left out. */
export function option<Type extends z.ZodType>(value: string, summary: string, type: Type) {
  return withFacts(z.optional(type), { summary, value }, type);
}

/** An option with a value, and the text that stands for it where it is left out. */
export function optionOr<Type extends z.ZodType<unknown, string>>(
  value: string,
  summary: string,
  type: Type,
  fallback: z.input<Type>,
) {
  return withFacts(z.prefault(type, fallback), { summary, value, fallback }, type);
}

/** An option that may be given several times. */
export function listOption<Type extends z.ZodType>(value: string, summary: string, type: Type) {
  return withFacts(z.prefault(z.array(type), []), { summary, value, isList: true }, type);
}

/** A file that the command writes, or `-` for stdout. If it fails, the file holds the error; see `runWithOutputs`. */
export function output(summary: string) {
  return withFacts(z.optional(z.string()), { summary, value: '<file>', role: 'output' });
}

/** An output as JSON that follows the schema of this name. */
export function jsonOutput(schema: string, summary = 'the result as JSON (- is stdout)') {
  return withFacts(z.optional(z.string()), { summary, value: '<file>', role: 'output', schema });
}

/** A file that the command reads, which no output may replace. */
export function input(summary: string) {
  return withFacts(z.optional(z.string()), { summary, value: '<file>', role: 'input' });
}

/** An argument that must be given, such as `<model>`. */
export function argument<Type extends z.ZodType>(value: `<${string}>`, summary: string, type: Type) {
  return withFacts(type.clone(), { summary, value, role: 'argument' }, type);
}

/** An argument that may be left out, such as `[id]`. */
export function optionalArgument<Type extends z.ZodType>(value: `[${string}]`, summary: string, type: Type) {
  return withFacts(z.optional(type), { summary, value, role: 'argument' }, type);
}

/** The last arguments, any number of them, such as `[paths...]`. */
export function listArgument<Type extends z.ZodType>(value: `[${string}...]`, summary: string, type: Type) {
  return withFacts(z.prefault(z.array(type), []), { summary, value, role: 'argument', isList: true }, type);
}

/** The options and arguments of a command, in the order of its definition. */
export function listOptions(options: z.ZodObject): ListedOption[] {
  return Object.entries(options.shape).map(([name, type]) => {
    const facts = FACTS.get(type);
    if (facts === undefined) throw new Error(`the option ${name} was not made by a function of this file`);
    const { value, role } = facts;
    const flags = role === 'argument' ? (value ?? '') : [flagOf(name), value ?? ''].join(' ').trim();
    return { ...facts, name, flags };
  });
}

/** The flag of an option, such as `--lock-timeout`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Longest list of choices that is shown. */
const MAX_CHOICES = 12;

/** What an option does, with its choices and default. */
export function describeOption({ summary, choices, fallback }: OptionFacts): string {
  const named = choices.length === 0 || choices.length > MAX_CHOICES ? '' : `: ${choices.join(', ')}`;
  return `${summary}${named}${fallback === undefined ? '' : ` (default: ${fallback})`}`;
}

/** A value of an option that is parsed from text; `takes` says what it must be: `takes a duration such as 90s`. */
function parsed<Value>(takes: string, parse: (text: string) => Value | null) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: takes, input: text });
    return z.NEVER;
  });
}

export const text = z.string();

/** A whole number of up to ten digits. */
export function wholeNumber(min = 0, max?: number) {
  const least = min === 0 ? '' : ` of at least ${min}`;
  const range = max === undefined ? least : ` from ${min} to ${max}`;
  return parsed(`takes a whole number${range}`, (word) => {
    const number = /^\d{1,10}$/.test(word) ? Number(word) : Number.NaN;
    return number >= min && number <= (max ?? number) ? number : null;
  });
}

/** A duration in ms, such as `90s`. */
export const duration = parsed('takes a duration such as 90s, 5m or 2h', parseDuration);

/** The same limit as for `http.maxWaitMs` in the configuration. */
const MAX_WAIT_MS = 86_400_000;

/** A duration of up to a day. */
export const waitDuration = parsed('takes a duration up to 24h, such as 90s or 15m', (word) => {
  const ms = parseDuration(word);
  return ms === null || ms > MAX_WAIT_MS ? null : ms;
});

export const companyId = parsed('takes a company id: digits only, at most 9223372036854775807', parseId);

/** A `svc_id` of V3 or V4. */
export const svcId = parsed('takes an id: a 64-bit integer in plain digits', parseSvcId);

/** An address to listen at. */
export const listenAddress = parsed('takes a port or host:port', (word) => {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(word) ?? [];
  return port !== '' && Number(port) <= 65_535 ? { host, port: Number(port) } : null;
});

/** Addresses of V3, by region. */
export const v3Addresses = parsed(
  'takes the address of V3, or several as eu=https://…,us=https://…',
  (word) => (regionsProblem(word) === null ? parseRegions(word) : null),
);

export const v4Address = parsed('takes the address of V4, without /v4', (word) =>
  v4UrlProblem(word) === null ? word : null,
);

export const httpAddress = parsed('takes an http address', (word) =>
  /^https?:/.test(word) && toUrl(word) !== null ? word : null,
);
