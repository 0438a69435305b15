import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ToolDefinition } from '../../core/tool.ts'
import { ModelValidationTracker } from '../../validation/model-validation.ts'
import { schemaHash } from '../../validation/tool-use/tool-use.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { CALCULATE } from '../fixtures/toolyard.ts'
import { validationsExport, validationsImport, validationsList } from './models.ts'

const CONFIG = { tools: { enabled: true, registry: [CALCULATE] } }

async function known() {
  const opened = await installationFolder(CONFIG)
  const server = await opened.serve()
  const chat = await server.manager.getChat()
  const context = server.localContext('rest')
  await chat.answer({ message: 'What is 20% of 80?', model: 'mini:v1', context })
  await new ModelValidationTracker({ store: server.storage.validations }).recordSuccess('mini:v1')
  const tool = { tenant: 'local', model: 'mini:v1', tool: 'gone', schemaHash: 'aa', source: 'suite' } as const
  server.toolUse.record({ ...tool, outcome: { passed: false, kind: 'wrong_type', message: 'n must be a number' } })
  await server.close()
  return opened
}

test('lists right calls of suites with their lower bound, and well-formed calls of runs', async () => {
  const { toolyard, json } = await known()
  const { out } = await toolyard('validations', 'list')
  const [head, first, second] = out.trimEnd().split('\n')
  expect(head).toMatch(/^MODEL +TOOL +RIGHT +AT LEAST +WELL-FORMED +LAST +SCHEMA +FAILED BY$/)
  expect(first).toMatch(/^mini:v1 +calculate +- +- +1 of 1 +\S+Z +current$/)
  expect(second).toMatch(/^mini:v1 +gone +0 of 1 +0\.00 +- +\S+Z +gone +wrong_type 1$/)
  expect(await json((terminal, options) => validationsList(terminal, options))).toMatchObject({
    tool_use: [{ run: { trials: 1 } }, { suite: { trials: 1 }, failures: [{ kind: 'wrong_type' }] }],
  })
})

test('imports an export, also for another tenant', async () => {
  const { run, data } = await known()
  const file = join(data, 'known.json')
  const exported = await run((terminal, options) => validationsExport(terminal, file, options))
  expect(exported).toEqual({ code: 0, out: '', err: `Wrote ${file}: 1 model, 2 tool results.\n` })
  const imported = await run((terminal, options) => validationsImport(terminal, file, { ...options, tenant: 'acme' }))
  expect(imported.err).toBe("Tenant 'acme' now has 1 model, 2 tool results.\n")
  const again = join(data, 'again.json')
  await run((terminal, options) => validationsExport(terminal, again, { ...options, tenant: 'acme' }))
  expect(JSON.parse(await readFile(again, 'utf8'))).toEqual(JSON.parse(await readFile(file, 'utf8')))
})

test('a bad file is wrong usage, and changes nothing', async () => {
  const { run, json, data } = await known()
  const file = join(data, 'bad.json')
  await writeFile(file, '{"validations": [], "tool_use": [{}]}')
  const failed = await run((terminal, options) => validationsImport(terminal, file, options))
  expect(failed).toMatchObject({ code: 2, err: expect.stringContaining('Nothing was changed.') })
  expect((await json((terminal, options) => validationsList(terminal, options))).tool_use).toHaveLength(2)
})

test('lists nothing without a store', async () => {
  const { run } = await installationFolder(CONFIG)
  const { code, err } = await run((terminal, options) => validationsList(terminal, options))
  expect([code, err]).toEqual([0, expect.stringContaining('No results yet')])
})

test.each([
  ['warn', 'calls may be wrong', '20% of 80 is 16.'],
  ['hide', 'it is not offered', 'No tools are offered to me here.'],
] as const)('what is known of a tool is acted on (%s), and chat says so', async (gate, done, answer) => {
  const opened = await installationFolder({ ...CONFIG, validation: { gate, minimum_trials: 2 } })
  const server = await opened.serve()
  const definition = server.manager.getRegistry().get('calculate')
  const tool = { tenant: 'local', model: 'mini:v1', tool: 'calculate', source: 'suite' } as const
  for (const kind of ['wrong_value', 'wrong_type'] as const) {
    const outcome = { passed: false, kind, message: 'no' } as const
    server.toolUse.record({ ...tool, schemaHash: schemaHash(definition as ToolDefinition), outcome })
  }
  await server.close()
  const { out, err } = await opened.toolyard('chat', 'What is 20% of 80?')
  expect(err).toContain(`! calculate: this model used it correctly in 0 of 2 trials, so ${done}\n`)
  expect(out).toContain(answer)
})
