import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ToolManager } from '../../src/index.ts'
import { toolGrammar } from '../../src/models/llama/schema-grammar.ts'
import type { Message, Model, OfferedTool } from '../../src/models/model.ts'
import { ModelError } from '../../src/models/model-error.ts'
import type { ContractCase } from '../../src/testing/kind-contract.ts'
import { modelContract, readStream } from '../../src/testing/model-contract.ts'

/** Of the contract of models what a model keeps to that says what it likes. */
const CLAUSES = [
  'does not change the request',
  'sends no request for an aborted signal, and throws its reason',
  'aborts the response on a signal, and throws its reason',
  'aborts the response when the reader stops',
]

const DATA = process.env.TOOLYARD_DATA_SETS ?? fileURLToPath(new URL('../../../shared/data', import.meta.url))

const user = (content: string): Message => ({ role: 'user', content })

/** What must hold of `llama:` whatever the model says. */
export function checks(held: Model, free: Model, manager: ToolManager, tools: readonly OfferedTool[]): ContractCase[] {
  const clauses = modelContract({ make: () => held }).filter(({ name }) => CLAUSES.includes(name))
  assert.equal(clauses.length, CLAUSES.length, 'the contract of models has these clauses')
  const story = { messages: [user('Tell a story about a dog.')], tools: [] }
  return [
    ...clauses,
    {
      name: 'text comes in pieces, ends at max_tokens, and tokens are counted',
      async run() {
        for (const model of [held, free]) {
          const { pieces, calls, finish } = await readStream(model, { ...story, max_tokens: 12, temperature: 0 })
          assert.ok(pieces.length > 3)
          assert.deepEqual([calls, finish.reason, finish.usage?.completion_tokens], [[], 'length', 12])
          assert.ok((finish.usage?.prompt_tokens ?? 0) > 10)
        }
      },
    },
    {
      name: 'the same question at temperature 0 gets the same answer, also where two ask at the same time',
      async run() {
        const request = { ...story, max_tokens: 12, temperature: 0 }
        const answers = await Promise.all([request, request].map((one) => readStream(held, one)))
        assert.equal(answers[0]?.text, answers[1]?.text)
      },
    },
    {
      name: 'under the grammar every call that ends is of an offered tool and valid against its schema',
      async run() {
        const questions = [
          'What is the weather in Rome?',
          'What is 12 * 34?',
          'Search the docs for deadlines.',
          'Hello!',
        ]
        let calls = 0
        for (const temperature of [0, 1.2]) {
          for (const question of questions) {
            const answer = await readStream(held, { messages: [user(question)], tools, max_tokens: 64, temperature })
            for (const call of answer.calls) {
              calls++
              const params = JSON.parse(call.function.arguments)
              assert.deepEqual(await manager.getExecutor().validate(call.function.name, params), {
                valid: true,
                errors: [],
              })
            }
            assert.ok(answer.calls.length === 1 || answer.finish.reason !== 'tool_calls')
          }
        }
        assert.ok(calls > 0, 'there was a call to look at')
      },
    },
    {
      name: 'a deadline ends the answer, and the next question is answered',
      async run() {
        const signal = AbortSignal.timeout(1_000)
        await assert.rejects(
          readStream(held, { ...story, max_tokens: 500, signal }),
          (error) => error === signal.reason,
        )
        const { text } = await readStream(held, { ...story, max_tokens: 4 })
        assert.notEqual(text, '')
      },
    },
    {
      name: 'a conversation that is too long is refused, not cut',
      async run() {
        const messages = [user('All work and no play. '.repeat(2_000))]
        await assert.rejects(readStream(held, { messages, tools: [] }), (error) => error instanceof ModelError)
      },
    },
    {
      name: 'the engine takes the grammars of all tools of real MCP servers',
      run: engineTakesGrammars,
    },
  ]
}

async function engineTakesGrammars(): Promise<void> {
  const folder = join(DATA, 'mcp-tools')
  if (!existsSync(folder)) {
    console.log(`  (skipped: there is no ${folder}; TOOLYARD_DATA_SETS names the folder with such data)`)
    return
  }
  const entry = createRequire(import.meta.url).resolve('node-llama-cpp')
  const { getLlama, LlamaGrammar } = await import(pathToFileURL(entry).href)
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'disabled' })
  console.log('  (the engine says itself what it thinks of a grammar that is wrong:)')
  assert.throws(() => new LlamaGrammar(llama, { grammar: 'root ::= missing' }))
  let taken = 0
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    const read = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    for (const { name, description, inputSchema } of Array.isArray(read) ? read : read.tools) {
      new LlamaGrammar(llama, { grammar: toolGrammar([{ name, description, parameters: inputSchema }]) })
      taken++
    }
  }
  console.log(`  (${taken} tools)`)
  await llama.dispose()
}
