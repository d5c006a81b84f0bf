import type { DoctorFacts } from './facts.js';
import { type Finding, sortFindings } from './finding.js';
import { judgeClocks, judgeEffort, judgeHosts } from './judge-hosts.js';
import { judgeBackfill, judgeConfig, judgeDatabase, judgeDisk, judgeProgram } from './judge-local.js';
import { judgePairs } from './judge-pairs.js';
import { judgePages, judgeSwitches } from './judge-parameters.js';
import { judgeV3Lists } from './judge-v3.js';
import { judgeHollow, judgeV4Models } from './judge-v4.js';

/** Everything that was found out, judged; pure. */
export function judgeFacts({ config, nowMs, local, remote }: DoctorFacts): readonly Finding[] {
  const { v4 } = remote;
  return sortFindings([
    ...judgeProgram(local),
    ...judgeEffort(remote),
    ...judgeConfig(config, local),
    ...judgeHosts(remote.hosts, config),
    ...judgeV3Lists(remote.v3),
    ...(v4 === null ? [] : [...judgeV4Models(v4, config), ...judgeHollow(v4, remote.v3)]),
    ...(v4?.switches == null || v4.asked.length === 0 ? [] : judgeSwitches(v4.switches, config)),
    ...judgePages(remote.pages),
    ...judgeClocks(remote.hosts),
    ...judgePairs(remote.preview, local.database),
    ...judgeBackfill(config, nowMs),
    ...judgeDisk(remote, local, config),
    ...judgeDatabase(local.database, config),
  ]);
}
