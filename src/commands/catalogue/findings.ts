import type { CommandSpec } from '../command.js';
import { COMPANY, countOption, MODEL, narrowed } from './options.js';

export const FINDINGS: CommandSpec = {
  name: 'findings',
  says: 'list what is not matched, and draft files to settle it',
  more: 'Uses the last finished remap. Every line of a draft is commented out, so it settles nothing until you edit it.',
  options: [
    MODEL,
    COMPANY,
    {
      flags: '--reason <reason>',
      says: 'only this reason, including its parent_ form for children; repeatable',
      repeatable: true,
    },
    { flags: '--status <status>', says: 'only this status; repeatable', repeatable: true },
    {
      flags: '--limit <n>',
      says: 'how many findings to list, 0 for all (default: 50; files always contain all)',
    },
    { flags: '--json <file>', says: 'write the findings as NDJSON, one per line (- is stdout)' },
    {
      flags: '--write-decisions <file>',
      says: 'write a draft of decisions.csv with the candidates of each open V3 id',
    },
    {
      flags: '--write-companies <file>',
      says: 'write a draft of companies.csv with the candidates of each company',
    },
    { flags: '--force', says: 'replace an existing draft' },
  ],
  examples: [
    { line: 'svc-migrate findings --status ambiguous', does: 'list what only a person can settle' },
    { line: 'svc-migrate findings --reason key_changed --json -', does: 'for a script' },
    {
      line: 'svc-migrate findings --write-decisions decisions-draft.csv',
      does: 'draft the file in which to settle them',
    },
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
