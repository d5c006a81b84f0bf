import { escapeUnseen } from '../text/escape.js';
import { buildVerdict } from './build-verdict.js';
import type { Report } from './report-schema.js';

/** GitHub shows at most ten annotations of a step and kind. */
const MAX_ANNOTATIONS = 10;
const LEVELS = { pass: 'notice', fail: 'error', incomplete: 'warning', not_ready: 'warning' } as const;

/** The verdict and the first obstacles as annotations of GitHub Actions, one line each. */
export function renderAnnotations(report: Report): string {
  const { title, sentence, obstacles, next } = buildVerdict(report);
  const level = LEVELS[report.outcome];
  const lines = obstacles
    .slice(0, MAX_ANNOTATIONS - 1)
    .map(({ title: name, code, numbers, meaning, action }) =>
      renderAnnotation(
        level,
        code === null ? name : `${name} (${code})`,
        asSentences([numbers, meaning, action]),
      ),
    );
  return [renderAnnotation(level, title, `${sentence} Next: ${next}`), ...lines].join('');
}

function asSentences(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text) => text.replace(/\.?$/, '.'))
    .join(' ');
}

/** One annotation; nothing in the texts can begin another command of the runner. */
export function renderAnnotation(
  level: 'notice' | 'warning' | 'error',
  title: string,
  message: string,
): string {
  return `::${level} title=${escapeProperty(title)}::${escapeMessage(message)}\n`;
}

function escapeMessage(text: string): string {
  return escapeUnseen(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
