import type { Db } from '../../src/store/open.js';

const COLUMNS = [
  ...['model', 'path', 'region', 'v3_company_id', 'v4_company_id', 'status', 'reason', 'matched_by'],
  'unique_id_conflict',
] as const;
const IS_GROUP = COLUMNS.map((column) =>
  column === 'unique_id_conflict' ? `${column} IS ifnull(NEW.${column}, 0)` : `${column} IS NEW.${column}`,
).join(' AND ');
const PROVISIONAL = `'{"provisional":true}'`;
const GROUP = `
  INSERT INTO remap_group(${COLUMNS.join(', ')}, provisional, count, first_row, last_row, first_rows)
    SELECT ${COLUMNS.map((column) => (column === 'unique_id_conflict' ? 'ifnull(NEW.unique_id_conflict, 0)' : `NEW.${column}`)).join(', ')},
        NEW.evidence IS ${PROVISIONAL}, 0, 1, 0, '[]'
      WHERE NOT EXISTS (SELECT 1 FROM remap_group WHERE ${IS_GROUP} AND provisional = (NEW.evidence IS ${PROVISIONAL}));`;
const GROUP_ID = `(SELECT min(id) FROM remap_group WHERE ${IS_GROUP} AND provisional = (NEW.evidence IS ${PROVISIONAL}))`;
const EVIDENCE = `iif(NEW.evidence IN ('{}', ${PROVISIONAL}), NULL, NEW.evidence)`;
const PARENT = `(SELECT min(r.id) FROM remap_row AS r JOIN remap_group AS g ON g.id = r.group_id
  WHERE g.path = '' AND g.model = NEW.model AND r.platform_id = NEW.parent_platform_id
    AND g.v3_company_id IS NEW.v3_company_id AND g.region IS NEW.region)`;

/** Lets a connection insert, change and delete rows of the view `remap_entry`, with their groups. */
export function allowEdits(db: Db): void {
  db.exec(`
    CREATE TEMP TRIGGER IF NOT EXISTS edit_insert INSTEAD OF INSERT ON main.remap_entry BEGIN
      ${GROUP}
      INSERT INTO remap_row(id, group_id, parent, v3_svc_id, v4_svc_id, platform_id, evidence)
        VALUES (iif(NEW.id IN (SELECT id FROM remap_row), NULL, NEW.id), ${GROUP_ID}, ifnull(${PARENT}, NEW.parent), NEW.v3_svc_id, NEW.v4_svc_id, NEW.platform_id, ${EVIDENCE});
    END;
    CREATE TEMP TRIGGER IF NOT EXISTS edit_update INSTEAD OF UPDATE ON main.remap_entry BEGIN
      ${GROUP}
      UPDATE remap_row SET id = NEW.id, group_id = ${GROUP_ID}, v3_svc_id = NEW.v3_svc_id, v4_svc_id = NEW.v4_svc_id,
          parent = iif(NEW.parent_platform_id IS OLD.parent_platform_id, NEW.parent, ${PARENT}),
          platform_id = NEW.platform_id, evidence = ${EVIDENCE}
        WHERE id = OLD.id;
    END;
    CREATE TEMP TRIGGER IF NOT EXISTS edit_delete INSTEAD OF DELETE ON main.remap_entry BEGIN
      DELETE FROM remap_row WHERE id = OLD.id;
    END`);
}

/** Counts the rows of every group again, as the remap does while it writes them. */
export function countGroups(db: Db): void {
  db.exec(`
    DELETE FROM remap_group WHERE id NOT IN (SELECT group_id FROM remap_row);
    UPDATE remap_group SET (count, first_row, last_row) =
      (SELECT count(*), min(id), max(id) FROM remap_row WHERE group_id = remap_group.id);
    UPDATE remap_group SET first_rows = (SELECT json_group_array(id) FROM (
        SELECT id FROM remap_row WHERE group_id = remap_group.id ORDER BY id LIMIT 5))
      WHERE status <> 'matched'`);
}
