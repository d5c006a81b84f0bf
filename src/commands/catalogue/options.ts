import type { OptionSpec } from '../command.js';

/** Taken by every command. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { flags: '--config <file>', says: 'configuration file (default: svc-migrate.config.json)' },
  { flags: '--db <file>', says: 'database file; outranks the configuration' },
  { flags: '--quiet', says: 'print no progress; warnings and errors are still printed' },
  { flags: '--verbose', says: 'print each list as it finishes, and the causes of errors' },
  { flags: '--no-color', says: 'print without color (also: NO_COLOR)' },
];

export const MODEL: OptionSpec = {
  flags: '--model <model>',
  says: 'only this model, by its V3 path; repeatable',
  repeatable: true,
};

export const COMPANY: OptionSpec = {
  flags: '--company <id>',
  says: 'only this company; repeatable',
  repeatable: true,
};

export const RESTART: OptionSpec = {
  flags: '--restart',
  says: 'read everything again instead of continuing or reading changes only',
};

export const ALLOW_INCOMPLETE: OptionSpec = {
  flags: '--allow-incomplete',
  says: 'use a remap of exports that were not read in full',
};

export const MAX_WAIT: OptionSpec = {
  flags: '--max-wait <duration>',
  says: 'longest wait to accept when the service asks for one, such as 90s; outranks http.maxWaitMs',
};

/** Waiting for the backfill before V4 is read. */
export const WAITING: readonly OptionSpec[] = [
  { flags: '--wait', says: 'wait until the backfill has settled before reading V4; exit 5 if it does not' },
  { flags: '--settle <duration>', says: 'how long all counts must stay the same (default: 5m)' },
  { flags: '--wait-timeout <duration>', says: 'longest time to wait (default: 2h)' },
  {
    flags: '--listen <[host:]port>',
    says: 'receive webhook events at this address; they shorten or extend the wait',
  },
];

export const SINCE: OptionSpec = {
  flags: '--since <build>',
  says: 'show what changed since a build of the remap: its number, or previous',
};

export const ACCEPTED: OptionSpec = {
  flags: '--baseline <file>',
  says: 'accept the findings that this file names',
};

export const BASELINE: readonly OptionSpec[] = [
  ACCEPTED,
  { flags: '--write-baseline <file>', says: 'write a baseline of the findings over the limits' },
  { flags: '--expires <duration>', says: 'how long the written baseline is valid (default: 30d)' },
  { flags: '--force', says: 'replace an existing baseline' },
];

/** Where reports go; the names are those of the renderers. */
export const OUTPUTS: readonly OptionSpec[] = [
  { flags: '--json <file>', says: 'report as JSON (- is stdout)' },
  { flags: '--ndjson <file>', says: 'every finding, one JSON object per line' },
  { flags: '--markdown <file>', says: 'report for pull requests and job summaries' },
  { flags: '--html <file>', says: 'report as one HTML page that needs no other files' },
  { flags: '--junit <file>', says: 'limits and lists as JUnit test cases' },
  { flags: '--full-sync <file>', says: 'what to ask the operator for, as a letter in Markdown' },
  { flags: '--full-sync-csv <file>', says: 'the same as a table' },
];

/** Pairs that `verify` draws unless told: none wrong then means under 0.6 % with 95 % confidence. */
export const USUAL_SAMPLE = 500;
