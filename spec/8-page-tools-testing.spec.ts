import { describe, test } from 'vitest'

describe('Page `/tools-testing`', () => {
  test.todo('sections: Available Tools, Test Tool Calling, Test Results, Example Test Queries')
  test.todo('sections: in the navigation')
  test.todo('the model list carries a badge: 🔧✓ validated, 🔧⚠️ supports tools but not validated, none')
  test.todo('run without query or model: Please enter a test query and select a model')
  test.todo('example queries fill the field on a click, each with what is expected of the model')
  test.todo('after a run: record it as passed or failed')
})
