import type { OfferedTool } from '../model.ts'
import { literal, SchemaGrammar } from './schema-grammar.ts'

/** How a reply that is held to the grammar begins, up to the arguments or the text of the answer. */
export const CALL_HEAD = /^\{"name": ("(?:[^"\\]|\\.)*"), "arguments": /
export const ANSWER_HEAD = '{"answer": "'

/** A call, as a reply writes it. */
export const writtenCall = (name: string, args: string): string =>
  `{"name": ${JSON.stringify(name)}, "arguments": ${args}}`

/** The grammar of a reply: a call of one of the tools with arguments of its schema, or an answer in words. */
export function toolGrammar(tools: readonly OfferedTool[]): string {
  const grammar = new SchemaGrammar()
  const calls = tools.map(({ name, parameters }) => {
    const head = literal(`{"name": ${JSON.stringify(name)}, "arguments": `)
    return `${head} ${grammar.expression(parameters)} "}"`
  })
  return grammar.toText([...calls, `${literal(ANSWER_HEAD)} char+ "\\"}"`].join(' | '))
}
