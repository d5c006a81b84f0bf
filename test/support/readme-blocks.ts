import { z } from 'zod';
import { listSchemas } from '../../src/commands/reference.js';
import { configSchema } from '../../src/config/settings.js';
import { readTopic, TOPICS } from '../../src/docs/topics.js';
import { describeOutcome, reasonsOf, STATUSES } from '../../src/reasons.js';

/** The parts of the documentation that follow from the code or from another page, by the name in their marker comments. */
const BLOCKS: Readonly<Record<string, () => string>> = {
  configuration: () => renderTable(['setting', 'default', 'meaning'], listSettings('', schemaOf())),
  reasons: () => renderTable(['reason', 'status / reason', 'meaning', 'what to do'], listReasons()),
  topics: () =>
    TOPICS.filter(({ name }) => name !== 'commands')
      .map(({ name, summary }) => `- [\`${name}\`](src/docs/${name}.md): ${summary}\n`)
      .join(''),
  'exit-codes': () => firstTable('exit-codes'),
  start: () => firstCode('start'),
  schemas: () =>
    renderTable(
      ['schema', 'describes'],
      listSchemas().map(({ name, of }) => [`\`schema/${name}.schema.json\``, of]),
    ),
};

/** A page with every generated block as the code has it. */
export function withFreshBlocks(page: string): string {
  return page.replace(BLOCK, (whole, start: string, name: string, end: string) => {
    const render = BLOCKS[name];
    if (render === undefined) throw new Error(`nothing renders the block ${whole.slice(0, 80)}`);
    return `${start}${render()}${end}`;
  });
}

/** Names of the generated blocks in a page. */
export function blocksIn(page: string): string[] {
  return [...page.matchAll(BLOCK)].map(([, , name = '']) => name);
}

export const BLOCK_NAMES = Object.keys(BLOCKS);

const BLOCK = /(<!-- ([\w-]+): [^>]*-->\n\n)[\s\S]*?(\n<!-- \/\2 -->)/g;

function firstTable(topic: string): string {
  const [table] = /^\|.*(?:\n\|.*)*/m.exec(readTopic(topic) ?? '') ?? [];
  if (table === undefined) throw new Error(`${topic}.md has no table`);
  return `${table}\n`;
}

function firstCode(topic: string): string {
  const [code] = /^```[\s\S]*?\n```$/m.exec(readTopic(topic) ?? '') ?? [];
  if (code === undefined) throw new Error(`${topic}.md has no code`);
  return `${code}\n`;
}

interface JsonSchema {
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: JsonSchema | undefined;
  readonly additionalProperties?: JsonSchema | boolean | undefined;
  readonly const?: unknown;
  readonly oneOf?: readonly JsonSchema[] | undefined;
}

const jsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.object({
    description: z.string().optional(),
    default: z.unknown().optional(),
    properties: z.record(z.string(), jsonSchema).optional(),
    required: z.array(z.string()).optional(),
    items: jsonSchema.optional(),
    additionalProperties: z.union([z.boolean(), jsonSchema]).optional(),
    const: z.unknown().optional(),
    oneOf: z.array(jsonSchema).optional(),
  }),
);

function schemaOf(): JsonSchema {
  return jsonSchema.parse(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }));
}

/** Every setting with a description: path, default, description. */
function listSettings(path: string, schema: JsonSchema): string[][] {
  if (schema.oneOf !== undefined) return listKinds(path, schema.oneOf);
  return Object.entries(schema.properties ?? {}).flatMap(([name, own]) => {
    const here = path === '' ? name : `${path}.${name}`;
    const usual = schema.required?.includes(name) ? 'required' : renderDefault(own.default);
    const row = own.description === undefined ? [] : [[`\`${here}\``, usual, own.description]];
    const { additionalProperties: named } = own;
    const inner = [
      ...listSettings(here, own),
      ...(own.items === undefined ? [] : listSettings(`${here}[]`, own.items)),
      ...(typeof named === 'object' ? listSettings(`${here}.NAME`, named) : []),
    ];
    return [...row, ...inner];
  });
}

/** Settings of several kinds of one thing: each once, with the kinds that have it where not all do. */
function listKinds(path: string, kinds: readonly JsonSchema[]): string[][] {
  const rows = new Map<string, { row: string[]; of: string[] }>();
  for (const kind of kinds) {
    for (const row of listSettings(path, kind)) {
      const key = row.join('\n');
      const known = rows.get(key) ?? { row, of: [] };
      known.of.push(String(kind.properties?.['kind']?.const));
      rows.set(key, known);
    }
  }
  return [...rows.values()].map(({ row: [name = '', usual = '', summary = ''], of }) => [
    name,
    usual,
    of.length === kinds.length ? summary : `${of.join(', ')}: ${summary}`,
  ]);
}

function renderDefault(value: unknown): string {
  const text = JSON.stringify(value);
  return text === undefined || text === '{}' ? '' : `\`${text}\``;
}

function listReasons(): string[][] {
  return STATUSES.flatMap((status) =>
    reasonsOf(status).map((reason) => {
      const { title, meaning, action } = describeOutcome(status, reason);
      return [title, `\`${status}\` / \`${reason}\``, meaning, action];
    }),
  );
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escapeCell = (cell: string) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  const lines = rows.map((row) => `| ${row.map(escapeCell).join(' | ')} |`);
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...lines, ''].join('\n');
}
