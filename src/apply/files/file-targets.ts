import type { FileTarget } from '../../config/apply-targets.js';
import type { OnProgress } from '../../domain.js';
import { SvcError } from '../../errors.js';
import type { RemapIds } from '../remap-ids.js';
import type { OutcomeCount } from '../tally.js';

export interface FilePlan {
  readonly rows: number;
  readonly columns: readonly {
    readonly column: string;
    readonly model: string;
    readonly counts: readonly OutcomeCount[];
  }[];
}

export interface WrittenFile extends FilePlan {
  readonly output: string;
}

export interface CheckedFile {
  readonly output: string;
  readonly exists: boolean;
  readonly checked: number;
  readonly wrongCount: number;
  readonly wrong: readonly string[];
  readonly missing: number;
}

export async function planFile(
  target: FileTarget,
  _remap: RemapIds,
  _onProgress: OnProgress,
): Promise<FilePlan> {
  throw unsupported(target);
}

export async function writeFile(
  target: FileTarget,
  _remap: RemapIds,
  _options: { readonly partial: boolean; readonly onProgress: OnProgress },
): Promise<WrittenFile> {
  throw unsupported(target);
}

export async function checkFile(
  target: FileTarget,
  _remap: RemapIds,
  _onProgress: OnProgress,
): Promise<CheckedFile> {
  throw unsupported(target);
}

export async function undoFile(
  target: FileTarget,
): Promise<{ readonly output: string; readonly removed: boolean }> {
  throw unsupported(target);
}

function unsupported({ file }: FileTarget): SvcError {
  return new SvcError('usage', `${file}: files of this kind are not supported yet.`);
}
