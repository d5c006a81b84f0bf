export type { core, infer, output, ZodType } from 'zod';
/*!
 * The parts of zod in use (MIT License, copyright (c) 2025 Colin McDonnell). The build makes one file of them: every
 * command and every thread loads it, and zod's own hundred files take longer to load than many a command works.
 */
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
  partialRecord,
  record,
  strictObject,
  string,
  toJSONSchema,
  tuple,
  union,
  unknown,
  ZodError,
} from 'zod';
