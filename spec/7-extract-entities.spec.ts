import { describe, test } from 'vitest'

describe('extract_entities (30 s)', () => {
  test.todo('{text, entity_types?} gives {entities: {<type>: []}}')
  test.todo('empty text, empty or malformed reply: empty lists')
})
