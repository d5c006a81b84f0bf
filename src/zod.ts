import { config, int } from 'zod';

export type { core, infer, input, output, ZodObject, ZodType } from 'zod';

// Compiling a validator takes longer than using it once, as a command does.
config({ jitless: true });

/** A member of every result in JSON. */
export const exitCodeSchema = int().describe('Exit code of the command.');

/*! The parts of zod in use (MIT License, copyright (c) 2025 Colin McDonnell). */
export {
  array,
  boolean,
  discriminatedUnion,
  enum,
  int,
  iso,
  literal,
  looseObject,
  NEVER,
  null,
  number,
  object,
  optional,
  partialRecord,
  prefault,
  record,
  registry,
  strictObject,
  string,
  toJSONSchema,
  tuple,
  union,
  unknown,
  ZodEnum,
  ZodError,
} from 'zod';
