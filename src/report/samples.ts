import type { ReportFinding } from '../store/finding-rows.js';
import { describeEvidence, isRowEvidence } from '../text/describe-evidence.js';
import { groupBy } from '../text/rows.js';
import { cutText } from '../text/text-layout.js';
import type { Block, Cell, Column, FoldBlock } from './blocks.js';
import { describeKey } from './describe.js';
import { bareKey, describeIds, sumIds } from './reason-counts.js';
import type { Report } from './report-schema.js';

const MAX_CHARS = 300;

/** The first findings of each reason, the most frequent reason first; shown on the HTML page only. */
export function sampleBlocks({ findings, reasons }: Report): Block[] {
  if (findings.samples.length === 0) return [];
  const groups = groupBy(findings.samples, keyOf);
  const counts = new Map(reasons.map((one) => [one.key, one]));
  const sizeOf = (key: string) => {
    const ids = counts.get(key);
    return ids === undefined ? 0 : sumIds(ids.v3) + sumIds(ids.v4);
  };
  const sorted = [...groups].sort(([a], [b]) => sizeOf(b) - sizeOf(a));
  const folds = sorted.map(([key, samples]) => {
    const ids = counts.get(key);
    return foldOf(key, samples, ids === undefined ? '' : describeIds(ids));
  });
  const text = `The first of each reason. The full list: ${findings.fullList}.`;
  const blocks: Block[] = [{ kind: 'sentence', text }, ...folds];
  return [{ kind: 'fold', title: 'Samples', blocks, page: 'only' }];
}

/** The id of the samples of a reason or status; null if there are none. */
export function sampleId({ findings }: Report, key: string): string | null {
  const found = findings.samples.map(keyOf).find((one) => one === key || one.startsWith(`${key}/`));
  return found === undefined ? null : anchorOf(found);
}

function keyOf({ status, reason }: ReportFinding): string {
  return reason === null ? status : bareKey(`${status}/${reason}`);
}

function anchorOf(key: string): string {
  return `sample-${key.replace(/[^a-z0-9_]/g, '-')}`;
}

const COLUMNS: readonly Column[] = [
  ...['Model', 'platform_id', 'V3 id', 'V4 id', 'Company'].map((title) => ({ title })),
  { title: 'Evidence', unordered: true },
];

function foldOf(key: string, samples: readonly ReportFinding[], ids: string): FoldBlock {
  const { title, meaning } = describeKey(key);
  const rows = samples.map(cellsOf);
  const caption = `Samples of ${key}.`;
  return {
    kind: 'fold',
    title: [title === '' ? key : title, ids].filter((text) => text !== '').join(': '),
    code: key,
    id: anchorOf(key),
    blocks: [
      { kind: 'sentence', text: meaning },
      { kind: 'table', caption, columns: COLUMNS, rows, total: rows.length },
    ],
  };
}

function cellsOf(one: ReportFinding): Cell[] {
  return [
    one.path === '' ? one.model : `${one.model} › ${one.path}`,
    { kind: 'code', text: cutText(one.platform_id ?? '–', MAX_CHARS) },
    one.v3_svc_id ?? '–',
    one.v4_svc_id ?? '–',
    `${one.v3_company_id ?? '–'} → ${one.v4_company_id ?? '–'}${one.region === null ? '' : ` (${one.region})`}`,
    { kind: 'sentences', texts: sentencesOf(one).map((text) => cutText(text, MAX_CHARS)) },
  ];
}

function sentencesOf({ evidence, reason }: ReportFinding): string[] {
  const sentences = isRowEvidence(evidence) ? describeEvidence(evidence, reason) : [JSON.stringify(evidence)];
  return sentences.length === 0 ? ['–'] : sentences;
}
