import type { OnProgress } from '../../domain.js';
import { escapeUnseen, renderJson } from '../../text/escape.js';
import { countOf } from '../../text/numbers.js';
import { groupBy } from '../../text/rows.js';
import { clipLines, wrapProse } from '../../text/text-layout.js';
import {
  type DoctorCheck,
  type Finding,
  judgeFindings,
  type LocalContext,
  type RemoteContext,
} from './check.js';
import { checkCompanies } from './check-companies.js';
import { checkClocks, checkHosts, checkPages, checkV3 } from './check-hosts.js';
import {
  checkConfig,
  checkDatabase,
  checkDisk,
  checkKeys,
  checkProgram,
  checkRoom,
} from './check-machine.js';
import { checkModels, checkV4 } from './check-models.js';
import { checkParameters } from './check-parameters.js';

/** The checks that send nothing. */
export const LOCAL_CHECKS: readonly DoctorCheck<LocalContext>[] = [
  { id: 'program', title: 'look at this machine', run: checkProgram },
  { id: 'configuration', title: 'look at the configuration', run: checkConfig },
  { id: 'keys', title: 'look for the keys', run: checkKeys },
  { id: 'disk', title: 'look at the disk', run: checkDisk },
];

/** The checks of what both APIs answer, and of the database. */
export const REMOTE_CHECKS: readonly DoctorCheck<RemoteContext>[] = [
  { id: 'hosts', title: 'judge the first answers', run: checkHosts },
  { id: 'V3', title: 'look at the V3 lists', run: checkV3 },
  { id: 'V4', title: 'look at the V4 lists', run: checkV4 },
  { id: 'models', title: 'try other names in V4', run: checkModels },
  { id: 'parameters', title: 'ask V4 for its parameters', run: checkParameters },
  { id: 'pages', title: 'look for the largest page', run: checkPages },
  { id: 'clock', title: 'compare the clocks', run: checkClocks },
  { id: 'companies', title: 'look for companies that share records', run: checkCompanies },
  { id: 'database', title: 'look at the database', run: checkDatabase },
  { id: 'disk', title: 'look for room on the disk', run: checkRoom },
];

/** What all checks found, each finding with the check that made it. */
export type Diagnosis = readonly (Finding & { readonly area: string })[];

/** Runs checks one after the other. */
export async function runChecks<Context>(
  checks: readonly DoctorCheck<Context>[],
  context: Context,
  onProgress: OnProgress,
): Promise<Diagnosis> {
  const findings: Diagnosis[number][] = [];
  for (const { id, title, run } of checks) {
    onProgress({ kind: 'step', name: title, done: 0, total: null });
    findings.push(...(await run(context)).map((one) => ({ ...one, area: id })));
  }
  return findings;
}

const LABELS = { ok: 'ok', note: 'note', warning: 'WARN' } as const;
const INDENT = 8;

/** The findings by check, then the problems to fix. */
export function renderDoctor(findings: Diagnosis, next: string, width: number): string {
  const problems = findings.filter(({ level }) => level === 'problem');
  const others = findings.flatMap(({ level, ...one }) => (level === 'problem' ? [] : [{ ...one, level }]));
  const found = [...groupBy(others, ({ area }) => area)].flatMap(([area, own]) => [
    area,
    ...own.flatMap(({ level, ...one }) => layOut(LABELS[level], one, width)),
  ]);
  const warnings = others.filter(({ level }) => level === 'warning').length;
  const [first] = problems;
  const end =
    first === undefined
      ? [`Ready${warnings === 0 ? '' : ` (${countOf(warnings, 'warning')} above)`}.`]
      : [
          'To fix:',
          ...problems.flatMap((one, at) => layOut(`${at + 1}.`, one, width)),
          '',
          `Not ready: ${countOf(problems.length, 'problem')}.`,
          // The first line of a text that goes on with a list.
          ...clipLines(wrapProse(`Biggest blocker: ${first.text.replace(/:?\n.*/s, '')}`, width), 3, width),
        ];
  return [...found, '', ...end, `Next: ${escapeUnseen(next)}`].map((line) => `${line}\n`).join('');
}

/** A finding and its fix beside a label, with a hanging indent. */
function layOut(label: string, { text, fix }: Pick<Finding, 'text' | 'fix'>, width: number): string[] {
  const texts = [...text.split('\n'), ...(fix === undefined ? [] : [`→ ${fix}`])];
  const lines = texts.flatMap((line) => wrapProse(line.trim(), width, ' '.repeat(INDENT)));
  const [first = '', ...others] = lines;
  return [`  ${label}`.padEnd(INDENT) + first.slice(INDENT), ...others];
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
