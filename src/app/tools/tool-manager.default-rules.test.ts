import { expect, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { defaultRules } from './tool-manager.ts'

const model = (id: string, ...capabilities: string[]) => ({ id, name: id, capabilities })

test.each<[string, Config, string[]]>([
  ['nothing is configured', {}, ['mini:v1']],
  ['there is a provider, and no model', { providers: { ollama: {} } }, ['mini:v1']],
  ['there are models', { models: [model('a:plain'), model('a:x:1', 'function-calling')] }, ['a:x:1']],
  ['mini is somebody else', { providers: { mini: { type: 'ollama' } } }, []],
])('the default model if %s', (_, config, ids) => {
  const rules = defaultRules(config)
  expect(rules.map(({ llm, model: name }) => `${llm}:${name}`)).toEqual(ids)
  expect(rules.every(({ match, tools }) => match === undefined && tools?.enabled)).toBe(true)
})
