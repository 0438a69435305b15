import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Contender } from '../contender.ts'
import { DESCRIPTION, SCHEMA, type WeatherHandler, type WeatherParams } from '../weather.ts'

const shared = { package: 'ai', deadline: 'no', permission: 'no', record: 'no' } as const

/** Validates and executes with the two functions that the AI SDK's own loop uses for it. */
async function prepareValidated(params: WeatherParams, handler: WeatherHandler, schemaKind: 'ajv' | 'zod') {
  const { jsonSchema, tool } = await import('ai')
  const { executeTool, safeValidateTypes } = await import('@ai-sdk/provider-utils')
  const { weatherZod } = await import('./weather-zod.ts')
  const check = new Ajv2020().compile<WeatherParams>(SCHEMA)
  const ajvSchema = jsonSchema<WeatherParams>(SCHEMA, {
    validate: (value) =>
      check(value) ? { success: true, value } : { success: false, error: new Error('invalid parameters') },
  })
  const inputSchema = schemaKind === 'ajv' ? ajvSchema : weatherZod()
  const weather = tool({ description: DESCRIPTION, inputSchema: ajvSchema, execute: handler })
  const options = { toolCallId: 'call_1', messages: [], context: undefined as never }
  return async () => {
    const valid = await safeValidateTypes<WeatherParams>({ value: params, schema: inputSchema })
    if (!valid.success) return { error: valid.error }
    let output: unknown
    for await (const part of executeTool({ tool: weather, input: valid.value, options })) output = part.output
    return output
  }
}

export const aiSdkZod: Contender = {
  ...shared,
  id: 'ai-sdk-zod',
  name: 'AI SDK, Zod',
  call: 'safeValidateTypes, executeTool',
  prepare: (params, handler) => prepareValidated(params, handler, 'zod'),
}

export const aiSdkAjv: Contender = {
  ...shared,
  id: 'ai-sdk-ajv',
  name: 'AI SDK, Ajv',
  call: 'safeValidateTypes, executeTool',
  prepare: (params, handler) => prepareValidated(params, handler, 'ajv'),
}

export const aiSdkBare: Contender = {
  ...shared,
  id: 'ai-sdk-bare',
  name: 'AI SDK, bare tool',
  call: 'tool.execute()',
  async prepare(params, handler) {
    const { tool } = await import('ai')
    const { weatherZod } = await import('./weather-zod.ts')
    const weather = tool({ description: DESCRIPTION, inputSchema: weatherZod(), execute: handler })
    const options = { toolCallId: 'call_1', messages: [], context: {} }
    return async () => await weather.execute?.(params as { location: string }, options)
  },
}
