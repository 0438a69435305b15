import { describe, test } from 'vitest'

describe('Safety of tools', () => {
  test.todo('a tool that touches files is confined to configured directories, also through .. and links')
  test.todo('database access is by bound parameters only')
})
