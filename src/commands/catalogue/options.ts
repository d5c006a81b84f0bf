import * as z from '../../zod.js';
import {
  companyId,
  duration,
  flag,
  listenAddress,
  listOption,
  option,
  optionOr,
  output,
  text,
  waitDuration,
} from '../option.js';

/** Options of every command. */
export const COMMON_OPTIONS = z.object({
  config: option('<file>', 'configuration file (default: svc-migrate.config.jsonc, else .json)', text),
  db: option('<file>', 'database file; overrides the configuration', text),
  quiet: flag('print no progress; warnings and errors are still printed'),
  verbose: flag('print each list as it finishes, the causes of errors, and what summaries fold'),
  noColor: flag('print without color (also: NO_COLOR)'),
});

export const MODEL = {
  model: listOption('<model>', 'only this model, by its V3 path; repeatable', text),
};

export const COMPANY = { company: listOption('<id>', 'only this company; repeatable', companyId) };

export const RESTART = {
  restart: flag('read everything again instead of continuing or reading changes only'),
};

export const ALLOW_INCOMPLETE = {
  allowIncomplete: flag('use a remap of exports that were not read in full'),
};

export const FORCE = { force: flag('replace an existing file') };

export const MAX_WAIT = {
  maxWait: option(
    '<duration>',
    'longest wait to accept when the service asks for one, such as 90s; overrides http.maxWaitMs',
    waitDuration,
  ),
};

/** Options for waiting until the backfill has settled. */
export const WAITING = {
  wait: flag('wait until the backfill has settled before reading V4; exit 5 if it does not'),
  settle: optionOr('<duration>', 'how long all counts must stay the same', duration, '5m'),
  waitTimeout: optionOr('<duration>', 'longest time to wait', duration, '2h'),
  listen: option(
    '<[host:]port>',
    'receive webhook events at this address; they shorten or extend the wait',
    listenAddress,
  ),
};

/** The rules of `WAITING`. */
export const WAITING_NEEDS = [
  ['settle', 'wait'],
  ['waitTimeout', 'wait'],
  ['listen', 'wait'],
] as const;

/** Files to write reports to; the options have the names of the renderers. */
export const OUTPUTS = {
  json: output('report as JSON (- is stdout)'),
  ndjson: output('every finding, one JSON object per line'),
  markdown: output('report for pull requests and job summaries'),
  html: output('report as one HTML page that needs no other files'),
  junit: output('limits and lists as JUnit test cases'),
  fullSync: output('letter in Markdown that asks the operator to load what V4 did not'),
};

/** Options that switch off what `check`, `run` and `scan` do by themselves in a job of GitHub Actions. */
export const IN_ACTIONS = {
  noAnnotations: flag('in GitHub Actions: write no annotations'),
  noJobSummary: flag('in GitHub Actions: do not add the result to the job summary'),
  noJobOutputs: flag('in GitHub Actions: set no outputs (outcome, exit-code, counts)'),
};

/** Default sample size of `verify`: if none is wrong, fewer than 0.6 % are, with 95 % confidence. */
export const DEFAULT_SAMPLE = 500;
