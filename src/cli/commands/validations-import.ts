import { counted } from '../../core/schema/problem-words.ts'
import { ModelValidationError, readValidations } from '../../validation/model-validation.ts'
import { readToolUses } from '../../validation/tool-use/tool-use-file.ts'
import { withStore } from '../open-store.ts'
import { type TenantOptions, tenantOf } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/** `toolyard validations import`: what a file says takes the place of what the tenant has; a bad file changes nothing. */
export async function validationsImport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, uses] = await read(file)
  await withStore(options, async (storage) => {
    await storage.validations.replace(tenant, validations)
    await storage.toolUse.replace(tenant, uses)
  })
  const counts = { models: validations.length, tool_use: uses.length }
  if (terminal.json) terminal.document({ file, tenant, ...counts })
  else
    terminal.note(
      `Tenant '${tenant}' has ${counted(counts.models, 'model')} and ${counted(counts.tool_use, 'count')} of tools now.`,
    )
  return 0
}

async function read(file: string) {
  try {
    return [await readValidations(file), await readToolUses(file)] as const
  } catch (error) {
    if (error instanceof ModelValidationError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}
