import * as z from '../zod.js';

/** Values in the schemas of all structured outputs. */
export const count = z.int().nonnegative();
export const id = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A 64-bit integer as digits.');
export const nullableId = id.nullable();
export const time = z.string().describe('ISO 8601, UTC.');
