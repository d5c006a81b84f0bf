import { escapeJson } from '../text/escape.js';
import type { Report } from './schema.js';

/** The report as indented JSON. */
export function renderJson(report: Report): Iterable<string> {
  return [escapeJson(JSON.stringify(report, null, 2)), '\n'];
}
