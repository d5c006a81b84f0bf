import { describe, expect, it } from 'vitest';
import { assertListsExist } from '../../src/commands/described-lists.js';
import { configOf, modelOf } from '../support/exported.js';

const CONFIG = configOf({ regions: ['eu', 'us'], models: [modelOf('crm/stages'), modelOf('crm/companies')] });

/** The error of V3 lists written as `region/model state`; null if there is none. */
function errorOf(...lists: readonly string[]): string | null {
  const streams = lists.map((list) => {
    const [region = '', model = '', state = ''] = list.split(/[: ]/);
    if (state !== 'absent' && state !== 'complete') throw new Error(state);
    return { generation: 'v3', region, model, state } as const;
  });
  try {
    assertListsExist('v3', streams, CONFIG);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('V3 lists that answer 404', () => {
  const EU = ['eu:crm/stages absent', 'eu:crm/companies absent'];
  it('are an error where a whole region has none', () => {
    expect(errorOf(...EU, 'us:crm/stages complete', 'us:crm/companies complete')).toMatch(
      /^V3 in region eu has none of the configured lists: /,
    );
  });
  it('are an error where no region has any', () => {
    expect(errorOf(...EU, 'us:crm/stages absent', 'us:crm/companies absent')).toMatch(
      /^V3 has none of the configured lists: /,
    );
  });
  it.each([
    ['a model is absent in one region', ['eu:crm/stages absent', 'eu:crm/companies complete']],
    ['only that model was asked for', ['eu:crm/stages absent', 'us:crm/stages complete']],
  ])('are none where %s', (_, lists) => {
    expect(errorOf(...lists)).toBeNull();
  });
});
