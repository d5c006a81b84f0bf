import { type ModelPair, parseId } from '../domain.js';
import { orMeant } from '../text/suggest.js';
import type { Config } from './config.js';
import { type CsvFormat, parseCsv, readCsvFile } from './csv-file.js';

/** A person's decision about one V3 id, or about a V4 id that has no V3 record. */
export interface Decision {
  /** Of the file, from 1. */
  readonly line: number;
  readonly model: string;
  /** '' for records, else the children's field. */
  readonly path: string;
  readonly region: string;
  readonly v3CompanyId: bigint;
  /** null: the V4 id has no V3 record. Never null together with `v4SvcId`. */
  readonly v3SvcId: bigint | null;
  /** null: the V3 id became nothing. */
  readonly v4SvcId: bigint | null;
  readonly note: string;
}

/** What the lines of a file may name. */
export interface DecisionPlaces {
  readonly models: readonly Pick<ModelPair, 'v3' | 'children'>[];
  readonly regions: readonly string[];
}

export const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note';

/** In the place of a V4 id: nobody has decided yet. */
const UNDECIDED = '?';

/**
 * The decisions in `decisions.csv`; none where the configuration names no such file.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readDecisionsFile({
  decisions: file,
  models,
  v3,
}: Pick<Config, 'decisions' | 'models' | 'v3'>): Decision[] {
  if (file === null) return [];
  return readCsvFile(file, formatOf({ models, regions: v3.regions.map(({ region }) => region) }));
}

/** The decisions of a file's text, and what is wrong with it by line. */
export function parseDecisions(
  text: string,
  places: DecisionPlaces,
): { readonly decisions: Decision[]; readonly problems: string[] } {
  const { rows, problems } = parseCsv(text, formatOf(places));
  return { decisions: rows, problems };
}

function formatOf(places: DecisionPlaces): CsvFormat<Decision> {
  return {
    what: 'decisions file',
    setting: 'decisions',
    header: DECISIONS_HEADER,
    verb: 'decided',
    unique: 'V3 id and each V4 id',
    parseRow: (cells, line) => parseDecision(line, cells, places),
    // V3 ids are unique in a model and region, V4 ids at least in a company's model.
    namesOf: ({ model, path, region, v3CompanyId, v3SvcId, v4SvcId }) => [
      ...(v3SvcId === null ? [] : [nameOf(`V3 id ${v3SvcId}`, model, path, region)]),
      ...(v4SvcId === null ? [] : [nameOf(`V4 id ${v4SvcId}`, model, path, region, String(v3CompanyId))]),
    ],
  };
}

function nameOf(name: string, ...scope: readonly string[]) {
  return { name, key: [name, ...scope].join('\0') };
}

/** The line's decision, or what is wrong with it. The note may be left out. */
function parseDecision(
  line: number,
  cells: readonly string[],
  { models, regions }: DecisionPlaces,
): Decision | string {
  const [model = '', path = '', region = '', company = '', v3 = '', v4 = '', note = '', ...more] = cells;
  if (cells.length < 6 || more.some((cell) => cell !== '')) return 'needs seven values';
  const known = models.map((pair) => pair.v3);
  const children = models.find((pair) => pair.v3 === model)?.children;
  if (children === undefined) return `"${model}" is not a configured model${orMeant(model, known)}`;
  if (path !== '' && !children.includes(path)) {
    return `"${path}" is not a field with children of ${model}${orMeant(path, children)}`;
  }
  if (!regions.includes(region)) return `"${region}" is not a configured region${orMeant(region, regions)}`;
  const v3CompanyId = parseId(company);
  if (v3CompanyId === null) return `v3_company_id "${company}" is not an id`;
  if (v3 === UNDECIDED || v4 === UNDECIDED) {
    return `"${UNDECIDED}" is not a decision: write the id, leave it empty for none, or begin the line with #`;
  }
  if (v3 === '' && v4 === '') return 'names neither a V3 id nor a V4 id';
  const v3SvcId = v3 === '' ? null : parseSvcId(v3);
  const v4SvcId = v4 === '' ? null : parseSvcId(v4);
  if (v3SvcId === undefined) return `v3_svc_id "${v3}" is not an id`;
  if (v4SvcId === undefined) return `v4_svc_id "${v4}" is not an id`;
  return { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId, note };
}

/** An id in its one spelling: `007` and `+7` are none; undefined where the text is no 64-bit id. */
function parseSvcId(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return undefined;
  const id = BigInt(text);
  return BigInt.asIntN(64, id) === id ? id : undefined;
}
