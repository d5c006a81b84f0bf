import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { rowsOf } from '../support/table.js';
import { sampleConfig } from './sample.js';

const ids = [{ column: 'invoice_id', model: 'accounting/invoices' }];
const csv = { name: 'orders', kind: 'csv', file: 'data/orders.csv', ids };
const sqlite = { name: 'shop', kind: 'sqlite', file: 'shop.db', table: 'orders', ids };
const postgres = { name: 'app', kind: 'postgres', urlEnv: 'DATABASE_URL', table: 'orders', ids };

function problemsOf(...targets: readonly object[]): string {
  try {
    sampleConfig({ apply: { targets } });
  } catch (error) {
    if (error instanceof SvcError && error.code === 'config') return error.message;
    throw error;
  }
  return 'no problem';
}

describe('targets of apply', () => {
  it('are relative to the configuration', () => {
    const { apply } = sampleConfig({
      apply: { targets: [csv, sqlite, postgres] },
    });
    expect(apply.targets).toMatchObject([
      { file: '/project/data/orders.csv', delimiter: 'auto', header: true },
      { file: '/project/shop.db' },
      { ledgerSchema: 'svc_migrate' },
    ]);
  });

  const cases = rowsOf(`
    an unknown kind | csv | {"kind":"xlsx"} | .kind must be "csv", "ndjson", "sqlite", "postgres" or "mysql"
    a mistyped setting | csv | {"delimeter":";"} | .delimeter is not a known setting; did you mean "delimiter"?
    a connection string | postgres | {"url":"postgres://u:canary@h/d"} | .url is not a setting: connection strings are
      never written here; name a variable in urlEnv
    a model that is not configured | csv | {"ids":[{"column":"a","model":"accounting/invoice"}]} | .ids[0].model is
      accounting/invoice, which is not a configured model; did you mean "accounting/invoices"?
    a field without children | csv | {"ids":[{"column":"a","model":"accounting/invoices#line_item"}]} | .ids[0].model
      names "line_item", which is not a field with children of accounting/invoices; did you mean "line_items"?
    a word for a model that is not configured | csv |
      {"ids":[{"column":"a","modelColumn":"kind","models":{"invoice":"crm/invoices"}}]} | .ids[0].models.invoice is
      crm/invoices, which is not a configured model
    a region that is not configured | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","region":"defualt"}]} | .ids[0].region is not a
      configured region; did you mean "default"?
    neither model nor modelColumn | csv | {"ids":[{"column":"a"}]} | .ids[0] needs either model or modelColumn
    a column twice | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices"},{"column":"invoice_id","model":"accounting/invoices#line_items"}]}
      | .ids has invoice_id and invoice_id, which can be the same value: name it once
    two paths to one value | sqlite |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","path":"$.*.id"},{"column":"invoice_id","model":"accounting/invoices","path":"$.a.id"}]}
      | .ids has invoice_id $.*.id and invoice_id $.a.id, which can be the same value: name it once
    two paths of a file to one value | csv |
      {"kind":"ndjson","ids":[{"column":"$.id","model":"accounting/invoices"},{"column":"id","model":"accounting/invoices"}]}
      | .ids has $.id and id, which can be the same value: name it once
    two new columns for one | sqlite |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","path":"$.a","newColumn":"a"},{"column":"invoice_id","model":"accounting/invoices","path":"$.b","newColumn":"b"}]}
      | .ids has several new columns for invoice_id: name only one, which holds all its paths
    a path that is none | sqlite | {"ids":[{"column":"invoice_id","model":"accounting/invoices","path":"$.a."}]} |
      .ids has "$.a.", which is not a JSON path such as "$.invoice.id" or "$.ids[*]"
    a path in a file that is none | csv |
      {"kind":"ndjson","ids":[{"column":"invoice_id","model":"accounting/invoices","companyColumn":"$..company"}]} |
      .ids has "$..company", which is not a JSON path such as "$.invoice.id" or "$.ids[*]"
    a pattern without an id | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","pattern":["invoice:{id}","invoice:"]}]} |
      .ids[0].pattern "invoice:" names no id: write {id} where it stands
    a pattern twice | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","pattern":["a{id}","a{id}"]}]} | .ids[0].pattern
      names a pattern twice
    no pattern | csv | {"ids":[{"column":"invoice_id","model":"accounting/invoices","pattern":5}]} | .ids[0].pattern
      must be a pattern or a list of patterns
    a model that no pattern uses | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","pattern":"{accounting/invoices}:"}]} | .ids[0] has
      a model, but no pattern with {id}
    a pattern without its model | csv | {"ids":[{"column":"a","pattern":"{id}:{accounting/invoices}"}]} | .ids[0]
      needs either model or modelColumn
    a model in a pattern that is not configured | csv | {"ids":[{"column":"a","pattern":"{accounting/invoice}:"}]} |
      .ids[0].pattern is accounting/invoice, which is not a configured model; did you mean "accounting/invoices"?
    a new column in a file | csv | {"ids":[{"column":"invoice_id","model":"accounting/invoices","newColumn":"b"}]} |
      .ids[0].newColumn has no meaning in a csv file: leave it out
    a column for platform_ids in a file | csv |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","platformIdColumn":"b"}]} |
      .ids[0].platformIdColumn is supported for tables of databases that apply connects to only
    a column for platform_ids of cells with more than an id | sqlite |
      {"ids":[{"column":"invoice_id","model":"accounting/invoices","pattern":"a:{id}","platformIdColumn":"b"}]} |
      .ids[0] has a platformIdColumn, which needs cells that are one id
  `);
  it.each(cases)('%s is a problem with its place', (_, base, changes = '', says = '') => {
    const target = { csv, sqlite, postgres }[base ?? ''];
    expect(problemsOf({ ...target, ...JSON.parse(changes) })).toContain(`apply.targets[0]${says}`);
  });

  it('names what is missing', () => {
    expect(problemsOf({ ...postgres, urlEnv: undefined })).toContain('apply.targets[0].urlEnv is missing');
  });

  it('names an unknown model of one beside a mistake in another', () => {
    const unknown = { ...csv, ids: [{ column: 'invoice_id', model: 'accounting/nope' }] };
    const problems = problemsOf(unknown, { ...postgres, urlEnv: undefined });
    expect(problems).toContain('apply.targets[0].ids[0].model is accounting/nope, which is not');
    expect(problems).toContain('apply.targets[1].urlEnv is missing');
  });

  it('may not share a name, which is said beside other mistakes, also of the same targets', () => {
    const problems = problemsOf(sqlite, { ...csv, name: 'shop', file: 5 });
    expect(problems).toContain('apply.targets[1].name uses the name "shop" twice');
    expect(problems).toContain('apply.targets[1].file must be');
    expect(problemsOf(csv, sqlite, { ...csv, name: 'shop', file: 'other.csv' })).toContain(
      'uses the name "shop" twice',
    );
  });
});
