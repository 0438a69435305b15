import type { ApprovalView } from '../../../src/app/durable/approvals.ts'
import type { JsonSchema } from '../../../src/core/tool.ts'

export type AskedQuestion = ApprovalView & { readonly question: NonNullable<ApprovalView['question']> }

export const isQuestion = (approval: ApprovalView): approval is AskedQuestion => approval.question !== null

/** Each message of a sampling request as text. Media are named by their kind. */
export function samplingMessages(params: Readonly<Record<string, unknown>>): { role: string; text: string }[] {
  const { systemPrompt, messages } = params
  const first = typeof systemPrompt === 'string' ? [{ role: 'system', text: systemPrompt }] : []
  const rest = (Array.isArray(messages) ? messages : []).map((message: unknown) => {
    const { role, content } = Object(message) as { role?: unknown; content?: unknown }
    const text = [content].flat().map(blockText).join('\n')
    return { role: String(role ?? 'user'), text }
  })
  return [...first, ...rest]
}

function blockText(block: unknown): string {
  const { type, text } = Object(block) as { type?: unknown; text?: unknown }
  return typeof text === 'string' ? text : `[${String(type ?? 'unknown')}]`
}

/** What a person reads first of a question. */
export function questionText({ question, params }: AskedQuestion): string {
  if (question.kind === 'elicitation') return typeof params.message === 'string' ? params.message : ''
  return samplingMessages(params).at(-1)?.text ?? ''
}

/** The fields of an answer begin with the defaults of the schema. */
export function firstAnswer({ question, params }: AskedQuestion): Record<string, unknown> {
  if (question.kind === 'sampling') return { text: '' }
  const { properties } = Object(params.requestedSchema) as { properties?: unknown }
  return Object.fromEntries(
    Object.entries(Object(properties) as object).flatMap(([name, schema]) =>
      Object.hasOwn(Object(schema), 'default') ? [[name, (schema as { default: unknown }).default]] : [],
    ),
  )
}

type Fields = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The schema of a question for the form: choices show their titles, and several of them are checkboxes. */
export function answerSchema(requested: unknown): JsonSchema {
  const schema = Object(requested) as JsonSchema
  const fields = Object.entries(Object(schema.properties) as Fields).map(([name, field]) => [name, answerField(field)])
  return { ...schema, properties: Object.fromEntries(fields) }
}

function answerField(field: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { items, enum: values, enumNames } = Object(field) as Record<string, unknown>
  if (Object(items) === items) {
    const { anyOf, ...item } = items as Record<string, unknown>
    const isChoice = Array.isArray(anyOf) || 'enum' in item
    return isChoice
      ? {
          ...field,
          uniqueItems: true,
          items: { ...item, type: 'string', ...(Array.isArray(anyOf) && { oneOf: anyOf }) },
        }
      : field
  }
  if (!Array.isArray(values) || !Array.isArray(enumNames)) return field
  const { enum: _values, enumNames: _names, ...rest } = field
  return { ...rest, oneOf: values.map((value, index) => ({ const: value, title: String(enumNames[index] ?? value) })) }
}
