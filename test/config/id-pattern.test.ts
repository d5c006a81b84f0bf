import { describe, expect, it } from 'vitest';
import { parseIdPattern } from '../../src/config/apply-targets.js';

const text = (given: string) => ({ kind: 'text', text: given });
const id = (model: string | null = null) => ({ kind: 'id', model });
const any = { kind: 'any' };

describe('patterns', () => {
  it.each([
    ['invoice:{id}', [text('invoice:'), id()]],
    ['{id}', [id()]],
    ['{accounting/invoices}:{crm/companies}', [id('accounting/invoices'), text(':'), id('crm/companies')]],
    ['{accounting/invoices#line_items}', [id('accounting/invoices#line_items')]],
    ['…/invoices/{id}?*', [any, text('/invoices/'), id(), text('?'), any]],
    ['**{id}…*', [any, id(), any]],
    ['{{"n":{id}}}', [text('{"n":'), id(), text('}')]],
    ['a{*}b{…}c {id}', [text('a*b…c '), id()]],
  ])('%s has these parts', (pattern, parts) => {
    expect(parseIdPattern(pattern)).toEqual(parts);
  });

  it.each([
    ['invoice:', 'names no id'],
    ['*', 'names no id'],
    ['{id}{accounting/invoices}', 'two ids with nothing between'],
    ['v1{id}', 'a digit beside an id'],
    ['{id}0', 'a digit beside an id'],
    ['{invoices}:', 'has {invoices}: write {id}, or a V3 model'],
    ['{}', 'has {}'],
    ['{ id }', 'has { id }'],
    ['a{id', 'a single "{"'],
    ['a}{id}', 'a single "}"'],
  ])('%s is refused: %s', (pattern, problem) => {
    expect(parseIdPattern(pattern)).toContain(problem);
  });
});
