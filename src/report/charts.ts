import { groupDigits } from '../text/numbers.js';
import { STATUS_NAMES, type StatusCount } from './blocks.js';
import { type Html, html } from './html.js';
import type { Report } from './report-schema.js';

/** A legend of the colours. */
export function renderKey(names: readonly (readonly [string, string])[]): Html {
  return html`<ul class="key">${names.map(
    ([name, label]) =>
      html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" class="s-${name}"/></svg>${label}</li>`,
  )}</ul>
`;
}

const BAR_WIDTH = 1000;
/** Least width of a part, so that it stays visible. */
const MIN_PART_WIDTH = 6;

/** A stacked bar of statuses, in which every part that is not empty is visible. */
export function renderStatusBar(counts: readonly StatusCount[]): Html {
  const parts = counts.filter(({ count }) => count > 0);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const room = BAR_WIDTH - parts.length * MIN_PART_WIDTH;
  let x = 0;
  const rects = parts.map(({ status, count }) => {
    const width = round(MIN_PART_WIDTH + (count / total) * room);
    const rect = html`<rect x="${x}" width="${width}" height="10" class="s-${status}"/>`;
    x = round(x + width);
    return rect;
  });
  const label = parts.map(({ status, count }) => `${STATUS_NAMES[status]} ${groupDigits(count)}`).join(', ');
  return html`<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${label === '' ? 'no rows' : label}">${rects}</svg>`;
}

const CHART = { width: 960, height: 260, left: 64, right: 16, top: 28, bottom: 34 } as const;
const PLOT_WIDTH = CHART.width - CHART.left - CHART.right;
const PLOT_HEIGHT = CHART.height - CHART.top - CHART.bottom;
const BASE_Y = CHART.top + PLOT_HEIGHT;

type Month = Report['timeline']['months'][number];

const AGE_KEY = [
  ['matched', 'matched'],
  ['unmatched', 'unmatched'],
  ['other', 'deleted or ambiguous'],
] as const;

/** V3 records by month of their latest date, against the start of the backfill window. */
export function renderAges(timeline: Report['timeline']): Html {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  const top = niceTop(Math.max(...months.map((month) => month.matched + month.unmatched + month.other)));
  const step = PLOT_WIDTH / months.length;
  const bars = months.map((month, at) => renderMonth(month, CHART.left + at * step, step, top));
  const every = Math.max(1, Math.ceil(months.length / 12));
  const labels = months.map((month, at) =>
    at % every === 0
      ? html`<text x="${round(CHART.left + (at + 0.5) * step)}" y="${BASE_Y + 20}" text-anchor="middle">${month.month}</text>`
      : html``,
  );
  const label = `V3 records by month, ${months[0]?.month} to ${months.at(-1)?.month}; the table below has the numbers.`;
  const parts = html`${bars}${labels}${renderWindow(timeline, months, step)}`;
  return html`${renderKey(AGE_KEY)}<div class="scroll" role="region" tabindex="0" aria-label="Chart of the ages"><svg class="chart" viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${label}">
${renderAxis(top)}${parts}</svg></div>
`;
}

function renderMonth(month: Month, x: number, step: number, top: number): Html {
  const gap = Math.min(4, step * 0.15);
  let y = BASE_Y;
  const parts = (['matched', 'other', 'unmatched'] as const).map((name) => {
    const height = month[name] === 0 ? 0 : Math.max(2, (month[name] / top) * PLOT_HEIGHT);
    y -= height;
    return height === 0
      ? html``
      : html`<rect x="${round(x + gap / 2)}" y="${round(y)}" width="${round(step - gap)}" height="${round(height)}" class="s-${name}"/>`;
  });
  const title = `${month.month}: ${groupDigits(month.matched)} matched, ${groupDigits(month.unmatched)} unmatched, ${groupDigits(month.other)} other`;
  return html`<g><title>${title}</title>${parts}</g>
`;
}

function renderAxis(top: number): Html {
  const lines = [0, 0.5, 1].map((share) => {
    const y = round(BASE_Y - share * PLOT_HEIGHT);
    return html`<line class="axis" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y}" y2="${y}"/><text x="${CHART.left - 8}" y="${y + 4}" text-anchor="end">${groupDigits(Math.round(top * share))}</text>
`;
  });
  return html`${lines}`;
}

/** A line at the start of the window, if that is within the months shown. */
function renderWindow({ window }: Report['timeline'], months: readonly Month[], step: number): Html {
  if (window.since === null) return html``;
  const at = months.findIndex((month) => month.month === window.since?.slice(0, 7));
  if (at < 0) return html``;
  const date = new Date(window.since);
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const x = round(CHART.left + (at + (date.getUTCDate() - 1) / length) * step);
  const anchor = x > CHART.width / 2 ? 'end' : 'start';
  return html`<line class="window" x1="${x}" x2="${x}" y1="${CHART.top - 8}" y2="${BASE_Y}"/><text class="window-label" x="${anchor === 'end' ? x - 6 : x + 6}" y="${CHART.top - 12}" text-anchor="${anchor}">V4's history from ${window.since.slice(0, 10)}</text>
`;
}

/** The next round number, where the axis ends. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value) ?? 10;
  return factor * power;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
