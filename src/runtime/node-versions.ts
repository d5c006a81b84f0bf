import { versions } from 'node:process';

export const NODE_VERSIONS: Readonly<{ node: string; napi?: string | undefined }> = {
  node: versions.node,
  napi: versions['napi'],
};
