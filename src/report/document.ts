import { at, must } from '../text/at.js';
import { countOf, formatTime, groupDigits, listFirst } from '../text/numbers.js';
import { compare } from '../text/rows.js';
import { sumStatuses } from './build-report.js';
import type { Report } from './report-schema.js';
import { buildSections, nameOfLimit, type Section } from './sections.js';

export interface ReportDocument {
  readonly outcome: Report['outcome'];
  readonly title: string;
  /** What follows the title; warnings apart. */
  readonly lead: readonly string[];
  readonly warnings: readonly string[];
  readonly sections: readonly Section[];
  /** What changes the verdict. */
  readonly next: string;
}

const TITLES: Readonly<Record<Report['outcome'], string>> = {
  pass: 'SAFE TO CUT OVER',
  fail: 'NOT SAFE TO CUT OVER',
  incomplete: 'NOT KNOWN YET: THE DATA ARE INCOMPLETE',
  not_ready: 'NOT READY: THERE IS NOTHING TO COMPARE',
};

export function buildDocument(report: Report): ReportDocument {
  return {
    outcome: report.outcome,
    title: titleOf(report),
    lead: [verdictSentence(report), ...scopeSentence(report), ...historySentences(report)],
    warnings: warningsOf(report),
    sections: buildSections(report),
    next: report.next,
  };
}

/** Blockers of the remap come last: one at the head is the only one. */
function titleOf({ outcome, blockers: [first] }: Report): string {
  if (first?.code === 'remap_missing') return 'NOT KNOWN YET: THERE IS NO REMAP';
  if (first?.code === 'remap_stale') return 'NOT KNOWN YET: THE REMAP IS OUT OF DATE';
  return TITLES[outcome];
}

function verdictSentence({ outcome, totals, gate }: Report): string {
  const ids = sumStatuses(totals.v3ByStatus);
  const { matched } = totals.v3ByStatus;
  const part = `${groupDigits(matched)} of ${countOf(ids, 'V3 id')} ${matched === 1 ? 'has its V4 id' : 'have their V4 id'}`;
  switch (outcome) {
    case 'pass':
      return matched === ids
        ? `${part}.`
        : `${part}; the limits accept the other ${groupDigits(ids - matched)}.`;
    case 'fail': {
      const names = gate.limits.filter(({ pass }) => !pass).map(nameOfLimit);
      return `${part}; ${countOf(names.length, 'limit is', 'limits are')} exceeded (${listFirst(names)}).`;
    }
    case 'incomplete':
      return ids === 0 ? 'Nothing is joined yet.' : `So far ${part}.`;
    case 'not_ready':
      return `V3 shows ${countOf(totals.v3Records, 'record')}, V4 shows ${countOf(totals.v4Records, 'record')}.`;
    default:
      return outcome satisfies never;
  }
}

/** What the verdict is of, if not of everything. */
export function scopeSentence({ scope: { models, companies, settings } }: Report): string[] {
  const parts = [
    ...(models === null ? [] : [`only models ${listFirst(models)}`]),
    ...(companies === null ? [] : [`only companies ${listFirst(companies)}`]),
    ...settings.map(({ name, companies: ids }) => {
      const how = name === 'companies.exclude' ? 'without' : 'only';
      const side = name.startsWith('v3') ? 'V3 ' : name.startsWith('v4') ? 'V4 ' : '';
      return `${how} ${side}companies ${listFirst(ids)} ("${name}")`;
    }),
  ];
  return parts.length === 0 ? [] : [`Judged: ${parts.join('; ')}.`];
}

/** What is known about the start of V4's history, and from which records it was inferred. */
function historySentences({ windows }: Report): string[] {
  const [first] = windows;
  if (first === undefined) return [];
  if (first.source === 'configured') {
    return [`V4's history starts ${formatTime(must(first.since))}, as configured.`];
  }
  const inferred = windows
    .filter(({ source }) => source === 'inferred')
    .sort((a, b) => compare(must(a.since), must(b.since)));
  const unknown = windows.length - inferred.length;
  const ends = inferred.length > 1 ? [at(inferred, 0), at(inferred, -1)] : inferred;
  const named = ends.map(({ model, since, v4SvcId }) => `${dayOf(since)} (${model}, from V4 id ${v4SvcId})`);
  const parts = [
    ...(named.length === 0
      ? []
      : [`inferred for ${countOf(inferred.length, 'model')}: ${named.join(' to ')}`]),
    ...(unknown === 0 ? [] : [`unknown for ${countOf(unknown, 'model')}`]),
  ];
  return [`Start of V4's history: ${parts.join('; ')}.`];
}

function dayOf(time: string | null): string {
  return must(time).slice(0, 10);
}

function warningsOf({ windows, lists, evidence }: Report): string[] {
  const doubtful = windows.filter((window) => window.doubtful > 0);
  const [worst] = doubtful;
  const absent = lists.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  const models = [...new Set(absent.map(({ model }) => model))];
  return [
    ...(worst === undefined
      ? []
      : [
          `Doubtful start of V4's history (${listFirst(doubtful.map(({ model }) => model))}): for ${worst.model} it is ${dayOf(worst.since)} because of one record (V4 id ${worst.v4SvcId}), but nine in ten records are from ${dayOf(worst.nineTenthsSince)} on. Set "backfill.since" to what the operator says.`,
        ]),
    ...(models.length === 0
      ? []
      : [`V3 answered 404 for ${listFirst(models)}: V3 ids that were not read before are not checked.`]),
    ...(evidence.remap?.stale ? [`The remap is out of date: ${evidence.remap.changed.join('; ')}.`] : []),
  ];
}
