import type { Command } from 'commander'
import { counted } from '../../../core/schema/problem-words.ts'
import type { StoredToolUse } from '../../../core/storage/tool-use-store.ts'
import type { StoredValidation } from '../../../core/storage/validation-store.ts'
import { ModelValidationError, modelValidation, readValidations } from '../../../validation/model-validation.ts'
import { currentTool, schemaHash, type ToolUseRecord, toolUseRecord } from '../../../validation/tool-use/tool-use.ts'
import { readToolUses } from '../../../validation/tool-use/tool-use-file.ts'
import { awaitServers, openManager, readStore, SHORT_WAIT_MS, withStore } from '../../common/open.ts'
import { TENANT_OPTION, type TenantOptions, tenantOf } from '../../common/params.ts'
import { actions, type Done, showTable, type Terminal, UsageError } from '../../common/terminal.ts'
import { writeWhole } from '../../common/write-whole.ts'

const HELP = `
Examples:
  $ toolyard validations list
  $ toolyard validations export results.json
  $ toolyard validations import results.json`

export function defineValidations(validations: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  validations.addHelpText('after', HELP)

  validations
    .command('list')
    .description('List the results of each model with each tool')
    .option(...TENANT_OPTION)
    .action(run(validationsList))

  validations
    .command('export')
    .description('Write the stored results to a JSON file')
    .argument('<file>', 'the file to write')
    .option(...TENANT_OPTION)
    .action(run(validationsExport))

  validations
    .command('import')
    .description('Replace the stored results with those in a file')
    .argument('<file>', 'a file that "validations export" wrote')
    .option(...TENANT_OPTION)
    .action(run(validationsImport))
}

const HEAD = ['MODEL', 'TOOL', 'SUCCEEDED', 'RATE', 'AT LEAST', 'LAST', 'SCHEMA', 'FAILED BY']

/** `toolyard validations list`: how well each model uses each tool. */
export async function validationsList(terminal: Terminal, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const stored = await readStore(terminal, options, ({ toolUse }) => toolUse.list(tenant), [])
  const opened = await openManager(terminal, options, { record: false })
  let records: ToolUseRecord[]
  try {
    await awaitServers(opened.manager, { ms: SHORT_WAIT_MS })
    const find = currentTool(opened.manager.getRegistry())
    records = stored.map((use) =>
      toolUseRecord(use, (tool) => {
        const current = find(tool)
        return current && schemaHash(current)
      }),
    )
  } finally {
    await opened.close()
  }
  if (terminal.json) terminal.document({ tool_use: records })
  else if (records.length === 0) terminal.note('No results yet: "toolyard validate" and every run record some.')
  else showTable(terminal, [HEAD, ...records.map(rowOf)])
  return 0
}

const rowOf = (use: ToolUseRecord): string[] => [
  use.model_id,
  use.tool,
  `${use.successes} of ${use.trials}`,
  use.rate.toFixed(2),
  use.lower_bound.toFixed(2),
  use.last_used,
  use.schema,
  Object.entries(use.failure_kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', '),
]

type Results = readonly [readonly StoredValidation[], readonly StoredToolUse[]]

/** `toolyard validations export`: writes all results of a tenant to a file. */
export async function validationsExport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, tool_use] = await readStore<Results>(
    terminal,
    options,
    (storage) => Promise.all([storage.validations.list(tenant), storage.toolUse.list(tenant)]),
    [[], []],
  )
  const content = { validations: validations.map(modelValidation), tool_use }
  await writeWhole(terminal.path(file), `${JSON.stringify(content, undefined, 2)}\n`)
  if (terminal.json) terminal.document({ file, models: validations.length, tool_use: tool_use.length })
  else terminal.note(`Wrote ${file}: ${counts(validations.length, tool_use.length)}.`)
  return 0
}

/** `toolyard validations import`: replaces the results of a tenant. An invalid file changes nothing. */
export async function validationsImport(terminal: Terminal, file: string, options: TenantOptions): Promise<number> {
  const tenant = tenantOf(options)
  const [validations, uses] = await readResults(terminal.path(file))
  await withStore(terminal, options, async (storage) => {
    await storage.validations.replace(tenant, validations)
    await storage.toolUse.replace(tenant, uses)
  })
  if (terminal.json) terminal.document({ file, tenant, models: validations.length, tool_use: uses.length })
  else terminal.note(`Tenant '${tenant}' now has ${counts(validations.length, uses.length)}.`)
  return 0
}

async function readResults(file: string) {
  try {
    return [await readValidations(file), await readToolUses(file)] as const
  } catch (error) {
    if (error instanceof ModelValidationError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}

const counts = (models: number, toolUse: number): string =>
  `${counted(models, 'model')}, ${counted(toolUse, 'tool result')}`
