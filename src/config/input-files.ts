import { readFileSync } from 'node:fs';
import { sha256Of } from '../runtime/sha256.js';
import type { Config } from './config.js';

/** The settings that name files which a remap is built with, beside the database. */
export type InputSettings = Pick<Config, 'companies' | 'decisions'>;

/** The files that a remap is built with, beside the database, by the setting that names them. */
export function listInputFiles({ companies, decisions }: InputSettings): Readonly<Record<string, string>> {
  return {
    ...(typeof companies.match === 'string' ? {} : { 'companies.match.file': companies.match.file }),
    ...(decisions === null ? {} : { decisions }),
  };
}

/** sha256 of each of these files by its setting; '' where it cannot be read. */
export function digestInputFiles(settings: InputSettings): Readonly<Record<string, string>> {
  const files = Object.entries(listInputFiles(settings));
  return Object.fromEntries(files.map(([setting, file]) => [setting, digestFile(file)]));
}

function digestFile(file: string): string {
  try {
    return sha256Of(readFileSync(file));
  } catch {
    return '';
  }
}
