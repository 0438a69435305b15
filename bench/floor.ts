import { Ajv2020 } from 'ajv/dist/2020.js'
import { NAME, PARAMS, SCHEMA, type WeatherHandler, type WeatherParams } from './weather.ts'

interface FloorTool {
  check(params: WeatherParams): boolean
  handler(params: WeatherParams): Promise<unknown>
}

/** The least that can be called executing a tool: look up, validate, run, time, answer. All ratios are to this. */
export function floorExecutor(handler: WeatherHandler) {
  const map = new Map<string, FloorTool>()
  map.set(NAME, { check: new Ajv2020().compile(SCHEMA), handler })
  return async (name: string, params: WeatherParams) => {
    const t = performance.now()
    const tool = map.get(name)
    if (tool === undefined || !tool.check(params)) return { success: false, error: 'refused', tool_name: name }
    const result = await tool.handler(params)
    return { success: true, result, tool_name: name, execution_time_ms: performance.now() - t }
  }
}

/** Runs the floor `calls` times; a loop of its own, so that the contender's loop does not share its call site. */
export function floorLoop(handler: WeatherHandler): (calls: number) => Promise<void> {
  const execute = floorExecutor(handler)
  return async (calls) => {
    for (let i = 0; i < calls; i++) await execute(NAME, PARAMS)
  }
}
