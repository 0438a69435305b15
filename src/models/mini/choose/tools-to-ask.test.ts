import { expect, test } from 'vitest'
import type { OfferedTool } from '../../model.ts'
import { toolsToAsk } from './tools-to-ask.ts'

const tool = (name: string, description: string): OfferedTool => ({ name, description, parameters: { type: 'object' } })

const tools = [
  tool('control_zwave_device', 'Turn a device on or off'),
  tool('lamp', 'Switches the lamp on or off'),
  tool('get_device_state', 'Ask about the state of a device'),
  tool('settings_of', 'Tells the settings'),
]
const names = (said: string) => toolsToAsk(said, tools).map(({ name }) => name)

test.each(['is switch two on?', 'Are the lamps off', ' has the door been locked?', "isn't the heater on?"])(
  '%j is answered by no tool that changes something',
  (said) => {
    expect(names(said)).toEqual(['get_device_state', 'settings_of'])
  },
)

test.each(['turn on switch two', 'can you turn on switch two?', 'island lamp on', 'what is on?'])(
  'for %j all tools come into question',
  (said) => {
    expect(toolsToAsk(said, tools)).toBe(tools)
  },
)

test('who wants something gone gets nothing made', () => {
  const add = tool('put_note', 'Puts a note into the book')
  const remove = tool('remove_note', 'Removes a note from the book')
  expect(toolsToAsk('delete everything', [add, remove])).toEqual([remove])
  expect(toolsToAsk('keep everything', [add, remove])).toEqual([add, remove])
})
