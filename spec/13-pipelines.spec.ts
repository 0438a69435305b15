import type { Config } from 'toolyard'
import { describe, expect, test, vi } from 'vitest'
import { configured, mock, never, withTools } from './fixtures/tool-manager.ts'

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, cities: { type: 'array' }, language: { type: 'string' } },
}
const pipeline = (name: string, steps: readonly object[], more: object = {}, output?: unknown) => ({
  ...{ name, description: `The pipeline ${name}`, parameters },
  implementation: { type: 'pipeline', steps, ...(output !== undefined && { output }) },
  ...more,
})
const $ = (path: string) => ({ $: path })

/** Opens a tool manager with handlers of the host application and pipelines. */
async function withPipelines(
  tools: Parameters<typeof withTools>[0],
  pipelines: readonly object[],
  config: Config = {},
) {
  const opened = await withTools(tools, { config })
  for (const one of pipelines) opened.registry.register(one as never)
  return opened
}

const echo = { run: (params: unknown) => params, effect: 'read' } as const
const boom = { run: () => Promise.reject(new Error('no')), effect: 'read' } as const

describe('Pipelines', () => {
  test('[13.1-1] Kind pipeline: implementation {type: "pipeline", steps: [{id, tool, params, when?, for_each?, max_items?, on_error?}], output?}', async () => {
    const steps = [
      { id: 'weather', tool: 'get_weather', params: { city: $('$.params.city') } },
      {
        ...{ id: 'clothes', tool: 'pick', params: { what: $('$.item') }, for_each: $('$.steps.weather.advice') },
        ...{ when: { required: ['params'] }, max_items: 3, on_error: 'continue' },
      },
    ]
    const definitions = [
      pipeline('what_to_wear', steps, {}, { city: $('$.params.city'), wear: $('$.steps.clothes') }),
      mock('get_weather', { advice: ['coat', 'hat'] }),
      mock('pick', 'packed'),
    ]
    const { execute, log } = await configured(definitions)
    expect(log.lines).toEqual([])
    expect(await execute('what_to_wear', { city: 'Oslo' })).toMatchObject({
      success: true,
      result: { city: 'Oslo', wear: ['packed', 'packed'] },
    })
  })

  test('[13.1-2] params and output of a pipeline are JSON with {"$": "<JSONPath over {params, steps}>"} in place of values. A path without a match is null', async () => {
    const params = {
      list: [$('$.params.city'), 'fixed', { deep: $('$.params.cities[*]') }],
      none: $('$.params.language'),
    }
    const { execute } = await withPipelines({ echo }, [
      pipeline('p', [{ id: 'a', tool: 'echo', params }], {}, [$('$.steps.a')]),
    ])
    expect(await execute('p', { city: 'Oslo', cities: ['Rome', 'Bern'] })).toMatchObject({
      result: [{ list: ['Oslo', 'fixed', { deep: ['Rome', 'Bern'] }], none: null }],
    })
  })

  test('[13.1-3] Steps without references to each other run in parallel, at most tools.max_parallel_calls', async () => {
    let running = 0
    let most = 0
    const started: (() => void)[] = []
    const run = async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => {
        started.push(resolve)
        if (started.length === 2) for (const go of started.splice(0)) go()
      })
      running--
    }
    const steps = ['a', 'b', 'c', 'd'].map((id) => ({ id, tool: 'work' }))
    const config = { tools: { max_parallel_calls: 2 } }
    const { execute } = await withPipelines({ work: { run, effect: 'write' } }, [pipeline('p', steps)], config)
    expect(await execute('p')).toMatchObject({ success: true })
    expect(most).toBe(2)
  })

  test('[13.1-4] for_each ({"$": path} to an array) runs a step for each item, which is $.item', async () => {
    const steps = [
      {
        id: 'each',
        tool: 'echo',
        for_each: $('$.params.cities'),
        params: { to: $('$.item'), in: $('$.params.language') },
      },
    ]
    const { execute } = await withPipelines({ echo }, [pipeline('p', steps)])
    expect(await execute('p', { cities: ['Oslo', 'Rome'], language: 'en' })).toMatchObject({
      result: [
        { to: 'Oslo', in: 'en' },
        { to: 'Rome', in: 'en' },
      ],
    })
  })

  test('[13.1-5] max_items of for_each is 100. More items give INVALID_PARAMETERS', async () => {
    const run = vi.fn(() => 1)
    const steps = [{ id: 'each', tool: 'count', for_each: $('$.params.cities') }]
    const { execute } = await withPipelines({ count: { run, effect: 'read' } }, [
      pipeline('p', steps),
      pipeline(
        'few',
        steps.map((step) => ({ ...step, max_items: 2 })),
      ),
    ])
    const cities = (count: number) => ({ cities: Array.from({ length: count }, (_, at) => at) })
    expect(await execute('p', cities(100))).toMatchObject({ success: true })
    run.mockClear()
    expect(await execute('p', cities(101))).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: "Step 'each' has 101 items, more than the 100 that it allows",
    })
    expect(await execute('few', cities(3))).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
    expect(run).not.toHaveBeenCalled()
  })

  test('[13.1-6] on_error of a step is fail (default), continue, or {"value": …}', async () => {
    const last = { id: 'last', tool: 'echo', params: { got: $('$.steps.a') } }
    const { execute } = await withPipelines({ echo, boom }, [
      pipeline('fails', [{ id: 'a', tool: 'boom' }, last]),
      pipeline('continues', [{ id: 'a', tool: 'boom', on_error: 'continue' }, last]),
      pipeline('replaces', [{ id: 'a', tool: 'boom', on_error: { value: 'none' } }, last]),
    ])
    expect(await execute('fails')).toMatchObject({ success: false, error: "Step 'a' failed: no" })
    expect(await execute('continues')).toMatchObject({ result: { got: null } })
    expect(await execute('replaces')).toMatchObject({ result: { got: 'none' } })
  })

  test('[13.1-7] when is a JSON Schema that {params, steps} must match, else the step is skipped and its value is null', async () => {
    const when = { properties: { params: { properties: { language: { const: 'en' } }, required: ['language'] } } }
    const steps = [
      { id: 'a', tool: 'echo', params: { x: 1 }, when },
      { id: 'b', tool: 'echo', params: { got: $('$.steps.a') } },
    ]
    const { execute } = await withPipelines({ echo }, [pipeline('p', steps)])
    expect(await execute('p', { language: 'en' })).toMatchObject({ result: { got: { x: 1 } } })
    expect(await execute('p', { language: 'de' })).toMatchObject({ result: { got: null } })
  })

  test("[13.1-8] output of a pipeline defaults to the last step's result", async () => {
    const { execute } = await configured([
      pipeline('p', [
        { id: 'a', tool: 'one' },
        { id: 'b', tool: 'two' },
      ]),
      mock('one'),
      mock('two'),
    ])
    expect(await execute('p')).toMatchObject({ result: 'two' })
  })

  test('[13.1-9] A pipeline has at most 50 steps', async () => {
    const steps = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `s${at}`, tool: 'one' }))
    const { registry, log } = await configured([mock('one'), pipeline('fifty', steps(50)), pipeline('more', steps(51))])
    expect(registry.has('fifty')).toBe(true)
    expect(registry.has('more')).toBe(false)
    expect(JSON.stringify(log.lines)).toContain('at most 50')
  })

  test('[13.1-10] Unknown tools and steps, cycles and references to nothing are reported when a pipeline loads', async () => {
    const { manager } = await configured([
      pipeline('unknown_tool', [{ id: 'a', tool: 'tow' }]),
      pipeline('unknown_step', [{ id: 'a', tool: 'two', params: { x: $('$.steps.other') } }]),
      pipeline('cycle', [
        { id: 'a', tool: 'two', params: { x: $('$.steps.b') } },
        { id: 'b', tool: 'two', params: { x: $('$.steps.a') } },
      ]),
      pipeline('nothing', [{ id: 'a', tool: 'two', params: { x: $('$.params.ctiy') } }]),
      pipeline('itself', [{ id: 'a', tool: 'itself' }]),
      mock('two'),
    ])
    const { skipped, warnings } = await manager.loadTools()
    expect([...skipped, ...warnings].map(({ name, problem }) => `${name}: ${problem}`)).toEqual([
      `unknown_step: Step 'a': "$.steps.other" refers to nothing: there is no step 'other'`,
      'cycle: The steps wait for each other: a → b → a',
      `nothing: Step 'a': "$.params.ctiy" refers to nothing: there is no parameter 'ctiy'. Did you mean 'city'?`,
      "unknown_tool: Step 'a' calls the unknown tool 'tow'. Did you mean 'two'?",
      'itself: It calls itself: itself → itself',
    ])
  })

  test("[13.1-11] Each step goes through the executor with the caller's permissions and is recorded under its parent", async () => {
    const run = vi.fn(() => 1)
    const secret = { run, effect: 'read', permissions: ['payments'] } as const
    const { execute, records } = await withPipelines({ echo, secret }, [
      pipeline('p', [
        { id: 'a', tool: 'echo' },
        { id: 'b', tool: 'secret' },
      ]),
    ])
    expect(await execute('p', {}, { tenant: 'acme' })).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    expect(run).not.toHaveBeenCalled()
    expect(await execute('p', {}, { tenant: 'acme', flags: { payments: true } })).toMatchObject({ success: true })
    const last = records().slice(-3)
    const parent = last.find(({ tool }) => tool === 'p')
    expect(parent?.id).toBeDefined()
    expect(
      last
        .filter(({ parentId }) => parentId === parent?.id)
        .map(({ tool }) => tool)
        .sort(),
    ).toEqual(['echo', 'secret'])
  })

  test('[13.1-12] The effect of a pipeline is the strongest of its steps', async () => {
    const { executor, registry } = await withPipelines(
      { look: echo, set: { ...echo, effect: 'idempotent' }, pay: { ...echo, effect: 'write' } },
      [
        pipeline('reads', [{ id: 'a', tool: 'look' }]),
        pipeline('sets', [
          { id: 'a', tool: 'look' },
          { id: 'b', tool: 'set' },
        ]),
        pipeline('writes', [
          { id: 'a', tool: 'sets' },
          { id: 'b', tool: 'pay' },
        ]),
      ],
    )
    expect(['reads', 'sets', 'writes'].map((name) => executor.effectOf(name))).toEqual(['read', 'idempotent', 'write'])
    registry.register({ ...mock('look'), effect: 'write' } as never)
    expect(executor.effectOf('reads')).toBe('write')
  })

  test('[13.1-13] One deadline covers the whole pipeline', async () => {
    const steps = [
      { id: 'a', tool: 'hang', on_error: 'continue' },
      { id: 'b', tool: 'hang', params: { x: $('$.steps.a') } },
    ]
    const { execute } = await withPipelines({ hang: { run: never, effect: 'read' } }, [
      pipeline('p', steps, { timeout_ms: 100 }),
    ])
    expect(await execute('p')).toMatchObject({
      error_code: 'TIMEOUT',
      error: "Tool execution timed out after 100ms in step 'a' (hang)",
    })
  })
})
