import { readFileSync } from 'node:fs'
import { type Argument, parseSync, Visitor } from 'oxc-parser'

/** What a file of the executable specification declares: its headings and its tests, by name. */
export interface SpecTests {
  readonly headings: readonly string[]
  readonly tests: readonly string[]
}

/** Reads the names from the source, so that nothing has to run. Only `test` and `test.todo` count: a skipped test says nothing. */
export function specTests(file: URL): SpecTests {
  const headings: string[] = []
  const tests: string[] = []
  const visitor = new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      const name = textOf(first)
      if (name === undefined) return
      if (callee.type === 'Identifier' && callee.name === 'describe') headings.push(name)
      if (callee.type === 'Identifier' && callee.name === 'test') tests.push(name)
      if (
        callee.type === 'MemberExpression' &&
        callee.object.type === 'Identifier' &&
        callee.object.name === 'test' &&
        callee.property.type === 'Identifier' &&
        callee.property.name === 'todo'
      )
        tests.push(name)
    },
  })
  visitor.visit(parseSync(file.pathname, readFileSync(file, 'utf8')).program)
  return { headings, tests }
}

function textOf(argument: Argument | undefined): string | undefined {
  if (argument?.type === 'Literal' && typeof argument.value === 'string') return argument.value
  if (argument?.type === 'TemplateLiteral' && argument.expressions.length === 0)
    return argument.quasis[0]?.value.cooked ?? undefined
  return undefined
}
