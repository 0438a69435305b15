import { TENANT_NAME } from '../config/callers/tenant-flags.ts'
import { printableLine } from './printable.ts'
import { UsageError } from './usage-error.ts'

/** The name of a tenant as it may be; others are wrong usage. */
export function tenantName(text: string): string {
  if (TENANT_NAME.test(text)) return text
  throw new UsageError(
    `A tenant is named by up to 64 letters, digits, dots, dashes and underscores, not '${printableLine(text)}'.`,
  )
}
