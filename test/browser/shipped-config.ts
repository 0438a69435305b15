import { readFileSync } from 'node:fs'
import type { Config } from 'toolyard'

/** What a newcomer has. */
export const SHIPPED_CONFIG = JSON.parse(
  readFileSync(new URL('../../toolyard.config.json', import.meta.url), 'utf8'),
) as Config

/** What ships, and two models that take no tools beside the one that does. */
export const WITH_PLAIN_MODELS: Config = {
  ...SHIPPED_CONFIG,
  models: [
    { id: 'mini:v1', name: 'Mini', capabilities: ['function-calling'] },
    { id: 'mini:plain', name: 'Plain', capabilities: [] },
    { id: 'mini:bare', name: 'Bare', capabilities: [] },
  ],
}

/** As many tools as an installation may have. */
export const manyTools = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${String(index).padStart(4, '0')}`,
    description: `The tool with the number ${index}.`,
    parameters: { type: 'object', properties: { id: { type: 'integer' } } },
    implementation: { type: 'mock', mock_response: index },
  }))
