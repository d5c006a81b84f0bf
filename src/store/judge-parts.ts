import type { Fingerprint } from './fingerprint.js';
import { nameOfList } from './readiness.js';
import type { StreamRow } from './streams.js';

/** An export of some of the lists of one whole, as its database says. */
export interface Part {
  readonly file: string;
  readonly fingerprint: Fingerprint;
  readonly streams: readonly StreamRow[];
  /** V4's company list; null if this part did not read V4. */
  readonly v4Companies: readonly bigint[] | null;
  /** Whether the company list was read in full, or V4 has none. */
  readonly hasCompanyList: boolean;
}

/** What is wrong with the parts; all empty if they make one whole. */
export interface PartProblems {
  /** Exported with other settings, or read twice. */
  readonly conflicting: readonly string[];
  /** Not read, or not to the end. */
  readonly incomplete: readonly string[];
}

/** Settings that a part may lack: it then has none of these lists. */
const MAY_LACK = /^(?:v3\.regions|models|v4\.models)\./;

/** Whether an export of this list began. A narrowed export leaves the others as they are planned. */
export function isBegun({ state, pages }: StreamRow): boolean {
  return state !== 'running' || pages > 0;
}

/** Compares the parts with each other and with the settings of the whole. */
export function judgeParts(parts: readonly Part[], whole: Fingerprint): PartProblems {
  const lists = new Map<string, { readonly file: string; readonly stream: StreamRow }[]>();
  for (const { file, streams } of parts) {
    for (const stream of streams) {
      const key = `${stream.generation} ${stream.region} ${stream.model} ${stream.companyId}`;
      lists.set(key, [...(lists.get(key) ?? []), { file, stream }]);
    }
  }
  const conflicting = [...parts.flatMap((part) => settingProblems(part, whole)), ...companyProblems(parts)];
  const incomplete = parts
    .filter(({ hasCompanyList }) => !hasCompanyList)
    .map(({ file }) => `${file}: V4's company list was not read to the end`);
  for (const list of lists.values()) {
    const begun = list.filter(({ stream }) => isBegun(stream));
    const [first] = list;
    const name =
      first === undefined ? '' : `${first.stream.generation.toUpperCase()} ${nameOfList(first.stream)}`;
    if (begun.length === 0) incomplete.push(`no part has ${name}`);
    else if (begun.length > 1)
      conflicting.push(`${name} is in ${begun.map(({ file }) => file).join(' and ')}`);
    for (const { file, stream } of begun) {
      if (stream.state === 'running' || stream.state === 'failed')
        incomplete.push(`${file}: ${name} was not read to the end`);
    }
  }
  return { conflicting, incomplete };
}

function settingProblems({ file, fingerprint }: Part, whole: Fingerprint): string[] {
  return [...new Set([...Object.keys(fingerprint), ...Object.keys(whole)])].flatMap((name) => {
    const [own, other] = [fingerprint[name], whole[name]];
    if (own === other || (own === undefined && (MAY_LACK.test(name) || name.startsWith('v')))) return [];
    return [`${file} was exported with ${name} ${own ?? '(none)'}, not ${other ?? '(none)'}`];
  });
}

/** Every part that read V4 must have seen the same companies. */
function companyProblems(parts: readonly Part[]): string[] {
  const listed = parts.filter(({ v4Companies }) => v4Companies !== null);
  const [first, ...others] = listed;
  return others
    .filter(({ v4Companies }) => v4Companies?.join() !== first?.v4Companies?.join())
    .map(({ file }) => `V4 listed other companies for ${file} than for ${first?.file}`);
}
