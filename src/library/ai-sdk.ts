import { randomUUID } from 'node:crypto'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { WRAPPED } from '../core/execution/tool-view.ts'
import { asText } from '../core/json/json-depth.ts'
import { ownValue } from '../core/json/json-type.ts'
import { mediaKind, readMedia, splitMedia, ToolExecutionError } from '../core/tool-result.ts'
import { type AdapterOptions, adapterContext, failureOf, type HandedOut, handOut } from './adapter.ts'
import type { Rest } from './options.ts'
import { type ObjectSchema, type StandardSchema, type Tool, type ToolContext, type ToolFields, tool } from './tool.ts'
import type { Toolyard } from './toolyard.ts'

export { aiSdkModel } from '../models/ai-sdk/ai-sdk-model.ts'
export type { AdapterOptions } from './adapter.ts'

export interface AiSdkOptions extends AdapterOptions {
  /** Makes progress preliminary results: `output` of a UI part is then the progress until the result is there. */
  readonly progress?: boolean
}

type Json = null | string | number | boolean | Json[] | { [key: string]: Json | undefined }

type FileData = { type: 'data'; data: string } | { type: 'url'; url: URL }

type ModelPart = { type: 'text'; text: string } | { type: 'file'; mediaType: string; data: FileData; filename?: string }

type ModelOutput =
  | { type: 'text'; value: string }
  | { type: 'json'; value: Json }
  | { type: 'content'; value: ModelPart[] }

/** A tool of the AI SDK. Structural, because `ai` is not a dependency. */
export type AiSdkTool = {
  readonly description: string
  readonly inputSchema: StandardSchema<unknown, unknown>
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<unknown> | AsyncIterable<unknown>
  toModelOutput(result: { readonly output: unknown }): ModelOutput
}

/** Converts the tools of an instance, for `generateText({ tools })` and `streamText({ tools })`. */
export function toAiSdk<App>(
  // biome-ignore lint/suspicious/noExplicitAny: the tools don't matter.
  yard: Toolyard<any, App, any>,
  ...[options]: Rest<AiSdkOptions, App>
): Record<string, AiSdkTool> {
  const given: AiSdkOptions | undefined = options
  const tools = handOut(yard?.executor, given?.tools, adapterContext('toAiSdk', given))
  return Object.fromEntries(tools.map((one) => [one.definition.name, aiSdkTool(one, given?.progress === true)]))
}

/** How the AI SDK knows its own schemas. */
const SCHEMA = Symbol.for('vercel.ai.schema')

function aiSdkTool({ definition, call }: HandedOut, progress: boolean): AiSdkTool {
  const { description, parameters } = definition
  const jsonSchema = () => structuredClone(parameters)
  return {
    description,
    inputSchema: {
      '~standard': {
        version: 1,
        vendor: 'toolyard',
        // The executor validates: its messages are for models, and it fills in defaults first.
        validate: (value) => ({ value }),
        jsonSchema: { input: jsonSchema, output: jsonSchema },
      },
      // The AI SDK closes the objects of a Standard Schema for unknown keys, but takes its own schemas as they are.
      ...{ [SCHEMA]: true, jsonSchema: jsonSchema(), validate: undefined },
    },
    execute(input, { toolCallId: id, abortSignal: signal }) {
      const run = async (report?: (progress: unknown) => void): Promise<unknown> => {
        const result = await call(input, { id, signal, report })
        if (result.success) return result.result
        throw failureOf(result)
      }
      return progress ? progressThenResult(run) : run()
    },
    toModelOutput: ({ output }) => modelOutput(output),
  }
}

function progressThenResult(run: (report: (progress: unknown) => void) => Promise<unknown>): AsyncIterable<unknown> {
  return new ReadableStream({
    async start(controller) {
      try {
        controller.enqueue(await run((progress) => controller.enqueue(progress)))
        controller.close()
      } catch (error) {
        controller.error(error)
      }
    },
  })
}

function modelOutput(output: unknown): ModelOutput {
  const { value, media } = splitMedia(output)
  if (media.length === 0) {
    return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: value as Json }
  }
  const files = media.map(
    ({ media_type: mediaType, data, url, name }): ModelPart => ({
      type: 'file',
      mediaType,
      data: data === undefined ? { type: 'url', url: new URL(url) } : { type: 'data', data },
      ...(name !== undefined && { filename: name }),
    }),
  )
  return { type: 'content', value: [{ type: 'text', text: asText(value) }, ...files] }
}

/** The part of an AI SDK tool that matters here. */
export interface GivenAiSdkTool {
  readonly description?: string | ((options: never) => string) | undefined
  readonly inputSchema: unknown
  readonly contextSchema?: unknown
  readonly needsApproval?: unknown
  readonly execute?: ((input: never, options: never) => unknown) | undefined
  readonly toModelOutput?: ((options: never) => unknown) | undefined
}

/** What Toolyard should know besides. */
export interface AiSdkFields extends ToolFields {
  /** Replaces the description of the tool. */
  readonly description?: string
  /** Whether the result is what `toModelOutput` returns. Required if the tool has it. */
  readonly modelOutput?: boolean
}

type GivenTools = Readonly<Record<string, GivenAiSdkTool>>

type OutputOf<Returned> =
  Returned extends AsyncIterable<infer Output> ? Output : Returned extends PromiseLike<infer Output> ? Output : Returned

type InputOfExecute<One> = One extends { execute?: (input: infer Input, options: never) => unknown } ? Input : unknown
type ResultOfExecute<One> = One extends { execute?: (...call: never) => infer Returned } ? OutputOf<Returned> : unknown

/** AI SDK tools as tools in code. */
export type FromAiSdk<Tools extends GivenTools, Fields> = {
  [Name in keyof Tools & string]: Tool<
    Name,
    StandardSchema<InputOfExecute<Tools[Name]>>,
    Fields extends { readonly [Key in Name]: { readonly modelOutput: true } } ? unknown : ResultOfExecute<Tools[Name]>,
    unknown
  >
}[keyof Tools & string]

/**
 * Converts AI SDK tools to tools in code: `createToolyard({ tools: fromAiSdk(tools) })`. Their effect is `write` unless
 * `fields` has another one. Throws a TypeError if a tool can't be used.
 */
export function fromAiSdk<
  Tools extends GivenTools,
  const Fields extends { readonly [Name in keyof Tools]?: AiSdkFields } = Record<never, never>,
>(tools: Tools, fields?: Fields): FromAiSdk<Tools, Fields>[] {
  const known: Readonly<Record<string, AiSdkFields | undefined>> = fields ?? {}
  const unknown = Object.keys(known).find((name) => !Object.hasOwn(tools, name))
  if (unknown !== undefined) throw new TypeError(`There is no tool '${unknown}': correct the fields`)
  const made = Object.entries(tools).map(([name, given]) => codeTool(name, given, ownValue(known, name) ?? {}))
  return made as unknown as FromAiSdk<Tools, Fields>[]
}

function codeTool(name: string, given: GivenAiSdkTool, { modelOutput: isForModels, ...fields }: AiSdkFields) {
  const { execute, inputSchema, contextSchema, needsApproval, toModelOutput } = given
  const description = fields.description ?? given.description
  const refuse = (problem: string) => new TypeError(`Tool '${name}' of the AI SDK ${problem}`)
  if (typeof execute !== 'function') throw refuse('has no execute: the provider or the client runs it, not Toolyard')
  if (typeof description !== 'string') throw refuse(`needs a description: pass {${name}: {description: '…'}}`)
  if (toModelOutput !== undefined && isForModels === undefined) {
    const choice = `pass {${name}: {modelOutput: true}}, or false to return what execute returns`
    throw refuse(`has toModelOutput: to return what it returns, ${choice}`)
  }
  const contextCheck = contextSchema === undefined ? undefined : standardSchema(contextSchema)
  const run = execute as (input: unknown, options: object) => unknown
  const show = toModelOutput as ((options: object) => unknown) | undefined
  // A function decides by code that only the AI SDK runs: every call then needs approval, unless `fields` has a rule.
  const { approval = (needsApproval ?? false) !== false } = fields
  const made = tool({
    ...fields,
    ...(approval !== false && { approval }),
    name,
    description,
    input: standardSchema(inputSchema) as StandardSchema,
    async execute(input: unknown, { signal: abortSignal, report, app }: ToolContext) {
      const toolCallId = randomUUID()
      const context = await checkedContext(contextCheck, app)
      const output = await lastOf(run(input, { toolCallId, messages: [], abortSignal, context }), abortSignal, report)
      if (show === undefined || isForModels !== true) return output
      return plainOutput(await show({ toolCallId, input, output }))
    },
  })
  return Object.freeze({ ...made, [WRAPPED]: [run, ...(show === undefined ? [] : [show])] })
}

/** Values of an async iterable are progress; the last one is the result. */
async function lastOf(output: unknown, signal: AbortSignal, report: (progress: unknown) => void): Promise<unknown> {
  if (typeof Object(output)[Symbol.asyncIterator] !== 'function') return output
  let last: unknown
  for await (const value of output as AsyncIterable<unknown>) {
    // Leaving the loop ends the generator.
    if (signal.aborted) break
    report(value)
    last = value
  }
  return last
}

interface AiSchema {
  readonly jsonSchema: ObjectSchema
  readonly validate?: (value: unknown) => Promise<Validation> | Validation
}

type Validation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error }

/** A schema of the AI SDK, which may be lazy, as a schema that `tool()` takes. */
function standardSchema(given: unknown): StandardSchema | ObjectSchema {
  const isLazy = typeof given === 'function' && !('~standard' in given)
  const schema: unknown = isLazy ? given() : given
  if (!(SCHEMA in Object(schema))) return schema as StandardSchema
  const { jsonSchema, validate } = schema as AiSchema
  if (validate === undefined) return jsonSchema
  const describe = () => jsonSchema
  return {
    '~standard': {
      version: 1,
      vendor: 'ai',
      jsonSchema: { input: describe, output: describe },
      async validate(value) {
        const read = await validate(value)
        return read.success ? { value: read.value } : { issues: issuesOf(read.error) }
      },
    },
  }
}

/** The issues of Zod, or the message. */
function issuesOf({ message, cause }: Error): readonly StandardSchemaV1.Issue[] {
  const { issues } = Object(cause) as { issues?: readonly StandardSchemaV1.Issue[] }
  return issues ?? [{ message }]
}

/** `app` is the context of tools that declare one. */
async function checkedContext(schema: StandardSchema | ObjectSchema | undefined, app: unknown): Promise<unknown> {
  const standard = (schema as StandardSchema | undefined)?.['~standard']
  if (standard === undefined) return app
  const read = await standard.validate(app)
  if (read.issues === undefined) return read.value
  const problem = read.issues.map(({ message }) => message).join('; ')
  throw new ToolExecutionError('EXECUTION_ERROR', `app doesn't match the contextSchema of the tool: ${problem}`)
}

/** What `toModelOutput` returned, as a result: media become media of Toolyard. */
function plainOutput(shown: unknown): unknown {
  const { type, value, reason } = Object(shown) as { type?: unknown; value?: unknown; reason?: unknown }
  if (type === 'execution-denied') throw new ToolExecutionError('PERMISSION_DENIED', asText(reason ?? 'Denied'))
  if (type === 'error-text' || type === 'error-json') throw new ToolExecutionError('EXECUTION_ERROR', asText(value))
  return type === 'content' && Array.isArray(value) ? value.map((part) => plainPart(Object(part))) : value
}

function plainPart(part: Readonly<Record<string, unknown>>): unknown {
  if (part.type === 'text') return part.text
  const { data, url, text } = (Object(part.data).type === undefined ? part : part.data) as Record<string, unknown>
  if (typeof text === 'string') return text
  const declared = String(part.mediaType ?? 'image')
  const media_type = declared.includes('/') ? declared : `${declared}/*`
  const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data
  const media = { type: mediaKind(media_type), media_type, name: part.filename, data: base64, url: url && String(url) }
  return readMedia(media) ?? part
}
