import { versions } from 'node:process';

/** The versions of Node and of its Node-API. */
export const NODE_VERSIONS: Readonly<{ node: string; napi?: string | undefined }> = {
  node: versions.node,
  napi: versions['napi'],
};
