import { groupDigits } from '../text/numbers.js';
import { type Html, html } from './html.js';
import type { Report } from './report-schema.js';

type Timeline = Report['timeline'];
type Month = Timeline['months'][number];

const CHART = { width: 560, height: 250, left: 52, right: 8, top: 34, bottom: 30 };
const BASE_Y = CHART.height - CHART.bottom;
const PLOT_HEIGHT = BASE_Y - CHART.top;
const PLOT_WIDTH = CHART.width - CHART.left - CHART.right;
const MAX_LABELS = 6;

const PARTS = [
  { name: 'matched', title: 'matched' },
  { name: 'other', title: 'deleted or ambiguous' },
  { name: 'unmatched', title: 'unmatched' },
] as const;

export function renderAgeChart(timeline: Timeline): Html {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  const step = PLOT_WIDTH / months.length;
  const top = roundUp(
    Math.max(...months.map(({ matched, unmatched, other }) => matched + unmatched + other)),
  );
  const bars = months.map((month, index) => renderMonth(month, CHART.left + index * step, step, top));
  const every = Math.ceil(months.length / MAX_LABELS);
  const labels = months.map((month, index) =>
    index % every === 0
      ? html`<text x="${round(CHART.left + (index + 0.5) * step)}" y="${BASE_Y + 20}" text-anchor="middle">${month.month.replace('before ', '< ').replace('after ', '> ')}</text>`
      : html``,
  );
  const key = PARTS.map(({ name, title }) => html`<li><span class="swatch s-${name}"></span>${title}</li>`);
  return html`<ul class="key">${key}<li><span class="swatch s-window"></span>V4's history</li></ul>
<svg class="chart" viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="V3 records by month and V4's history; the table below has the numbers.">
${renderWindow(timeline, months, step)}${renderAxis(top)}${bars}${labels}</svg>
`;
}

function renderMonth(month: Month, x: number, step: number, top: number): Html {
  const gap = Math.min(4, step * 0.15);
  let y = BASE_Y;
  const parts = PARTS.map(({ name }) => {
    const height = month[name] === 0 ? 0 : Math.max(2, (month[name] / top) * PLOT_HEIGHT);
    y -= height;
    return height === 0
      ? html``
      : html`<rect x="${round(x + gap / 2)}" y="${round(y)}" width="${round(step - gap)}" height="${round(height)}" class="s-${name}"/>`;
  });
  const numbers = PARTS.map(({ name, title }) => `${groupDigits(month[name])} ${title}`).join(', ');
  return html`<g><title>${month.month}: ${numbers}</title>${parts}</g>
`;
}

function renderAxis(top: number): Html {
  const lines = [0, 0.5, 1].map((share) => {
    const y = round(BASE_Y - share * PLOT_HEIGHT);
    const label = share === 0.5 && top % 2 === 1 ? '' : groupDigits(top * share);
    return html`<line class="axis" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y}" y2="${y}"/><text x="${CHART.left - 6}" y="${y + 5}" text-anchor="end">${label}</text>
`;
  });
  return html`${lines}`;
}

/** The time that V4's history covers, from the start that is configured, or else from the earliest that was inferred. */
function renderWindow({ window }: Timeline, months: readonly Month[], step: number): Html {
  const since = window.since ?? window.earliest;
  if (since === null) return html``;
  const index = months.findIndex(({ month }) => month === since.slice(0, 7));
  const isBefore = since.slice(0, 7) < (months.find(({ month }) => !month.startsWith('before'))?.month ?? '');
  if (index < 0 && !isBefore) return html``;
  const day = Number(since.slice(8, 10));
  const x = index < 0 ? CHART.left : round(CHART.left + (index + (day - 1) / 31) * step);
  const right = CHART.width - CHART.right;
  const isLate = x > CHART.left + PLOT_WIDTH / 2;
  return html`<rect class="s-window" x="${x}" y="${CHART.top - 6}" width="${round(right - x)}" height="${PLOT_HEIGHT + 6}"/><line class="start" x1="${x}" x2="${x}" y1="${CHART.top - 6}" y2="${BASE_Y}"/><text class="start-label" x="${isLate ? right : x}" y="${CHART.top - 13}" text-anchor="${isLate ? 'end' : 'start'}">V4's history from ${since.slice(0, 10)}</text>
`;
}

/** The next round number, where the axis ends. */
function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 3, 4, 5, 6, 8, 10].find((candidate) => candidate * power >= value) ?? 10;
  return factor * power;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
