import type { ModelPair } from '../domain.js';
import { orMeant } from '../text/suggest.js';
import type { ApplyTarget, IdColumn } from './apply-targets.js';
import { parseModelRef } from './model-ref.js';
import type { Problem } from './problems.js';

/** What targets may refer to; undefined where that part of the configuration is wrong itself. */
export interface Known {
  readonly models: readonly ModelPair[] | undefined;
  readonly regions: readonly string[] | undefined;
}

/** What is wrong with targets beyond their own form: models and regions that are not there, files named twice. */
export function findTargetProblems(targets: readonly ApplyTarget[], known: Known): Problem[] {
  return targets.flatMap((target, at) => [
    ...target.ids.flatMap((id, place) =>
      findColumnProblems(target, id, known).map((problem) => ({
        path: ['apply', 'targets', at, 'ids', place, ...problem.path],
        message: problem.message,
      })),
    ),
    ...findFileProblems(target, targets.slice(0, at)).map((problem) => ({
      path: ['apply', 'targets', at, ...problem.path],
      message: problem.message,
    })),
  ]);
}

function findColumnProblems(target: ApplyTarget, id: IdColumn, { models, regions }: Known): Problem[] {
  const problems: Problem[] = [];
  const isFile = target.kind === 'csv' || target.kind === 'ndjson';
  for (const name of ['path', 'newColumn'] as const) {
    if (!isFile || id[name] === undefined) continue;
    const message =
      target.kind === 'ndjson' && name === 'path' ? 'name the path in "column"' : 'leave it out';
    problems.push({ path: [name], message: `has no meaning in a ${target.kind} file: ${message}` });
  }
  const named = [
    { path: ['model'], ref: id.model ?? null },
    ...Object.entries(id.models ?? {}).map(([word, ref]) => ({ path: ['models', word], ref })),
  ];
  for (const { path, ref } of named) {
    const message = ref === null || models === undefined ? null : modelProblem(ref, models);
    if (message !== null) problems.push({ path, message });
  }
  if (id.region !== undefined && regions !== undefined && !regions.includes(id.region)) {
    problems.push({ path: ['region'], message: `is not a configured region${orMeant(id.region, regions)}` });
  }
  return problems;
}

/** Why a model reference leads nowhere; null where it does not. */
function modelProblem(ref: string, models: readonly ModelPair[]): string | null {
  const { model, path } = parseModelRef(ref);
  const found = models.find(({ v3 }) => v3 === model);
  if (found === undefined) {
    const known = models.map(({ v3 }) => v3);
    return `is ${model}, which is not a configured model${orMeant(model, known)}`;
  }
  if (path === '' || found.children.includes(path)) return null;
  return `names "${path}", which is no field with children of ${model}${orMeant(path, found.children)}`;
}

/** A file has one output, which is no input: two targets for it would undo each other. */
function findFileProblems(target: ApplyTarget, earlier: readonly ApplyTarget[]): Problem[] {
  if (target.kind !== 'csv' && target.kind !== 'ndjson') return [];
  const files = earlier.filter((one) => one.kind === 'csv' || one.kind === 'ndjson');
  const twin = files.find(({ file }) => file === target.file);
  if (twin !== undefined) {
    return [{ path: ['file'], message: `is that of target ${twin.name}: name all its columns there` }];
  }
  const { output } = target;
  if (output === undefined) return [];
  if ([target, ...files].some(({ file }) => file === output)) {
    return [{ path: ['output'], message: 'is an input: to rewrite a file in its place use --in-place' }];
  }
  const rival = files.find((one) => one.output === output);
  return rival === undefined ? [] : [{ path: ['output'], message: `is that of target ${rival.name} too` }];
}
