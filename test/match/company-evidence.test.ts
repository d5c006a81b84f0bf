import { expect, test } from 'vitest';
import { readCompanyEvidence } from '../../src/match/company-evidence.js';
import { ExportedPart, type KeyedRecords } from '../../src/match/exported-parts.js';

const NONE = { pairedId: null, matchedBy: 'none' } as const;

test('the fields of each record are read once where all companies use the same key', () => {
  const ids = [...Array(30).keys()];
  const company = (id: number) => ({
    id,
    region: '',
    companyId: BigInt(id),
    scopeFull: true,
    keys: 0,
    ...NONE,
  });
  const parts = ([3, 4] as const).flatMap((generation) =>
    ids.map((id) => Object.assign(new ExportedPart(id, generation, '', `${id}`), { company: id })),
  );
  const reads: number[] = [];
  const keyed: Pick<KeyedRecords, 'forEachKey' | 'partOf' | 'digestOf' | 'readFieldDigests'> = {
    forEachKey: (onKey) => onKey([...parts.keys()]),
    partOf: (record) => parts[record],
    digestOf: () => 0,
    readFieldDigests: (record) => {
      reads.push(record);
      return String.fromCharCode(1, record % 30);
    },
  };
  const companies = { v3: ids.map(company), v4: ids.map(company) };
  const { evidence } = readCompanyEvidence(companies, keyed as KeyedRecords);
  expect([evidence.length, evidence.filter(({ agreeing }) => agreeing === 1).length]).toEqual([900, 30]);
  expect(reads.sort((a, b) => a - b)).toEqual([...parts.keys()]);
});
