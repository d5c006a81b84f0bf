import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { openFile } from '../support/file-job.js';
import { INVOICES, makeRemap, NEW, pairs, seeded } from '../support/remap.js';

const FILES = campaign({ small: 30, full: 150, soak: 8000 });
/** 1 to 50 map, each to an id that is a V3 id too; 51 to 60 have no twin. */
const remap = makeRemap([
  ...pairs(Array.from({ length: 50 }, (_, at) => [at + 1, ((at + 7) % 50) + 1])),
  ...Array.from({ length: 10 }, (_, at) => ({ v3: at + 51 })),
]);
const twinOf = (id: number) => (id <= 50 ? ((id + 6) % 50) + 1 : id);

const PATTERN = ['inv:{id}', '*/inv/{id}?*', '"é" {id}, {id}\\{*}', '{id}'];

/** A text with ids, and what it must become. */
function makeText(random: (max: number) => number): readonly [string, string] {
  const noise = ['', ' ', '"', 'é', '\\', ',', ';', '7', 'a/b', '""', '\t', '💶', '5 ', 'x7'];
  const some = () => Array.from({ length: random(4) }, () => noise[random(noise.length)]).join('');
  const [one, two, n] = [1 + random(60), 1 + random(60), random(99)];
  const both = one <= 50 && two <= 50;
  const make = (texts: (a: number, b: number) => string, isMapped: boolean): readonly [string, string] => [
    texts(one, two),
    isMapped ? texts(twinOf(one), twinOf(two)) : texts(one, two),
  ];
  const [head, tail] = [some(), some()];
  switch (random(8)) {
    case 0:
      return make((a) => `inv:${a}`, true);
    case 1:
      return make((a) => `${head}/inv/${a}?${tail}${n}`, true);
    case 2:
      return make((a, b) => `"é" ${a}, ${b}\\*`, both);
    case 3:
      return make(String, true);
    case 4:
      return make((a) => `inv:0${a}`, false);
    case 5:
      return make((a, b) => `/inv/${a}?/inv/${b}?`, false);
    case 6:
      return make((a) => `${head}inv: ${a}`, false);
    default:
      return [`${head}~`, `${head}~`];
  }
}

type Encode = (text: string) => string;

function makeCsv(random: (max: number) => number): { input: Buffer; expected: Buffer } {
  const encoding = random(3) === 0 ? 'latin1' : 'utf8';
  const eol = ['\n', '\r\n'][random(2)] ?? '\n';
  const cell =
    (isQuoted: boolean): Encode =>
    (text) =>
      isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
  const rows = Array.from({ length: 1 + random(40) }, (_, at) => {
    const [before, after] = makeText(random);
    const encode = cell(random(2) === 0 || /[",;\t]|^$/.test(before));
    return [before, after].map((text) => `${at},${encode(text)},note é 5`);
  });
  const file = (which: 0 | 1) =>
    Buffer.from(
      `n,c,note é${eol}${rows.map((row) => row[which] ?? '').join(eol)}`.replaceAll('💶', 'e'),
      encoding,
    );
  return { input: file(0), expected: file(1) };
}

/** JSON in a random spelling; both texts are spelled alike outside their ids. */
function makeNdjson(random: (max: number) => number): { input: Buffer; expected: Buffer } {
  const rows = Array.from({ length: 1 + random(40) }, () => {
    const pair = makeText(random);
    const spelling = random(3);
    const spell: Encode = (text) => {
      const plain = JSON.stringify(text);
      if (spelling === 0) return plain;
      const slashes = plain.replaceAll('/', '\\/');
      return spelling === 1 ? slashes : slashes.replaceAll('é', '\\u00E9').replaceAll('💶', '\\ud83d\\udcb6');
    };
    return pair.map(
      (text) => `{"x": 1.50, "c" : ${/^\d+$/.test(text) && spelling === 0 ? text : spell(text)}}`,
    );
  });
  const file = (which: 0 | 1) => Buffer.from(`${rows.map((row) => row[which] ?? '').join('\n')}\n`);
  return { input: file(0), expected: file(1) };
}

it.each([
  ['csv', makeCsv, 'c'],
  ['ndjson', makeNdjson, '$.c'],
] as const)(
  `%s: changes the ids in ${FILES} random files and no other byte, once, and takes them back`,
  async (kind, make, column) => {
    let changed = 0;
    const ids = [{ column, model: INVOICES, pattern: PATTERN }];
    for (let seed = 1; seed <= FILES; seed += 1) {
      const { input, expected } = make(seeded(seed));
      const place = openFile(remap, input, kind === 'csv' ? { ids, delimiter: ',' } : { ids }, kind);
      const store = place.open({ ...NEW, missing: 'keep-v3', unknown: 'keep' });
      for (const run of ['run-1', 'run-2', 'run-3']) {
        await place.write(run, store);
        const now = readFileSync(place.output);
        if (!now.equals(expected)) expect(`${seed} ${now}`).toBe(`${seed} ${expected}`);
      }
      expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
      await store.undo('run-1');
      expect([readFileSync(place.file).equals(input), existsSync(place.output)]).toEqual([true, false]);
      changed += input.equals(expected) ? 0 : 1;
    }
    expect(changed).toBeGreaterThan(0.8 * FILES);
  },
);
