import type { OptionSpecs } from '../command.js';

/** Options of every command. */
export const COMMON_OPTIONS: OptionSpecs = {
  '--config <file>': 'configuration file (default: svc-migrate.config.jsonc, else .json)',
  '--db <file>': 'database file; overrides the configuration',
  '--quiet': 'print no progress; warnings and errors are still printed',
  '--verbose': 'print each list as it finishes, and the causes of errors',
  '--no-color': 'print without color (also: NO_COLOR)',
};

export const MODEL: OptionSpecs = {
  '--model <model>': { summary: 'only this model, by its V3 path; repeatable', repeatable: true },
};

export const COMPANY: OptionSpecs = {
  '--company <id>': { summary: 'only this company; repeatable', repeatable: true },
};

export const RESTART: OptionSpecs = {
  '--restart': 'read everything again instead of continuing or reading changes only',
};

export const ALLOW_INCOMPLETE: OptionSpecs = {
  '--allow-incomplete': 'use a remap of exports that were not read in full',
};

export const MAX_WAIT: OptionSpecs = {
  '--max-wait <duration>':
    'longest wait to accept when the service asks for one, such as 90s; overrides http.maxWaitMs',
};

/** Options for waiting until the backfill has settled. */
export const WAITING: OptionSpecs = {
  '--wait': 'wait until the backfill has settled before reading V4; exit 5 if it does not',
  '--settle <duration>': 'how long all counts must stay the same (default: 5m)',
  '--wait-timeout <duration>': 'longest time to wait (default: 2h)',
  '--listen <[host:]port>': 'receive webhook events at this address; they shorten or extend the wait',
};

export const SINCE: OptionSpecs = {
  '--since <build>': 'show what changed since an earlier build of the remap: its number, or previous',
};

/** Files to write reports to; the options have the names of the renderers. */
export const OUTPUTS: OptionSpecs = {
  '--json <file>': 'report as JSON (- is stdout)',
  '--ndjson <file>': 'every finding, one JSON object per line',
  '--markdown <file>': 'report for pull requests and job summaries',
  '--html <file>': 'report as one HTML page that needs no other files',
  '--junit <file>': 'limits and lists as JUnit test cases',
  '--full-sync <file>': 'letter in Markdown that asks the operator to load what V4 did not',
  '--full-sync-csv <file>': 'the records that this letter asks for, as CSV',
};

/** Options that switch off what `check` and `run` do by themselves in a job of GitHub Actions. */
export const IN_ACTIONS: OptionSpecs = {
  '--no-annotations': 'in GitHub Actions: write no annotations',
  '--no-job-summary': 'in GitHub Actions: do not add the report to the job summary',
  '--no-job-outputs': 'in GitHub Actions: set no outputs (outcome, exit-code, counts)',
};

/** Default sample size of `verify`: if none is wrong, fewer than 0.6 % are, with 95 % confidence. */
export const DEFAULT_SAMPLE = 500;
