import { silentLog, ToolHandlers, ToolManager } from 'toolyard'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const weather = { type: 'mock', mock_response: { temperature: 22, condition: 'sunny' } }
const people = { type: 'internal', handler: 'people' }
const registry = [
  { name: 'get_weather', description: 'The weather of a city.', parameters, implementation: weather },
  { name: 'count_people', description: 'How many people live in a city.', parameters, implementation: people },
]
const handlers = new ToolHandlers()
handlers.register('people', async ({ city }) => ({ city, people: 2_100_000 }), { effect: 'read' })

const manager = new ToolManager({ tools: { enabled: true, registry } }, { handlers, log: silentLog })
await manager.loadTools()
console.log(await manager.getExecutor().execute('get_weather', { city: 'Paris' }))
console.log(await manager.getExecutor().execute('count_people', { city: 'Paris' }))
console.log(await manager.getExecutor().execute('count_people', { town: 'Paris' }))
await manager.close()
