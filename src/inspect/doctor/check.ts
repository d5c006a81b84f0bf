import type { Api } from '../../api/client.js';
import type { Config, Endpoint } from '../../config/config.js';
import type { Env, NamedCompanyPair } from '../../domain.js';
import type { SvcError } from '../../errors.js';
import { countOf, groupDigits } from '../../text/numbers.js';
import type { AskList, ListAnswer, SampledHost, SampledList, SampledV4 } from './sample-lists.js';

/** One thing that a check found. */
export interface Finding {
  /** `problem`: not ready until it is fixed. */
  readonly level: 'ok' | 'note' | 'warning' | 'problem';
  /** A stable code for programs. */
  readonly code: string;
  /** What was found, as one sentence. */
  readonly text: string;
  /** What to do about it, as one sentence. */
  readonly fix?: string;
  /** Only for problems: the exit code of the kind of problem. */
  readonly exitCode?: ProblemCode;
  /** What `doctor --write-config` changes because of it. */
  readonly corrections?: readonly Correction[];
}

/** 2 configuration, 3 key refused, 4 network, 5 V4 not there yet, 6 this machine. */
export type ProblemCode = 2 | 3 | 4 | 5 | 6;

/** A setting that the answers of the APIs correct. */
export interface Correction {
  /** Its path in the configuration; a model is named by its index. */
  readonly path: readonly (string | number)[];
  readonly value: string | number | boolean;
  /** What it was and why it changes, as one line. */
  readonly text: string;
  /** Set if the value stays the same: it was a guess, which is now confirmed. */
  readonly confirms?: true;
}

export interface DoctorCheck<Context> {
  /** The heading of its findings, and their `area` in the JSON output. */
  readonly id: string;
  /** Shown while it runs. */
  readonly title: string;
  readonly run: (context: Context) => readonly Finding[] | Promise<readonly Finding[]>;
}

/** What is known without the network. */
export interface LocalContext {
  readonly config: Config;
  readonly env: Env;
  readonly nowMs: number;
  readonly node: string;
  /** Null if SQLite cannot be loaded. */
  readonly sqlite: string | null;
  /** Why a key cannot be used; by region, '' for V4. */
  readonly keyErrors: ReadonlyMap<string, SvcError>;
  /** Why `companies.csv` or `decisions.csv` cannot be used, by the code of the finding. */
  readonly fileErrors: readonly (readonly [code: string, error: SvcError])[];
}

/** What both APIs answered to the first requests, and the means to ask more. */
export interface RemoteContext extends LocalContext {
  readonly v3: readonly SampledHost[];
  readonly v4: SampledV4;
  readonly ask: AskList;
  /** Asks a V3 region at another address. */
  readonly askAt: <T>(endpoint: Endpoint, work: (ask: AskList) => Promise<T>) => Promise<T>;
  readonly endpoints: Api['endpoints'];
  /** The company pairs that the user's file names. */
  readonly named: readonly NamedCompanyPair[];
  readonly database: DatabaseFacts;
}

export type DatabaseFacts =
  | { readonly kind: 'none' | 'interrupted' }
  | { readonly kind: 'unusable'; readonly error: SvcError }
  | { readonly kind: 'usable'; readonly v3Records: number; readonly v4Records: number };

/** A finding that needs nothing to be done. */
export function ok(code: string, text: string): Finding {
  return { level: 'ok', code, text };
}

export function note(code: string, text: string, fix?: string): Finding {
  return { level: 'note', code, text, ...(fix === undefined ? {} : { fix }) };
}

export function warning(code: string, text: string, fix: string): Finding {
  return { level: 'warning', code, text, fix };
}

export function problem(code: string, exitCode: ProblemCode, text: string, fix: string): Finding {
  return { level: 'problem', code, text, fix, exitCode };
}

/** Exit codes by precedence, if there are several kinds of problems. */
const PRECEDENCE = [3, 2, 6, 4, 5] as const satisfies readonly ProblemCode[];

/** The exit code: 0 without a problem. */
export function judgeFindings(findings: readonly Finding[]): 0 | ProblemCode {
  const codes = new Set(findings.map(({ exitCode }) => exitCode));
  return PRECEDENCE.find((code) => codes.has(code)) ?? 0;
}

const MAX_NAMES = 3;

export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

type FailedAnswer = Extract<ListAnswer, { error: unknown }>;

/** Failed requests, one finding for each kind: an export would fail on them too. */
export function judgeFailures(
  code: string,
  lists: readonly SampledList[],
  nameOf: (list: SampledList) => string,
): Finding[] {
  const byKind = new Map<string, { readonly answer: FailedAnswer; readonly names: string[] }>();
  for (const list of lists) {
    const { answer } = list;
    if (answer.kind === 'answers' || answer.kind === 'absent') continue;
    const kind = `${answer.kind} ${answer.error.code}`;
    const group = byKind.get(kind) ?? { answer, names: [] };
    group.names.push(nameOf(list));
    byKind.set(kind, group);
  }
  return [...byKind.values()].map(({ answer: { kind, error }, names }) => {
    const where = `${countOf(names.length, 'list')}: ${listNames([...new Set(names)])}`;
    const text = `${error.message.replace(/\.$/, '')}${names.length > 1 ? ` (${where})` : ''}.`;
    const { answer, request_id: id } = error.facts;
    if (kind === 'refused') {
      const fix = 'Check fieldPrefix, "expand" of the model in "models", and pageSize.';
      return problem(code, 2, answer === undefined ? text : `${text} It says: ${answer}`, fix);
    }
    if (error.exitCode === 2 || error.exitCode === 3) {
      return problem(code, error.exitCode, text, error.hint ?? 'Check the key.');
    }
    const report = id === undefined ? '' : `; if it persists, give the operator the request_id ${id}`;
    return problem(code, 4, text, `Run doctor again${report}.`);
  });
}

/** What is odd in the records of a list. */
export function judgeContent(name: string, answer: ListAnswer): Finding[] {
  if (answer.kind !== 'answers') return [];
  const { missing, rejected, records } = answer;
  const findings: Finding[] = [];
  if (missing.length > 0) {
    const sample =
      records.length === 1
        ? 'the one record sampled does not carry'
        : `none of the ${groupDigits(records.length)} records sampled carries`;
    const text = `${name}: ${sample} ${missing.join(', ')}, though "expand" asks for it; others may.`;
    const fix = 'Children in it cannot be mapped: check "expand" and "children" in "models".';
    findings.push(warning('expand_ignored', text, fix));
  }
  if (rejected > 0 && records.length === 0) {
    const text = `${name}: no object of the sample can be taken as a record.`;
    const fix = 'Check fieldPrefix: ids are read from {fieldPrefix}id and {fieldPrefix}company_id.';
    findings.push(problem('no_record_readable', 2, text, fix));
  } else if (rejected > 0) {
    const are = rejected === 1 ? 'a record' : 'records';
    const text = `${name}: ${countOf(rejected, 'object')} of the sample cannot be taken as ${are}.`;
    findings.push(
      warning('objects_rejected', text, `${rejected === 1 ? 'It' : 'They'} will be listed as rejected.`),
    );
  }
  return findings;
}
