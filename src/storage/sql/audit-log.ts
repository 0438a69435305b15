import { AUDIT_COLUMNS, type AuditColumnName, auditColumns, COLUMN_TYPES } from '../../core/records/audit-columns.ts'

const VIEW = {
  sqlite: {
    time: "strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch')",
    units: (name: string) => `${name} / 1e6`,
  },
  postgres: {
    time: `to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    units: (name: string) => `round(${name} / 1000000.0, 6)`,
  },
} as const

/**
 * The step of a migration that adds a column to the table and the view of the audit log. A released step never changes:
 * its view has no columns that come after this one in the list.
 */
export function auditColumnStep(added: AuditColumnName): { readonly sqlite: string; readonly postgres: string } {
  const columns = auditColumns.slice(0, auditColumns.findIndex(({ name }) => name === added) + 1)
  const step = (engine: keyof typeof VIEW): string => {
    const { time, units } = VIEW[engine]
    const shown = columns.map(({ name, shown, type }) => {
      const value = type === 'millionths' ? units(name) : name
      return value === shown ? value : `${value} AS ${shown}`
    })
    return [
      ...['ALTER TABLE toolyard.audit ADD COLUMN', added, COLUMN_TYPES[AUDIT_COLUMNS[added].type][engine]],
      '; DROP VIEW toolyard.audit_log; CREATE VIEW toolyard.audit_log AS SELECT',
      ["chains.name || ':' || seq AS id", `${time} AS time`, 'at', ...shown, 'hash'].join(', '),
      'FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain',
    ].join(' ')
  }
  return { sqlite: step('sqlite').replaceAll('toolyard.', ''), postgres: step('postgres') }
}
