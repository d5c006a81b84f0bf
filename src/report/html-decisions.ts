import { describeDecisions } from './describe-decisions.js';
import type { Section } from './html-sections.js';
import { html, htmlTable } from './html-template.js';
import type { Report } from './schema.js';

const SHOWN = 100;

/** The decisions that changed nothing, and how many did. */
export function decisionSection({ decisions }: Report): Section | null {
  if (decisions === null) return null;
  const [head = ''] = describeDecisions(decisions, 0);
  const rows = decisions.idle
    .slice(0, SHOWN)
    .map((one) => [
      String(one.line),
      one.path === '' ? one.model : `${one.model} ${one.path}`,
      one.v3_svc_id ?? 'none',
      one.v4_svc_id ?? 'none',
      one.text,
      one.note,
    ]);
  const columns = ['Line', 'Model', 'V3 id', 'V4 id', 'What became of it', 'Note'].map((title) => ({
    title,
  }));
  const table = rows.length === 0 ? null : htmlTable('Decisions that changed nothing.', columns, rows);
  return { id: 'decisions', title: 'Decisions', body: html`<p>${head}</p>${table}` };
}
