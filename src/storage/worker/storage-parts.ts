import type { Storage } from '../../core/storage/storage.ts'

/** What a store is made of, without what concerns it as a whole. */
export type Part = Exclude<keyof Storage, 'onChange' | 'status' | 'close'>

/** The methods of every part: only these are called from another thread. */
export const STORAGE_PARTS: {
  readonly [part in Part]: { readonly [method in keyof Required<Storage>[part]]: true }
} = {
  ledger: {
    append: true,
    audit: true,
    verify: true,
    executions: true,
    models: true,
    callSeries: true,
    runSeries: true,
    parameterSets: true,
    expire: true,
  },
  runs: { list: true, get: true },
  keys: { list: true, create: true, revoke: true },
  settings: { list: true, put: true, putFirst: true, remove: true },
  validations: { list: true, record: true, replace: true },
  toolUse: { list: true, add: true, replace: true, doubtful: true },
  once: { claim: true, settle: true, release: true },
  jobs: { create: true, get: true, list: true, take: true, waiting: true, progress: true, end: true },
  knowledge: {
    collections: true,
    collection: true,
    open: true,
    put: true,
    document: true,
    remove: true,
    drop: true,
    byText: true,
    byVector: true,
    withoutVector: true,
    setVectors: true,
    knownVectors: true,
    keepVectors: true,
    sweep: true,
  },
  leases: { lease: true, company: true },
  cache: { put: true, news: true },
}
