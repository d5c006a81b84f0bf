import { resolve } from 'node:path';
import { applyEdits } from '../../text/text-edits.js';
import { isGenerated } from '../rules/rules.js';
import { type ParsedFile, type ScanIo, type ScanRequest, type ScanResult, scanFiles } from '../scan-files.js';
import type { V3Use } from '../scan-report.js';
import { atLeast, type Certainty, type FixSettings } from '../scan-settings.js';
import type { SyntaxParser } from '../syntax.js';
import { readText } from '../walk-files.js';
import { errorsIn, type MarkedText, markCode, markText, type Unmarked } from './add-comments.js';
import { listTodos, type Todo } from './fix-report.js';
import { type FixUnit, planUnits } from './plan-units.js';

/** A file with the text that it had and the text that it gets. */
export interface PatchedFile {
  readonly path: string;
  readonly absolute: string;
  readonly before: string;
  readonly after: string;
}

/** What a fix would change; nothing is written yet. */
export interface FixPlan {
  readonly units: readonly FixUnit[];
  readonly files: readonly PatchedFile[];
  /** Comments that are added. */
  readonly marked: number;
  readonly unmarked: readonly (Unmarked & { readonly file: string })[];
  /** What the files hold as they are. */
  readonly found: ScanResult;
  /** What they hold with the changes. */
  readonly result: ScanResult;
}

/** What to scan, and how to fix it. */
export interface FixRequest {
  readonly scan: ScanRequest;
  readonly fix: FixSettings;
  /** Uses at least this sure are marked. */
  readonly failOn: Certainty;
}

/** Plans the patches of all files, and scans the patched files. */
export async function planFix(
  { scan, fix, failOn }: FixRequest,
  io: ScanIo,
  parser: SyntaxParser,
): Promise<FixPlan> {
  const planner = new FixPlanner(scan, io, parser);
  const patched = await planner.patch(fix);
  if (!fix.isMarking) return planner.finish(patched);
  const failing = atLeast(failOn);
  return planner.finish(
    await planner.mark(patched.findings.filter(({ certainty }) => failing.includes(certainty))),
  );
}

/** Why a file gets no comment. */
const GENERATED = 'the file is generated, and would lose the comment';

/** A file before its patch, which must add no syntax error and leave fewer certain findings. */
interface Baseline {
  readonly errors: number;
  readonly findings: number;
}

class FixPlanner {
  readonly #scan: ScanRequest;
  readonly #io: ScanIo;
  readonly #parser: SyntaxParser;
  /** Changed files, by absolute path. */
  readonly #files = new Map<string, PatchedFile>();
  #units: FixUnit[] = [];
  readonly #unmarked: (Unmarked & { readonly file: string })[] = [];
  #marked = 0;
  #found: ScanResult | null = null;

  constructor(scan: ScanRequest, io: ScanIo, parser: SyntaxParser) {
    this.#scan = scan;
    this.#io = io;
    this.#parser = parser;
  }

  /** Patches what can be patched. A file whose patch fails the comparison with its baseline stays unchanged. */
  async patch(fix: FixSettings): Promise<ScanResult> {
    const baselines = new Map<string, Baseline>();
    const result = await this.#run((parsed) => {
      const { file, absolute, result: found } = parsed;
      baselines.set(absolute, { errors: errorsIn(file.nodes), findings: countCertain(found.findings) });
      if (!fix.isFixing) return;
      const { units, edits } = planUnits({ ...parsed, settings: fix });
      this.#units.push(...units);
      if (edits.length > 0) this.#replace(file.path, absolute, file.source, applyEdits(file.source, edits));
    });
    this.#found = result;
    if (this.#files.size === 0) return result;
    const wrong: PatchedFile[] = [];
    const patched = await this.#run(({ file, absolute, result: found }) => {
      const [baseline, own] = [baselines.get(absolute), this.#files.get(absolute)];
      if (baseline === undefined || own === undefined) return;
      const isRight =
        errorsIn(file.nodes) <= baseline.errors && countCertain(found.findings) < baseline.findings;
      if (!isRight) wrong.push(own);
    });
    if (wrong.length === 0) return patched;
    for (const { absolute, path } of wrong) {
      this.#files.delete(absolute);
      this.#units = this.#units.map((one) =>
        one.file === path && one.reason === null ? { ...one, reason: 'unproven' } : one,
      );
    }
    return this.#run();
  }

  /** Puts comments above uses that remain. */
  async mark(uses: readonly V3Use[]): Promise<ScanResult> {
    const left = new Map<string, Todo[]>();
    for (const file of new Set(uses.map((one) => one.file))) {
      const isOwn = (one: { readonly file: string }) => one.file === file;
      left.set(file, listTodos(uses.filter(isOwn), this.#units.filter(isOwn)));
    }
    await this.#run(({ file, absolute, input }) => {
      const todos = left.get(file.path) ?? [];
      left.delete(file.path);
      const marked = isGenerated(input)
        ? { text: file.source, marked: [], unmarked: todos.map(({ line }) => ({ line, why: GENERATED })) }
        : markCode(file, todos, this.#parser);
      this.#keepMarks(file.path, absolute, file.source, marked);
    });
    for (const [path, todos] of left) {
      const absolute = resolve(this.#scan.folder, path);
      const known = this.#files.get(absolute)?.after;
      const read = readText({ absolute, text: known });
      if ('text' in read) this.#keepMarks(path, absolute, read.text, markText(path, read.text, todos));
    }
    return this.#run();
  }

  finish(result: ScanResult): FixPlan {
    const files = [...this.#files.values()];
    const found = this.#found ?? result;
    return { units: this.#units, files, marked: this.#marked, unmarked: this.#unmarked, found, result };
  }

  #keepMarks(path: string, absolute: string, source: string, { text, marked, unmarked }: MarkedText): void {
    this.#marked += marked.length;
    const moved = (line: number) => line + marked.filter((one) => one <= line).length;
    this.#units = this.#units.map((one) => (one.file === path ? { ...one, line: moved(one.line) } : one));
    this.#unmarked.push(...unmarked.map(({ line, why }) => ({ file: path, line: moved(line), why })));
    if (text !== source) this.#replace(path, absolute, source, text);
  }

  #replace(path: string, absolute: string, source: string, after: string): void {
    const before = this.#files.get(absolute)?.before ?? source;
    this.#files.set(absolute, { path, absolute, before, after });
  }

  #run(onParsed: (parsed: ParsedFile) => void = () => {}): Promise<ScanResult> {
    const texts = new Map([...this.#files].map(([absolute, { after }]) => [absolute, after]));
    return scanFiles(this.#scan, this.#io, this.#parser, { texts, onParsed });
  }
}

function countCertain(findings: readonly V3Use[]): number {
  return findings.filter(({ certainty }) => certainty === 'certain').length;
}
