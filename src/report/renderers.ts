import type { RemapRow } from '../store/remap-rows.js';
import { streamJson } from '../text/rows.js';
import { renderHtml } from './render-html.js';
import { renderJunit } from './render-junit.js';
import { renderMarkdown } from './render-markdown.js';
import { renderNdjson } from './render-rows.js';
import type { Report } from './report-schema.js';

/** The input of renderers; `findings` reads them again at each call. */
export interface RenderSource {
  readonly report: Report;
  readonly findings: () => Iterable<RemapRow>;
}

/** The formats for files, by their option in camel case. */
export const RENDERERS = {
  json: ({ report }: RenderSource) => streamJson(report),
  ndjson: ({ findings }: RenderSource) => renderNdjson(findings()),
  markdown: ({ report }: RenderSource) => renderMarkdown(report),
  html: ({ report }: RenderSource) => renderHtml(report),
  junit: ({ report }: RenderSource) => renderJunit(report),
} as const satisfies Record<string, (source: RenderSource) => Iterable<string>>;

export type OutputFlag = keyof typeof RENDERERS;
