import { z } from 'zod';
import { orMeant } from '../text/suggest.js';

/** An object without unknown keys; each unknown one gets its own line with a suggestion. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(key, known)).join('\n')
        : undefined,
  });
}

function unknownKey(key: string, known: readonly string[]): string {
  if (/^api_?key$/i.test(key)) {
    return 'is not a setting: keys are never written here; name a variable in apiKeyEnv or a file in apiKeyFile';
  }
  if (/^(?:url|uri|dsn|password|connection_?(?:string|url)?)$/i.test(key) && known.includes('urlEnv')) {
    return 'is not a setting: connection strings are never written here; name a variable in urlEnv or a file in urlFile';
  }
  return `is not a known setting${orMeant(key, known)}`;
}
