import type { Api } from '../../api/client.js';
import type { Config, Endpoint } from '../../config/config.js';
import type { NamedCompanyPair } from '../../config/user-files.js';
import type { CompanyMatch, Env } from '../../domain.js';
import type { SvcError } from '../../errors.js';
import type { AmbiguousCompany } from '../../text/describe-evidence.js';
import type { AskList, SampledHost, SampledV4 } from './sample-lists.js';

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
}

/** 2 configuration, 3 key refused, 4 network, 5 V4 not there yet, 6 this machine. */
export type ProblemCode = 2 | 3 | 4 | 5 | 6;

/** A setting that `doctor --write-config` changes. */
export interface Correction {
  /** Its path in the configuration; a model is named by its index. */
  readonly path: readonly (string | number)[];
  readonly value: string | number | boolean;
  /** What it was and why it changes, as one line. */
  readonly text: string;
  /** Set if the value stays the same: it was a guess, which is now confirmed. */
  readonly confirms?: true;
}

/** The result of a check. */
export interface Checked {
  readonly findings: Iterable<Finding>;
  readonly corrections?: readonly Correction[];
  /** For programs: what the findings are based on; added to `facts` of the JSON output. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

interface Named {
  /** The heading of its findings, and their `area` in the JSON output. */
  readonly id: string;
  /** Shown while it runs. */
  readonly title: string;
}

/** A check that sends nothing. */
export interface LocalCheck extends Named {
  readonly run: (context: LocalContext) => Checked;
}

/** A check of what both APIs answer; it may ask for more. */
export interface RemoteCheck extends Named {
  readonly ask: (context: RemoteContext) => Checked | Promise<Checked>;
}

export type Check = LocalCheck | RemoteCheck;

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
  | {
      readonly kind: 'usable';
      readonly v3Records: number;
      readonly v4Records: number;
      /** Unfinished work and the next command, one sentence each. */
      readonly open: readonly string[];
      /** Companies to pair by hand. */
      readonly ambiguous: readonly AmbiguousCompany[];
      /** Pairs of companies by how they were found; null without a remap. */
      readonly pairs: Readonly<Record<CompanyMatch, number>> | null;
    };

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
