import type { CommandSpec } from '../command.js';
import { COMPANY, countOption, MODEL, narrowed } from './options.js';

export const FINDINGS: CommandSpec = {
  name: 'findings',
  says: 'list what is not matched, and draft the files that settle it',
  more: 'Answers from the last finished remap. A draft is commented out: it settles nothing until you edit it.',
  options: [
    MODEL,
    COMPANY,
    {
      flags: '--reason <reason>',
      says: 'only this reason, with the parent_ form that children carry; repeatable',
      repeatable: true,
    },
    { flags: '--status <status>', says: 'only this status; repeatable', repeatable: true },
    { flags: '--limit <n>', says: 'how many to list; 0 is all (default: 50; files hold all)' },
    { flags: '--json <file>', says: 'the findings as NDJSON, one a line (- is stdout)' },
    {
      flags: '--write-decisions <file>',
      says: 'draft decisions.csv, with the candidates of each open V3 id',
    },
    { flags: '--write-companies <file>', says: 'draft companies.csv, with the candidates of each company' },
    { flags: '--force', says: 'replace a draft that is there' },
  ],
  examples: [
    { line: 'svc-migrate findings --status ambiguous', does: 'what nothing but a person can settle' },
    { line: 'svc-migrate findings --reason key_changed --json -', does: 'for a script' },
    { line: 'svc-migrate findings --write-decisions decisions-draft.csv', does: 'a file to settle them in' },
  ],
  run: async (given, io) => {
    const { runFindings } = await import('../findings.js');
    return runFindings(
      {
        ...(await narrowed(given)),
        reasons: given.texts('reason'),
        statuses: given.texts('status'),
        limit: countOption(given, 'limit'),
        json: given.text('json'),
        writeDecisions: given.text('writeDecisions'),
        writeCompanies: given.text('writeCompanies'),
        force: given.isSet('force'),
      },
      io,
    );
  },
};
