import type { Report } from '../../src/report/report-schema.js';
import { HOSTILE_TEXT, makeReport } from './sample-report.js';

export const SMALL = makeReport({ models: 3, companies: 3 });
export const BIG = makeReport({ models: 30, companies: 500 });
export const HOSTILE = hostile(makeReport({ models: 6, companies: 2, text: HOSTILE_TEXT }));
export const EMPTY = emptyReport();

/** Hostile text wherever the service, a file name or an error could put it. */
function hostile(report: Report): Report {
  const limits = report.gate.limits.map((limit) => ({ ...limit, detail: limit.pass ? null : HOSTILE_TEXT }));
  const blocker = {
    code: 'stream_unfinished',
    outcome: 'incomplete',
    text: HOSTILE_TEXT,
    next: HOSTILE_TEXT,
  } as const;
  return {
    ...report,
    blockers: [blocker],
    gate: { ...report.gate, limits },
    evidence: { ...report.evidence, database: HOSTILE_TEXT },
  };
}

function emptyReport(): Report {
  const report = makeReport({ models: 0, companies: 0 });
  return {
    ...report,
    outcome: 'incomplete',
    blockers: [
      {
        code: 'remap_missing',
        outcome: 'incomplete',
        text: 'There is no remap yet.',
        next: 'svc-migrate remap',
      },
    ],
    fullSync: [],
    findings: { ...report.findings, total: 0, samples: [] },
    timeline: { ...report.timeline, months: [], earlier: null, undated: 0 },
    evidence: { ...report.evidence, oldestReadAt: null, newestReadAt: null, ageHours: null, remap: null },
  };
}

/** Reports that every renderer must cope with, by what is special about them. */
export const REPORTS: [string, Report][] = [
  ['a small report', SMALL],
  ['30 models and 500 companies', BIG],
  ['hostile text', HOSTILE],
  ['an empty database', EMPTY],
];
