import { type Finding, sortFindings } from './doctor-finding.js';
import { judgeClocks, judgeHosts, judgePages, judgePairs, judgeParameters } from './judge-apis.js';
import { judgeEmptyModels, judgeV3Lists, judgeV4Models } from './judge-lists.js';
import {
  judgeBackfill,
  judgeConfig,
  judgeDatabase,
  judgeDisk,
  judgeProgram,
  judgeTargets,
} from './judge-local.js';
import type { DoctorFacts } from './probe-results.js';

/** Every check: a function from facts to findings. */
const CHECKS: readonly ((facts: DoctorFacts) => Iterable<Finding>)[] = [
  ({ local }) => judgeProgram(local),
  ({ config, local }) => judgeConfig(config, local),
  ({ config, remote }) => judgeHosts(remote, config),
  ({ remote }) => judgeV3Lists(remote.v3, remote.v3Addresses),
  ({ config, remote: { v4 } }) => (v4 === null ? [] : judgeV4Models(v4, config)),
  ({ remote: { v3, v4 } }) => (v4 === null ? [] : judgeEmptyModels(v4, v3)),
  ({ config, remote: { v4 } }) => (v4?.asked.length ? judgeParameters(v4.parameters, config) : []),
  ({ remote }) => judgePages(remote.pages),
  ({ remote }) => judgeClocks(remote.hosts),
  ({ remote, local }) => judgePairs(remote.preview, local.database),
  ({ config, nowMs }) => judgeBackfill(config, nowMs),
  ({ config, local, remote }) => judgeDisk(remote, local, config),
  ({ config, local }) => judgeDatabase(local.database, config),
  ({ local }) => judgeTargets(local),
];

/** Runs every check. */
export function judgeFacts(facts: DoctorFacts): readonly Finding[] {
  return sortFindings(CHECKS.flatMap((check) => [...check(facts)]));
}
