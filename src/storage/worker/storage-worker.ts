import { hostStorage } from './host-storage.ts'
import { serveStorage } from './serve-storage.ts'

await serveStorage(hostStorage)
