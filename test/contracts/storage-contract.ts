import type { ContractCase } from '../../src/testing/kind-contract.ts'
import { auditClauses } from './storage/audit-clauses.ts'
import { changeClauses } from './storage/change-clauses.ts'
import { chatClauses } from './storage/chat-clauses.ts'
import { connectionClauses } from './storage/connection-clauses.ts'
import { type Clauses, ContractStore, type StorageUnderTest } from './storage/contract-store.ts'
import { durableRunClauses } from './storage/durable-run-clauses.ts'
import { itemClauses } from './storage/item-clauses.ts'
import { jobClauses } from './storage/job-clauses.ts'
import { keyClauses } from './storage/key-clauses.ts'
import { ledgerClauses } from './storage/ledger-clauses.ts'
import { onceClauses } from './storage/once-clauses.ts'
import { pauseClauses } from './storage/pause-clauses.ts'
import { runClauses } from './storage/run-clauses.ts'
import { settingClauses } from './storage/setting-clauses.ts'
import { sharedClauses } from './storage/shared-clauses.ts'
import { spendingClauses } from './storage/spending-clauses.ts'
import { toolUseClauses } from './storage/tool-use-clauses.ts'
import { validationClauses } from './storage/validation-clauses.ts'
import { wholeClauses } from './storage/whole-clauses.ts'

/** What every store must keep to, whatever engine is behind it. Each clause has a store of its own. */
export function storageContract({ open, shared }: StorageUnderTest): ContractCase[] {
  const clauses: Clauses = {
    ...wholeClauses,
    ...keyClauses,
    ...settingClauses,
    ...validationClauses,
    ...toolUseClauses,
    ...onceClauses,
    ...jobClauses,
    ...chatClauses,
    ...itemClauses,
    ...pauseClauses,
    ...durableRunClauses,
    ...runClauses,
    ...auditClauses,
    ...spendingClauses,
    ...connectionClauses,
    ...ledgerClauses,
    ...changeClauses,
    ...(shared && sharedClauses),
  }
  return Object.entries(clauses).map(([name, clause]) => ({
    name,
    async run() {
      const store = new ContractStore(open)
      try {
        await clause(store)
      } finally {
        await store.close()
      }
    },
  }))
}
