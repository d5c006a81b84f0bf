import { z } from 'zod';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

const REMAP_INPUTS = 'remap_inputs';
const inputsSchema = z.record(z.string(), z.string());

/** Keeps which files the remap was built with: their sha256 by the setting that names them. */
export function writeRemapInputs(db: Db, digests: Readonly<Record<string, string>>): void {
  writeMeta(db, REMAP_INPUTS, JSON.stringify(digests));
}

/** The files that the last remap was built with. */
export function readRemapInputs(db: Db): Readonly<Record<string, string>> {
  return inputsSchema.parse(JSON.parse(readMeta(db, REMAP_INPUTS) ?? '{}'));
}
