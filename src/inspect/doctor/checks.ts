import type { OnProgress } from '../../domain.js';
import { escapeUnseen, renderJson } from '../../text/escape.js';
import { countOf } from '../../text/numbers.js';
import { displayWidth, wrapProse } from '../../text/text-layout.js';
import {
  type DoctorCheck,
  type Finding,
  judgeFindings,
  type LocalCheck,
  type LocalContext,
  type RemoteContext,
} from './check.js';
import { checkCompanies } from './check-companies.js';
import { checkClocks, checkHosts, checkPages, checkV3 } from './check-hosts.js';
import { checkConfig, checkDatabase, checkDisk, checkKeys, checkProgram } from './check-machine.js';
import { checkModels, checkV4 } from './check-models.js';
import { checkParameters } from './check-parameters.js';

/** Every check, in the order of the output. */
const CHECKS: readonly DoctorCheck[] = [
  { id: 'program', title: 'look at this machine', run: checkProgram },
  { id: 'configuration', title: 'look at the configuration', run: checkConfig },
  { id: 'keys', title: 'look for the keys', run: checkKeys },
  { id: 'hosts', title: 'judge the first answers', ask: checkHosts },
  { id: 'V3', title: 'look at the V3 lists', ask: checkV3 },
  { id: 'V4', title: 'look at the V4 lists', ask: checkV4 },
  { id: 'models', title: 'try other names in V4', ask: checkModels },
  { id: 'parameters', title: 'ask V4 for its parameters', ask: checkParameters },
  { id: 'pages', title: 'look for the largest page', ask: checkPages },
  { id: 'clock', title: 'compare the clocks', ask: checkClocks },
  { id: 'companies', title: 'look for companies that share records', ask: checkCompanies },
  { id: 'disk', title: 'estimate the database', ask: checkDisk },
  { id: 'database', title: 'look at the database', ask: checkDatabase },
];

function isLocal(check: DoctorCheck): check is LocalCheck {
  return 'run' in check;
}

/** What all checks found, each finding with the check that made it. */
export type Diagnosis = readonly (Finding & { readonly area: string })[];

/** Runs the checks that send nothing. */
export function checkLocally(context: LocalContext): Diagnosis {
  return CHECKS.filter(isLocal).flatMap(({ id, run }) => run(context).map((one) => ({ ...one, area: id })));
}

/** Runs every check, one after the other. */
export async function runChecks(context: RemoteContext, onProgress: OnProgress): Promise<Diagnosis> {
  const findings: Diagnosis[number][] = [];
  for (const check of CHECKS) {
    if (!isLocal(check)) onProgress({ kind: 'step', name: check.title, done: 0, total: null });
    const found = isLocal(check) ? check.run(context) : await check.ask(context);
    findings.push(...found.map((one) => ({ ...one, area: check.id })));
  }
  return findings;
}

const LABELS = { ok: 'ok', note: 'note', warning: 'WARN' } as const;
const INDENT = 8;

/** The findings by check, then the problems to fix. */
export function renderDoctor(findings: Diagnosis, next: string, width: number): string {
  const lines: string[] = [];
  const problems = findings.filter(({ level }) => level === 'problem');
  let heading = '';
  for (const { area, level, text, fix } of findings) {
    if (level === 'problem') continue;
    if (area !== heading) lines.push(area);
    heading = area;
    lines.push(...layOut(LABELS[level], text, width));
    if (fix !== undefined) lines.push(...layOut(' ', `→ ${fix}`, width));
  }
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  if (problems.length === 0) {
    const but = warnings === 0 ? '' : ` (${countOf(warnings, 'warning')} above)`;
    lines.push('', `Ready${but}.`);
  } else {
    lines.push('', 'To fix:');
  }
  for (const [at, { text, fix = '' }] of problems.entries()) {
    lines.push(...layOut(`${at + 1}.`, text, width), ...layOut(' ', `→ ${fix}`, width));
  }
  const [first] = problems;
  if (first !== undefined) {
    lines.push('', `Not ready: ${countOf(problems.length, 'problem')}.`);
    lines.push(...wrapProse(`Biggest blocker: ${headOf(first.text)}`, width));
  }
  lines.push(`Next: ${escapeUnseen(next)}`);
  return lines.map((line) => `${line}\n`).join('');
}

/** The first line of a text that goes on with a list. */
function headOf(text: string): string {
  return text.split('\n', 1).join('').replace(/:$/, '');
}

/** Lays out text beside a label, with a hanging indent. */
function layOut(label: string, text: string, width: number): string[] {
  const lines = text.split('\n').flatMap((line) => wrapProse(line.trim(), width, ' '.repeat(INDENT)));
  const [first = '', ...others] = lines;
  const head = `  ${label}`;
  return [head + ' '.repeat(INDENT - displayWidth(head)) + first.slice(INDENT), ...others];
}

/** The findings for programs. */
export function renderDoctorJson(findings: Diagnosis): string {
  const exit = judgeFindings(findings);
  return renderJson({
    schemaVersion: 1,
    ready: exit === 0,
    exitCode: exit,
    findings: findings.map(({ corrections: _, ...one }) => ({ fix: null, exitCode: null, ...one })),
  });
}
