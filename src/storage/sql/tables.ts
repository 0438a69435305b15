import { auditColumnStep } from './audit-log.ts'
import { jobTable } from './jobs.ts'
import { runTable } from './runs.ts'
import { settingTable } from './settings.ts'
import type { Table } from './table.ts'

const sealTable: Table = {
  name: 'seals',
  columns: {
    chain: 'integer',
    from_seq: 'bigint',
    to_seq: 'bigint',
    before_hash: 'text',
    last_hash: 'text',
    first_at: 'real',
    last_at: 'real',
    sealed_at: 'real',
    mac: 'text',
    expired_at: 'real?',
  },
  key: 'chain, from_seq',
  indexes: { seals_to_expire: { on: 'last_at', where: 'expired_at IS NULL' } },
}

const cellTable: Table = {
  name: 'cells',
  columns: {
    width: 'id',
    kind: 'id',
    tenant: 'id',
    start: 'real',
    tool: 'id',
    model: 'id',
    instance: 'id',
    data: 'bytes',
  },
  key: 'width, kind, tenant, start, tool, model, instance',
  indexes: { cells_by_time: 'width, start, kind, tenant' },
}

const auditTable: Table = {
  name: 'audit',
  indexes: { audit_by_version: { on: 'tool, version, at', where: 'version IS NOT NULL', since: 13 } },
  steps: {
    13: { before: auditColumnStep('version') },
    14: { before: auditColumnStep('cost'), after: auditColumnStep('key') },
  },
}

/** Counts what tenants store. */
const BYTES = { bytes: { type: 'bigint', default: 0, since: 8 } } as const
const versionTable: Table = {
  name: 'knowledge_versions',
  columns: BYTES,
  steps: {
    8: {
      after: `
      UPDATE toolyard.knowledge_versions SET bytes = coalesce((
        SELECT sum(octet_length(text) + octet_length(heading)) FROM toolyard.knowledge_chunks
        WHERE part IN (SELECT id FROM toolyard.knowledge_parts WHERE version = knowledge_versions.id)), 0)`,
    },
  },
}
const collectionTable: Table = {
  name: 'knowledge_collections',
  columns: BYTES,
  steps: {
    8: {
      after: {
        sqlite: `
        UPDATE knowledge_collections SET bytes = coalesce((
          SELECT sum(bytes) FROM knowledge_versions WHERE collection = knowledge_collections.id AND state <> 'gone'), 0)`,
        postgres: `
        UPDATE toolyard.knowledge_collections SET bytes = coalesce((
          SELECT sum(bytes) FROM toolyard.knowledge_versions WHERE collection = knowledge_collections.id), 0)`,
      },
    },
  },
}

/** Tables of the engines themselves, and those that a copy derives from others. */
const OWN = [
  'changes',
  'instances',
  'leases',
  'migrations',
  'reserve',
  'knowledge_codes',
  'knowledge_labels',
  'knowledge_vectors',
  'knowledge_waiting',
]

/** The tables of the first layouts that are the same in both engines. */
export const FIRST_TABLES: readonly Table[] = [settingTable, jobTable, runTable, sealTable, cellTable]

/** The tables besides those of stores. */
export const OTHER_TABLES: readonly Table[] = [
  sealTable,
  cellTable,
  auditTable,
  versionTable,
  collectionTable,
  ...OWN.map((name): Table => ({ name, copied: false })),
]
