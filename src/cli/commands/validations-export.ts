import { counted } from '../../core/schema/problem-words.ts'
import type { StoredToolUse } from '../../core/storage/tool-use-store.ts'
import type { StoredValidation } from '../../core/storage/validation-store.ts'
import { modelValidation } from '../../validation/model-validation.ts'
import { readStore } from '../open.ts'
import { type TenantOptions, tenantOf } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'
import { writeWhole } from '../write-whole.ts'

type Known = readonly [readonly StoredValidation[], readonly StoredToolUse[]]

const NOTHING: Known = [[], []]

/** `toolyard validations export`: the tests of models and how they use tools, as one file. */
export async function validationsExport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, tool_use] = await readStore<Known>(
    terminal,
    options,
    (storage) => Promise.all([storage.validations.list(tenant), storage.toolUse.list(tenant)]),
    NOTHING,
  )
  const content = { validations: validations.map(modelValidation), tool_use }
  await writeWhole(terminal.path(file), `${JSON.stringify(content, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file, models: validations.length, tool_use: tool_use.length })
  else
    terminal.note(
      `Written to ${file}: ${counted(validations.length, 'model')}, ${counted(tool_use.length, 'count')} of tools.`,
    )
  return 0
}
