import type { ApplyTarget } from '../../config/apply-targets.js';
import { SERVERS } from '../../domain.js';
import { SvcError } from '../../errors.js';

/** What `--emit-sql` takes. */
export const EMIT_DIALECTS = [...SERVERS.map(({ kind }) => kind), 'sqlite'] as const;
export type EmitDialect = (typeof EMIT_DIALECTS)[number];

/** Where the SQL goes: folders of migration tools, or plain files. */
export const LAYOUTS = ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex'] as const;
export type Layout = (typeof LAYOUTS)[number];

/** What `--emit-sql` writes, and where. */
export interface EmitRequest {
  readonly dialect: EmitDialect;
  readonly layout: Layout;
  readonly folder: string;
}

/** @throws SvcError `usage` if a target is of another kind */
export function assertTargetKinds(targets: readonly ApplyTarget[], { dialect }: EmitRequest): void {
  const other = targets.find(({ kind }) => kind !== dialect);
  if (other === undefined) return;
  const text = `Target ${other.name} is of kind ${other.kind}, and --emit-sql ${dialect} takes tables of kind ${dialect}.`;
  throw new SvcError('usage', text, {
    hint: 'Name the targets to write SQL for: `svc-migrate apply --emit-sql … ORDERS LINES`.',
  });
}
