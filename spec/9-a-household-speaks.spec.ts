import { describe, test } from 'vitest'

describe('A household speaks', () => {
  test.todo('BackgroundTranscriber takes transcripts, asks a model with tools, hands the answer on to speech')
  test.todo('local tools: datetime, search, volume')
  test.todo('local tools: a Z-Wave MCP server (control_zwave_device) behind an MQTT broker')
  test.todo('MQTT, model, speech and MCP start in parallel')
  test.todo('without the MCP server it says so and goes on with local tools')
})
