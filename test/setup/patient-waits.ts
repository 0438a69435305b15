import { vi } from 'vitest'

// Vitest gives up after one second, which a busy machine may need for one look. Like testTimeout, it only matters when
// something hangs.
const WAIT_MS = 60_000

const waitFor = vi.waitFor

vi.waitFor = (look, options) => waitFor(look, typeof options === 'number' ? options : { timeout: WAIT_MS, ...options })
