import { escapeUnseen } from '../text/escape.js';
import type { ScanReport } from './scan-report.js';
import type { Certainty } from './scan-settings.js';

const COMMANDS: Readonly<Record<Certainty, string>> = { certain: 'error', likely: 'warning', look: 'notice' };

/** Workflow commands of GitHub Actions, one a line, which show findings beside the code. */
export function renderAnnotations({ findings }: ScanReport): string {
  return findings
    .map(({ file, line, column, certainty, rule, message, v4 }) => {
      const place = `file=${property(file)},line=${line},col=${column},title=${property(`svc-migrate ${rule}`)}`;
      return `::${COMMANDS[certainty]} ${place}::${data(`${message} V4: ${v4}`)}\n`;
    })
    .join('');
}

function data(text: string): string {
  return escapeUnseen(text).replaceAll('%', '%25');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
