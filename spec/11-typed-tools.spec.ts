import { describe, test } from 'vitest'

describe('Typed tools', () => {
  test.todo('[11.1-1] tool({name, description, input, output?, effect?, execute, …}) makes one tool in one place')
  test.todo(
    '[11.1-2] input of tool() is any Standard Schema that can give its JSON Schema (zod 4, valibot, arktype) or a JSON Schema object',
  )
  test.todo('[11.1-3] execute(input, context) gets the parsed type, and its return type is the type of result')
  test.todo(
    '[11.1-4] tool() takes all optional fields of a definition in camelCase (timeoutMs, permissions, approval, cache, rateLimit, cost, …)',
  )
  test.todo('[11.1-5] context has signal, tenant, user, flags, report(progress) and log')
  test.todo('[11.1-6] context.call(name, input) makes a child call through the executor, recorded under its parent')
  test.todo('[11.1-7] context.app is whatever the application passed with the call, typed by createToolyard<App>()')
  test.todo('[11.1-8] const yard = await createToolyard({tools, config?, models?, log?}) makes an instance')
  test.todo('[11.1-9] config of createToolyard is a file name, an object or absent')
  test.todo(
    '[11.1-10] yard.call(name, input, {tenant?, user?, app?, signal?, idempotencyKey?}) resolves to the envelope, typed by the tool if the name is known',
  )
  test.todo('[11.1-11] yard.run({model, messages | prompt, tools?, …}) and yard.stream(…) run the tool-calling loop')
  test.todo('[11.1-12] yard.tools lists the tools. yard.close() and await using close the instance')
  test.todo('[11.1-13] createToolyard needs nothing to be "enabled" or "loaded" first')
  test.todo(
    '[11.1-14] The classes ToolManager, ToolExecutor, ToolRegistry and ToolHandlers stay underneath: new ToolExecutor(registry) works, and registry.execute(name, params) exists',
  )
  test.todo('[11.1-15] execute before loadTools() says that tools are not loaded yet')
  test.todo(
    "[11.1-16] parameters that aren't a JSON Schema object (a Zod schema, a class) are converted if possible, and refused with a sentence if not. Validation is never silently off",
  )
  test.todo('[11.1-17] The library prints nothing by default')
  test.todo('[11.1-18] log takes pino, console or {level}')
})
